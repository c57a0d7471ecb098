"""Heat maps that change over the steps of training: a slider, and a button that plays them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._theme import GRID, INK, MUTED, PAPER, RULE

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Pixels.
SLIDER = 100
BUTTONS = 12
"""Height of the buttons above the slider's line."""

SECONDS = 0.6
"""How long each step is shown when played."""


def add_steps(
    figure: "go.Figure",
    steps: Sequence[Any] | np.ndarray,
    arrays: ArrayLike | Sequence[Sequence[ArrayLike]],
    *,
    word: str = "step",
) -> None:
    """Give the panels of `heatmaps` a slider over steps, and a button that plays them.

    ```python
    figure = figures.heatmaps(maps[-1], titles)
    figures.add_steps(figure, [0, 1, 2, 4, 8], maps)
    ```

    The figure first shows the arrays given to `heatmaps`: give it those of the last step.
    All steps share one colour scale, which covers the numbers of all of them.

    **Arguments:**

    - `figure`: a figure of `heatmaps` with a shared scale and few enough arrays to be panels.
    - `steps`: numbers or words, in order.
    - `arrays`: `[steps, panels, rows, columns]`; a list of lists where panels differ in shape.
    - `word`: what the steps are called.
    """
    import plotly.graph_objects as go

    values = [[np.asarray(z, float) for z in frame] for frame in arrays]  # type: ignore[union-attr]
    panels = [i for i, trace in enumerate(figure.data) if trace.type == "heatmap"]
    if not panels or any(figure.data[i].meta or not figure.data[i].coloraxis for i in panels):
        raise ValueError(
            "steps need heat maps that are panels and share a scale; use fewer of them"
        )
    shapes = [np.shape(figure.data[i].z) for i in panels]
    if len(steps) < 2 or len(values) != len(steps):
        raise ValueError(f"arrays of {len(values)} steps for {len(steps)}; give two or more steps")
    for frame in values:
        if [z.shape for z in frame] != shapes:
            raise ValueError(f"arrays of shapes {[z.shape for z in frame]}; panels need {shapes}")
    names = [str(step) for step in steps]
    if len(set(names)) < len(names):
        raise ValueError(f"some of the steps are equal: {', '.join(names)}")
    _widen(figure, np.concatenate([z.ravel() for frame in values for z in frame]))
    figure.frames = [
        go.Frame(name=name, data=[go.Heatmap(z=z) for z in frame], traces=panels)
        for name, frame in zip(names, values, strict=True)
    ]
    height, bottom = figure.layout.height + SLIDER, figure.layout.margin.b + SLIDER
    narrow = figure.layout.meta["narrow"]
    narrow["layout"]["height"] += SLIDER
    lettering = {"size": 11, "color": MUTED}
    figure.update_layout(
        height=height,
        margin={"b": bottom},
        meta=figure.layout.meta | {"narrow": narrow},
        sliders=[
            {
                "active": len(names) - 1,
                "steps": [
                    {"label": name, "method": "animate", "args": [[name], _animation(0)]}
                    for name in names
                ],
                "currentvalue": {
                    "prefix": f"{word} ",
                    "xanchor": "right",
                    "offset": 16,
                    "font": {"size": 13, "color": INK},
                },
                "pad": {"t": bottom - SLIDER + BUTTONS, "b": 0},
                "font": lettering,
                "bgcolor": GRID,
                "activebgcolor": RULE,
                "bordercolor": RULE,
                "tickcolor": RULE,
            }
        ],
        updatemenus=[
            {
                "type": "buttons",
                "direction": "left",
                "showactive": False,
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "pad": {"t": bottom - SLIDER, "l": 0, "r": 0, "b": 0},
                "font": {"size": 12, "color": INK},
                "bgcolor": PAPER,
                "bordercolor": RULE,
                "buttons": [
                    {"label": "▶", "method": "animate",
                     "args": [None, _animation(1000 * SECONDS)]},
                    {"label": "❚❚", "method": "animate", "args": [[None], _animation(0)]},
                ],
            }
        ],
    )  # fmt: skip


def _animation(milliseconds: float) -> dict[str, Any]:
    """Animation without transitions; heat maps change only with `redraw`."""
    return {
        "mode": "immediate",
        "frame": {"duration": milliseconds, "redraw": True},
        "transition": {"duration": 0},
    }


def _widen(figure: "go.Figure", values: np.ndarray) -> None:
    """Widen the colour axis to the numbers of all steps; a scale around zero stays symmetric."""
    axis = figure.layout.coloraxis
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    low, high = min(axis.cmin, float(finite.min())), max(axis.cmax, float(finite.max()))
    if len(axis.colorscale) % 2:
        high = max(-low, high)
        low = -high
    axis.update(cmin=low, cmax=high)
