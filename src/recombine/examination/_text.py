"""An examination in words, for a terminal."""

from collections.abc import Mapping

import numpy as np

from ._examination import PLACES, Examination, LayerReport, ModuleReport, OutputReport


def text_of(found: Examination) -> str:
    """The whole report, a line per finding."""
    sizes = " x ".join(f"{count} {name}" for name, count in found.values.items())
    lines = [f"{found.title}: {found.items} items ({sizes})."]
    for output in found.outputs:
        lines += _output(output)
    if found.sensitivity:
        most = max(found.sensitivity.values()) or 1.0
        told = ", ".join(f"{name} {value / most:.2f}" for name, value in found.sensitivity.items())
        lines.append(f"sensitivity of outputs, relative to the largest: {told}")
    for layer in found.layers:
        lines += _layer(layer, list(found.values))
    for module in found.modules:
        lines += _module(module)
    if found.layers and found.held_out_here:
        lines.append(
            "New combinations, for readouts, are a random quarter: nothing was said about training."
        )
    if found.support is not None:
        lines += ["support of the trained combinations:", str(found.support)]
    return "\n".join(lines + [f"note: {note}" for note in found.notes])


def _output(output: OutputReport) -> list[str]:
    head = f"{output.name}"
    if output.needs is not None:
        head += f" should depend on {' and '.join(output.needs) or 'nothing'}"
    how = "by exchange of parts" if output.swapped else "of these items"
    lines = [head, f"  depends on, in bits ({how}): {_pairs(output.bits, '.2f')}"]
    if output.leakage is not None:
        lines.append(f"  leakage of what it should ignore: {output.leakage:.2f} bits")
    for score in output.scores:
        interval = f" [{score.low:.2f}, {score.high:.2f}]" if np.isfinite(score.low) else ""
        lines.append(
            f"  {output.unit}, {PLACES[score.place]}: {score.value:.2f}{interval}"
            f" ({score.combinations} combinations, {score.items} items)"
        )
    return lines


def _layer(layer: LayerReport, factors: list[str]) -> list[str]:
    lines = [f"layer {layer.name} ({layer.units} units)"]
    for factor in factors:
        lines.append(
            f"  {factor} is read out linearly: {_number(layer.familiar[factor])}, in new"
            f" combinations {_number(layer.new[factor])} (guessing {layer.guessing[factor]:.2f})"
        )
    lines.append(
        f"  codes add up: {_number(layer.additive)} of the variance (chance"
        f" {_number(layer.additive_by_chance)}), R² on new combinations"
        f" {_number(layer.additive_new)}"
    )
    if len(factors) > 1:
        pairs = [
            f"{one} in {other} {_number(layer.overlaps[i][j])}"
            f" (chance {_number(layer.overlaps_by_chance[i][j])})"
            for i, one in enumerate(factors) for j, other in enumerate(factors) if i != j
        ]  # fmt: skip
        lines.append(f"  codes overlap: {', '.join(pairs)}")
        lines.append(f"  the same in other contexts (cosine): {_pairs(layer.parallel, '.2f')}")
    return lines


def _module(module: ModuleReport) -> list[str]:
    lines = [f"module {module.name}: {module.kept:.0%} of the weights"]
    if module.overlaps:
        lines.append(f"  shared with others, of the smaller: {_pairs(module.overlaps)}")
    if module.alone:
        lines.append(f"  accuracy with it alone: {_pairs(module.alone)}")
        lines.append(f"  accuracy without it: {_pairs(module.without)}")
    return lines


def _pairs(values: Mapping[str, float], form: str = ".2f") -> str:
    return ", ".join(f"{name} {_number(value, form)}" for name, value in values.items())


def _number(value: float, form: str = ".2f") -> str:
    return format(value, form) if np.isfinite(value) else "not defined"
