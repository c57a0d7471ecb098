"""Attention and gates of a network, step by step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ._heatmaps import heatmaps
from ._panels import axis
from ._places import Places
from ._steps import add_steps

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_HEADS = 16
"""The largest number of heads that are drawn one by one."""


def routing_trace(
    words: Sequence[str],
    attention: ArrayLike,
    gates: ArrayLike | None = None,
    *,
    heads: bool = False,
) -> "go.Figure":
    """Attention and gates on one input, with a slider over the steps of the computation.

    ```python
    trace = model.trace(items.tokens[:1], items.lengths[:1])
    words = items.text(0).split()
    figures.routing_trace(words, trace.attention[:, 0], trace.gates[:, 0])
    ```

    One panel shows the largest attention over heads, targets downwards and sources across, on a
    scale from 0 to 1. Another shows the gates of all channels in each column.

    **Arguments:**

    - `words`: the input; positions after them are padding, and not drawn.
    - `attention`: `[steps, heads, length, length]`.
    - `gates`: `[steps, length, channels]`; without them, their panel is left out.
    - `heads`: whether to draw one panel per head, too.
    """
    count = len(words)
    weights = np.asarray(attention, float)[..., :count, :count]
    if weights.ndim != 4 or weights.shape[-2:] != (count, count):
        raise ValueError(
            f"attention of shape {np.shape(attention)}; {count} words need [steps, heads, "
            f"{count} or more, {count} or more]"
        )
    maps = {"attention": weights.max(axis=1)}
    if heads and 1 < weights.shape[1] <= MOST_HEADS:
        maps |= {f"head {head + 1}": own for head, own in enumerate(weights.swapaxes(0, 1))}
    if gates is not None:
        opened = np.asarray(gates, float)
        if opened.ndim != 3 or len(opened) != len(weights) or opened.shape[1] < count:
            raise ValueError(
                f"gates of shape {opened.shape}; {len(weights)} steps of {count} words need "
                f"[{len(weights)}, {count} or more, channels]"
            )
        maps["gates"] = opened[:, :count].swapaxes(1, 2)
    frames = [list(step) for step in zip(*maps.values(), strict=True)]
    places = _distinct(words)
    figure = heatmaps(frames[-1], list(maps), x="source", y="target", across=places, stretched=True)
    _label_rows(figure, list(maps), Places(None, places))
    figure.layout.coloraxis.update(cmin=0, cmax=1)
    add_steps(figure, range(len(frames)), frames)
    return figure


def _distinct(words: Sequence[str]) -> list[str]:
    """Words made unique with zero-width spaces: plotly would draw equal ones as one category."""
    return [word + "\u200b" * list(words[:i]).count(word) for i, word in enumerate(words)]


def _label_rows(figure: "go.Figure", names: list[str], places: Places) -> None:
    """Rows of attention are words, rows of gates are channels."""
    for i, name in enumerate(names):
        down = figure.layout[axis(i, "y")]
        if name == "gates":
            figure.layout[axis(i, "x")].title.text, down.title.text = "column", "channel"
            down.update(showticklabels=True, nticks=5, tickfont={"size": 10})
            figure.data[i].hovertemplate = places.hover("column", "channel")
            continue
        figure.data[i].update(places.trace())
        down.update(places.ticks("y") | {"showticklabels": i == 0})
    _, room = places.room()
    layout = figure.layout
    figure.update_layout(width=layout.width + room, margin={"l": layout.margin.l + room})
