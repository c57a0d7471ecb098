"""The figures of an examination."""

from typing import TYPE_CHECKING

import numpy as np

from ..lab import figures
from ._examination import PLACES, Examination

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Drawn = tuple[str, str, "Figure"]
"""A title, a caption and the figure."""


def figures_of(found: Examination) -> dict[str, Drawn]:
    """All figures for which there is something to show, by name."""
    drawn: dict[str, Drawn] = {"dependence": _dependence(found)}
    if any(output.scores for output in found.outputs):
        drawn["accuracy"] = _accuracy(found)
    if found.sensitivity:
        drawn["sensitivity"] = _sensitivity(found)
    if found.layers:
        drawn["decodability"] = _decodability(found)
        drawn["additivity"] = _additivity(found)
        if len(found.values) > 1:
            drawn["overlaps"] = _overlaps(found)
    return drawn


def _dependence(found: Examination) -> Drawn:
    bits = [[output.bits[f] for f in found.values] for output in found.outputs]
    figure = figures.heatmaps(
        [bits], x="factor", y="answer", across=list(found.values),
        along=[output.name for output in found.outputs],
    )  # fmt: skip
    figure.update_layout(coloraxis={"cmin": 0.0})
    swapped = all(output.swapped for output in found.outputs)
    how = (
        "Parts of inputs are exchanged: what is shown is an effect, whatever the data are."
        if swapped
        else "From the items as they are; what chance would give is taken off."
    )
    caption = f"I(Ŷ; factor | all other factors), in bits. {how}"
    return "What each answer depends on", caption, figure


def _accuracy(found: Examination) -> Drawn:
    shown = [output for output in found.outputs if output.scores]
    figure = figures.panels(
        *[o.name for o in shown] if len(shown) > 1 else [""], x="", y=[o.unit for o in shown]
    )
    for panel, output in enumerate(shown):
        names = [PLACES[score.place] for score in output.scores]
        for name, score in zip(names, output.scores, strict=True):
            figures.add_points(figure, [name], [[score.value]], output.unit, panel=panel,
                               line=False)  # fmt: skip
            _interval(figure, score.low, score.high)
        if output.kind == "classes":
            figure.update_yaxes(range=[0, 1.05])
    figure.update_layout(showlegend=False)
    caption = "Means over combinations with their 95 % intervals, by what supports a combination."
    return "How right answers are, by the support of combinations", caption, figure


def _interval(figure: "Figure", low: float, high: float) -> None:
    """Give the mark drawn last an interval."""
    mark = figure.data[-1]
    if np.isfinite(low):
        value = float(mark.y[0])
        mark.error_y = {
            "array": [high - value], "arrayminus": [value - low], "symmetric": False, "width": 0,
            "thickness": 1.75, "color": mark.marker.color,
        }  # fmt: skip


def _sensitivity(found: Examination) -> Drawn:
    figure = figures.panels("", x="part of the input", y="norm of derivatives")
    names = list(found.sensitivity)
    values = [[found.sensitivity[name]] for name in names]
    figures.add_points(figure, names, values, "", line=False)
    figure.update_yaxes(rangemode="tozero")
    caption = "The mean norm of the derivatives of all outputs by each part of the input."
    return "How strongly outputs move with each part", caption, figure


def _decodability(found: Examination) -> Drawn:
    names = [layer.name for layer in found.layers]
    figure = figures.panels(*found.values, x="layer", y="accuracy", shared_y=True)
    for panel, factor in enumerate(found.values):
        series = (
            ("combinations that the readout knows", [x.familiar[factor] for x in found.layers]),
            ("new combinations", [x.new[factor] for x in found.layers]),
        )
        for color, (name, values) in enumerate(series):
            kept = [[v] if np.isfinite(v) else [] for v in values]
            figures.add_points(figure, names, kept, name, color=color, panel=panel)
        guessing = found.layers[0].guessing[factor]
        figures.add_level(figure, guessing, "guessing", panel=panel)
    figure.update_yaxes(range=[0, 1.05])
    caption = "Accuracy of a linear readout of every factor, on items that it was not fitted on."
    return "What can be read out of each layer", caption, figure


def _additivity(found: Examination) -> Drawn:
    names = [layer.name for layer in found.layers]
    figure = figures.panels("", x="layer", y="share of variance")
    series = (
        ("a sum of codes explains", [layer.additive for layer in found.layers]),
        ("by chance", [layer.additive_by_chance for layer in found.layers]),
        ("R² on new combinations", [max(layer.additive_new, -1) for layer in found.layers]),
    )
    for color, (name, values) in enumerate(series):
        kept = [[v] if np.isfinite(v) else [] for v in values]
        figures.add_points(figure, names, kept, name, color=color)
    caption = (
        "How much of the activity of combinations is a sum of one code per value. On new"
        " combinations an R² below -1 is shown as -1."
    )
    return "Do codes add up?", caption, figure


def _overlaps(found: Examination) -> Drawn:
    factors = list(found.values)
    figure = figures.heatmaps(
        [np.array(layer.overlaps) for layer in found.layers],
        [layer.name for layer in found.layers],
        x="in the span of", y="codes of", across=factors, along=factors,
    )  # fmt: skip
    figure.update_layout(coloraxis={"cmin": 0.0, "cmax": 1.0})
    caption = "The share of a factor's codes that lies in the span of another's: 0 if orthogonal."
    return "Do factors share directions?", caption, figure
