"""Modules of a network, given as masks over its weights: how large they are, what they share, and
what the network can do with one of them alone and without it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import UserError
from ..probes import kept_share, mask_overlap
from ._answers import answers_of, split_outputs
from ._asked import Items, Target
from ._examination import ModuleReport
from ._readers import JAXReader


def module_reports(
    network: Any, masks: Mapping[str, Any], items: Items, targets: Sequence[Target]
) -> tuple[ModuleReport, ...]:
    """A report on every mask.

    **Arguments:**

    - `masks`: `recombine.learning.WeightMask`s of the network, by the factors or functions that
        they were found for.
    - `targets`: what each output should be; empty if that is not known.
    """
    for name, mask in masks.items():
        if not hasattr(mask, "kept") or not hasattr(mask, "apply"):
            raise UserError(
                f"mask {name!r} is a {type(mask).__name__}: give a WeightMask, as those that"
                " `recombine.learning.find_masks` gives"
            )
    return tuple(
        ModuleReport(
            name=name,
            kept=float(kept_share(mask)),
            overlaps={
                other: float(mask_overlap(mask, of).total_io_min)
                for other, of in masks.items()
                if other != name
            },
            alone=_accuracies(mask.apply(network), items, targets),
            without=_accuracies((~mask).apply(network), items, targets),
        )
        for name, mask in masks.items()
    )


def _accuracies(network: Any, items: Items, targets: Sequence[Target]) -> dict[str, float]:
    """How right every output is."""
    if not targets:
        return {}
    outputs = split_outputs(JAXReader(network, ()).read(items.inputs).outputs, len(items))
    found = {}
    for output, target in zip(outputs, targets, strict=True):
        answers = answers_of(output, target, None, target.name)
        if answers.kind == "classes":
            found[target.name] = float(np.mean(answers.said == target.labels))
    return found
