// The page of a study: which results it shows, and its figures. Figures are drawn from the JSON
// that the page carries when they come near the view, in the colours of the reader's scheme, with
// their panels stacked where the page is narrow. Results that are compared share a figure if their
// panels are the same; otherwise there is one figure for each.
(() => {
  "use strict";

  const NARROW = 600; // pixels
  const PRINTED = 640;
  const SAVED = 900;
  const DASHES = ["dash", "dot", "dashdot", "longdash"];
  const CONFIG = {
    displaylogo: false,
    // Named one by one: nothing here sends a figure anywhere.
    modeBarButtons: [["zoom2d", "pan2d", "resetScale2d"]],
    plotlyServerURL: "",
  };
  const darkColours = JSON.parse(document.getElementById("dark-colours").textContent);
  const anyColour = new RegExp(Object.keys(darkColours).join("|"), "gi");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const boxes = [...document.querySelectorAll("#chooser input")];
  const labels = new Map(boxes.map((box) => [box.value, box.dataset.label]));
  let printing = false;

  const holders = [...document.querySelectorAll(".plots")].map((element) => {
    const sources = new Map();
    for (const script of element.querySelectorAll("script")) {
      sources.set(script.dataset.of, script.textContent);
    }
    element.textContent = "";
    return { element, sources, plots: [], near: false, width: 0 };
  });

  function chosen() {
    const keys = boxes.filter((box) => box.checked).map((box) => box.value);
    return boxes.length ? keys : null;
  }

  // Figures

  function merge(target, patch) {
    for (const [key, value] of Object.entries(patch)) {
      const nested = value !== null && typeof value === "object" && !Array.isArray(value);
      if (nested && target[key]) merge(target[key], value);
      else target[key] = value;
    }
  }

  function parsed(text, inDark) {
    const colour = (c) => darkColours[c.toLowerCase()];
    return JSON.parse(inDark ? text.replace(anyColour, colour) : text);
  }

  const kind = (trace) => (trace.meta && trace.meta.kind) || "";
  const titles = (figure) => JSON.stringify((figure.layout.meta || {}).panels || []);

  function canOverlay(figures) {
    const lines = (figure) => !figure.frames && figure.data.every((t) => t.type === "scatter");
    return figures.every((f) => lines(f) && (f.layout.meta || {}).panels && titles(f) === titles(figures[0]));
  }

  // The series of the second and further results: dashed lines and open marks. Series that are the
  // same in all results, such as a theory, are drawn once and keep their names.
  function overlaid(figures, keys) {
    const identity = (t) => JSON.stringify([t.xaxis, t.name, kind(t), t.x, t.y]);
    const of = figures.map((figure) => new Set(figure.data.map(identity)));
    const common = (t) => kind(t) === "reference" || of.every((one) => one.has(identity(t)));
    const name = (t, key) => {
      if (t.name) t.name = `${t.name} (${labels.get(key)})`;
      if (t.legendgroup) t.legendgroup += ` ${key}`;
    };
    const added = figures.slice(1).flatMap((figure, i) => {
      const own = figure.data.filter((trace) => !common(trace));
      for (const trace of own) {
        name(trace, keys[i + 1]);
        if (kind(trace) === "seeds") continue;
        if (trace.line) trace.line.dash = DASHES[i % DASHES.length];
        if (trace.marker) {
          trace.marker.symbol = "circle-open";
          trace.marker.line = { color: trace.marker.color, width: 2 };
        }
      }
      return own;
    });
    const base = figures[0];
    for (const trace of base.data.filter((t) => !common(t))) name(trace, keys[0]);
    base.data.push(...added);
    return base;
  }

  function figureOf(holder, keys, room, inDark) {
    const figures = keys.map((key) => parsed(holder.sources.get(key), inDark));
    const figure = keys.length > 1 ? overlaid(figures, keys) : figures[0];
    const layout = figure.layout;
    const narrow = layout.meta && layout.meta.narrow;
    if (narrow && !printing && room < Math.max(NARROW, layout.width || 0)) merge(figure, narrow);
    layout.width = layout.width ? Math.min(layout.width, Math.max(room, NARROW)) : room;
    layout.height = layout.height || 450;
    if (keys.length > 1) layout.height += 22 * Math.ceil(figure.data.length / 8);
    layout.uirevision = "kept"; // zoom and hidden series survive a redraw
    if (touch) layout.dragmode = false; // a finger that drags over a figure scrolls the page
    return figure;
  }

  function groupsOf(holder) {
    const wanted = chosen() || [...holder.sources.keys()];
    const keys = wanted.filter((key) => holder.sources.has(key));
    if (keys.length < 2) return keys.map((key) => [key]);
    const figures = keys.map((key) => JSON.parse(holder.sources.get(key)));
    return canOverlay(figures) ? [keys] : keys.map((key) => [key]);
  }

  function place(holder) {
    const groups = groupsOf(holder);
    holder.element.textContent = "";
    holder.plots = groups.map((keys) => {
      if (groups.length > 1) {
        const title = document.createElement("p");
        title.className = "which";
        title.textContent = labels.get(keys[0]);
        holder.element.append(title);
      }
      const element = document.createElement("div");
      element.className = "plot";
      element.setAttribute("role", "img");
      element.setAttribute("aria-labelledby", holder.element.dataset.title);
      element.setAttribute("aria-describedby", holder.element.dataset.caption);
      holder.element.append(element);
      return { element, keys };
    });
  }

  function draw(holder) {
    holder.near = true;
    holder.width = holder.element.clientWidth;
    const room = printing ? PRINTED : holder.width;
    return Promise.all(
      holder.plots.map(async ({ element, keys }) => {
        const { data, layout, frames } = figureOf(holder, keys, room, dark.matches && !printing);
        if (frames) keepStep(element, data, layout, frames);
        element.style.minHeight = "";
        element.style.height = `${layout.height}px`;
        const config = { ...CONFIG, displayModeBar: touch ? false : "hover" };
        await Plotly.react(element, { data, layout, frames, config });
        await clearLabels(element);
      }),
    );
  }

  // A figure that is drawn again shows the step that its slider stood at.
  function keepStep(plot, data, layout, frames) {
    const before = plot.layout && plot.layout.sliders;
    if (!before) return;
    const active = before[0].active;
    layout.sliders[0].active = active;
    frames[active].traces.forEach((trace, i) => merge(data[trace], frames[active].data[i]));
  }

  // Labels of levels go to where they cover the fewest points and no other label.
  function clearLabels(plot) {
    const full = plot._fullLayout;
    const shapes = full.shapes || [];
    const taken = [];
    const patch = {};
    shapes.forEach((shape, i) => {
      if (!shape.label || !shape.label.text || shape.type !== "line") return;
      const level = shape.y0 === shape.y1 && String(shape.xref).endsWith("domain");
      const x = full[axisName(shape.xref, "x")];
      const y = full[axisName(shape.yref, "y")];
      if (!level || !x || !y || shape.label.textposition === undefined) return;
      const size = [6.6 * shape.label.text.replace(/<[^>]*>/g, "").length + 8, 16];
      const at = y.d2p ? y.d2p(shape.y0) : 0;
      const points = pointsOf(plot, x, y);
      const places = ["end", "start", "middle"].flatMap((along) =>
        ["bottom", "top"].map((anchor) => ({ along, anchor })),
      );
      const rated = places.map(({ along, anchor }) => {
        const left = { start: 0, middle: (x._length - size[0]) / 2, end: x._length - size[0] }[along];
        const top = anchor === "bottom" ? at - size[1] : at;
        const box = [x._offset + left, y._offset + top, ...size];
        const outside = top < -4 || top + size[1] > y._length + 4 ? 1e4 : 0;
        const covers = points.filter((p) => inside(p, left, top, size)).length;
        const clash = taken.some((other) => overlap(box, other)) ? 1e5 : 0;
        return { along, anchor, box, cost: covers + outside + clash };
      });
      const best = rated.reduce((a, b) => (b.cost < a.cost ? b : a));
      taken.push(best.box);
      const anchors = { start: "left", middle: "center", end: "right" };
      patch[`shapes[${i}].label.textposition`] = best.along;
      patch[`shapes[${i}].label.xanchor`] = anchors[best.along];
      patch[`shapes[${i}].label.yanchor`] = best.anchor;
    });
    return Object.keys(patch).length ? Plotly.relayout(plot, patch) : null;
  }

  const axisName = (ref, letter) => `${letter}axis${String(ref).replace(" domain", "").slice(1)}`;
  const inside = (p, left, top, [w, h]) =>
    p[0] > left - 3 && p[0] < left + w + 3 && p[1] > top - 3 && p[1] < top + h + 3;
  const overlap = (a, b) =>
    a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];

  // Every fourth pixel of the lines and all marks of a panel.
  function pointsOf(plot, x, y) {
    const found = [];
    for (const trace of plot._fullData) {
      if (trace.visible !== true || trace.type !== "scatter") continue;
      if (trace.xaxis !== x._id || trace.yaxis !== y._id) continue;
      const line = (trace.mode || "").includes("lines");
      let last = null;
      for (let i = 0; i < trace._length; i++) {
        const p = [x.d2p(trace.x ? trace.x[i] : i), y.d2p(trace.y[i])];
        const is = Number.isFinite(p[0]) && Number.isFinite(p[1]);
        if (is) found.push(p);
        if (is && line && last) {
          const steps = Math.min(200, Math.hypot(p[0] - last[0], p[1] - last[1]) / 4);
          for (let k = 1; k < steps; k++) {
            found.push([0, 1].map((d) => last[d] + ((p[d] - last[d]) * k) / steps));
          }
        }
        last = is ? p : null;
      }
    }
    return found;
  }

  // Saving

  function download(content, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // Figures are saved in the colours of paper, with the reader's zoom and choice of series.
  async function save(holder, format) {
    if (!holder.near) await draw(holder);
    for (const { element, keys } of holder.plots) {
      const figure = figureOf(holder, keys, SAVED, false);
      for (const [name, axis] of Object.entries(element.layout)) {
        if (/^[xy]axis/.test(name) && axis.range) {
          figure.layout[name].range = axis.range;
          figure.layout[name].autorange = axis.autorange;
        }
      }
      (element.layout.shapes || []).forEach((shape, i) => {
        const { textposition, xanchor, yanchor } = shape.label || {};
        if (textposition) merge(figure.layout.shapes[i].label, { textposition, xanchor, yanchor });
      });
      figure.data.forEach((trace, i) => (trace.visible = element.data[i].visible));
      const { width, height } = figure.layout;
      const options = { format, width, height, scale: format === "png" ? 2 : 1 };
      const url = await Plotly.toImage(figure, options);
      const text = url.slice(url.indexOf(",") + 1);
      const name = [holder.element.dataset.name, ...(boxes.length ? keys : [])].join("-");
      if (format === "svg") download(decodeURIComponent(text), "image/svg+xml", `${name}.svg`);
      else {
        const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
        download(bytes, "image/png", `${name}.png`);
      }
    }
  }

  for (const button of document.querySelectorAll("[data-save]")) {
    const element = button.closest("figure").querySelector(".plots");
    const holder = holders.find((one) => one.element === element);
    button.addEventListener("click", () => save(holder, button.dataset.save));
  }

  // Which results are shown

  function show() {
    const keys = chosen();
    if (!keys) return;
    document.body.classList.toggle("compared", keys.length > 1);
    for (const element of document.querySelectorAll("[data-sheet]")) {
      element.hidden = !keys.includes(element.dataset.sheet);
    }
    for (const holder of holders) {
      place(holder);
      if (holder.near) draw(holder);
    }
  }

  function remember() {
    const usual = boxes.every((box, i) => box.checked === (i === 0));
    const query = usual ? location.pathname : `?show=${chosen().join(",")}`;
    try {
      history.replaceState(null, "", query + location.hash);
    } catch {
      // A page without an address of its own has none to keep the choice in.
    }
  }

  const asked = (new URLSearchParams(location.search).get("show") || "").split(",");
  if (asked.some((key) => labels.has(key))) {
    for (const box of boxes) box.checked = asked.includes(box.value);
  }
  for (const box of boxes) {
    box.addEventListener("change", () => {
      if (!chosen().length) box.checked = true;
      show();
      remember();
    });
  }

  const whenNear = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        whenNear.unobserve(target);
        draw(holders.find((holder) => holder.element === target));
      }
    },
    { rootMargin: "800px" },
  );
  const whenResized = new ResizeObserver((entries) => {
    requestAnimationFrame(() => {
      for (const { target } of entries) {
        const holder = holders.find((one) => one.element === target);
        if (holder.near && holder.width !== target.clientWidth && !printing) draw(holder);
      }
    });
  });
  show();
  for (const holder of holders) {
    if (!boxes.length) place(holder);
    const heights = holder.plots.length * 300;
    holder.element.style.minHeight = holder.sources.size ? `${heights}px` : "";
    whenNear.observe(holder.element);
    whenResized.observe(holder.element);
  }

  const redraw = () => holders.filter((holder) => holder.near).forEach(draw);
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    printing = true;
    holders.forEach(draw);
  });
  addEventListener("afterprint", () => {
    printing = false;
    redraw();
  });
})();
