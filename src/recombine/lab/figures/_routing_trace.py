"""What a network attends to, and which of its columns change, step by step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._heatmaps import heatmaps
from ._panels import axis
from ._places import LETTER
from ._steps import add_steps

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_HEADS = 6
"""More heads than this are not drawn one by one."""


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

    A panel has the largest attention of all heads, targets downwards and sources across, on a scale
    from 0 to 1. Another has the gates of all channels in each column.

    **Arguments:**

    - `words`: the input; what follows them is padding, and not drawn.
    - `attention`: `[steps, heads, length, length]`.
    - `gates`: `[steps, length, channels]`; without them there is no panel for them.
    - `heads`: draw a panel for every head, too.
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
    figure = heatmaps(frames[-1], list(maps), x="source", y="target", stretched=True)
    _write_words(figure, list(maps), words)
    figure.layout.coloraxis.update(cmin=0, cmax=1)
    add_steps(figure, range(len(frames)), frames)
    return figure


def _write_words(figure: "go.Figure", names: list[str], words: Sequence[str]) -> None:
    """Words at the columns of all panels and at the rows of those of attention.

    They are written at numbers: a word may come twice.
    """
    ticks: dict[str, Any] = {
        "showticklabels": True,
        "tickmode": "array",
        "tickvals": list(range(len(words))),
        "ticktext": list(words),
        "tickfont": {"size": 10},
    }
    for i, name in enumerate(names):
        across, down = figure.layout[axis(i, "x")], figure.layout[axis(i, "y")]
        across.update(ticks | {"tickangle": -90})
        if name == "gates":
            across.title.text, down.title.text = "column", "channel"
            down.update(showticklabels=True, nticks=5, tickfont={"size": 10})
        elif i == 0:
            down.update(ticks)
    room = LETTER * max(len(word) for word in words)
    layout = figure.layout
    narrow = layout.meta["narrow"]
    narrow["layout"]["height"] += room
    figure.update_layout(
        width=layout.width + room,
        height=layout.height + room,
        margin={"l": layout.margin.l + room, "b": layout.margin.b + room},
        meta=layout.meta | {"narrow": narrow},
    )
