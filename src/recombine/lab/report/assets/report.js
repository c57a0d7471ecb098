// Draws the figures that a page carries as JSON: when they come near the view, in the colours of
// the reader's scheme, with their panels stacked where the page is narrow.
(() => {
  "use strict";

  const NARROW = 600; // pixels
  const PRINTED = 640;
  const CONFIG = {
    displaylogo: false,
    // Named one by one: nothing here sends a figure anywhere.
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    plotlyServerURL: "",
  };
  const plots = [...document.querySelectorAll(".plot")];
  const sources = new Map(plots.map((plot) => [plot, plot.querySelector("script").textContent]));
  const darkColours = JSON.parse(document.getElementById("dark-colours").textContent);
  const anyColour = new RegExp(Object.keys(darkColours).join("|"), "gi");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const widths = new Map(); // of the plots that have been drawn
  let printing = false;

  function merge(target, patch) {
    for (const [key, value] of Object.entries(patch)) {
      const nested = value !== null && typeof value === "object" && !Array.isArray(value);
      if (nested && target[key]) merge(target[key], value);
      else target[key] = value;
    }
  }

  function figureOf(plot, room) {
    const text = sources.get(plot);
    const inDark = dark.matches && !printing;
    const themed = inDark ? text.replace(anyColour, (c) => darkColours[c.toLowerCase()]) : text;
    const figure = JSON.parse(themed);
    const layout = figure.layout;
    const narrow = layout.meta && layout.meta.narrow;
    if (narrow && !printing && room < Math.max(NARROW, layout.width || 0)) merge(figure, narrow);
    layout.width = layout.width ? Math.min(layout.width, Math.max(room, NARROW)) : room;
    layout.height = layout.height || 450;
    layout.uirevision = "kept"; // zoom and hidden series survive a redraw
    if (touch) layout.dragmode = false; // a finger that drags over a figure scrolls the page
    return figure;
  }

  function draw(plot) {
    const room = printing ? PRINTED : plot.clientWidth;
    const { data, layout, frames } = figureOf(plot, room);
    if (frames) keepStep(plot, data, layout, frames);
    widths.set(plot, room);
    plot.style.minHeight = "";
    plot.style.height = `${layout.height}px`;
    const config = {
      ...CONFIG,
      displayModeBar: touch ? false : "hover",
      toImageButtonOptions: { format: "svg", filename: plot.dataset.name },
    };
    return Plotly.react(plot, { data, layout, frames, config });
  }

  // A figure that is drawn again shows the step that its slider stood at.
  function keepStep(plot, data, layout, frames) {
    const before = plot.layout && plot.layout.sliders;
    if (!before) return;
    const active = before[0].active;
    layout.sliders[0].active = active;
    frames[active].traces.forEach((trace, i) => merge(data[trace], frames[active].data[i]));
  }

  function redraw() {
    for (const plot of widths.keys()) draw(plot);
  }

  const whenNear = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        whenNear.unobserve(target);
        draw(target);
      }
    },
    { rootMargin: "800px" },
  );
  const whenResized = new ResizeObserver((entries) => {
    requestAnimationFrame(() => {
      for (const { target } of entries) {
        const changed = widths.has(target) && widths.get(target) !== target.clientWidth;
        if (changed && !printing) draw(target);
      }
    });
  });
  for (const plot of plots) {
    plot.textContent = "";
    whenNear.observe(plot);
    whenResized.observe(plot);
  }

  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    printing = true;
    plots.forEach(draw);
  });
  addEventListener("afterprint", () => {
    printing = false;
    redraw();
  });
})();
