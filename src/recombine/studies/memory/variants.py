"""The eight variants of the differentiable neural computer, and what they are called."""

from typing import Any

from recombine.lab import Quantity, Results, per_seed

LETTERS = {"M": "model.masks", "D": "model.empties", "S": "model.sharpens"}
"""The settings that the letters of a variant switch on."""
VARIANTS = ("", "M", "D", "S", "MD", "MS", "DS", "MDS")
"""All variants, by their letters; the first is the DNC as it was."""


def variant(letters: str = "", **others: Any) -> dict[str, Any]:
    """The condition of a variant: `variant("MD")`."""
    switches = {name: letter in letters for letter, name in LETTERS.items()}
    return {"model": "dnc", **switches, **others}


EVERY = tuple(variant(letters) for letters in VARIANTS)
"""The conditions of all variants."""
SMOKE: dict[str, Any] = {
    "batch_size": 2, "steps": 4, "every": 2,
    "model.cells": 3, "model.word": 4, "model.controller.units": 4,
}  # fmt: skip
"""The smallest memory and the shortest training: settings of preset smoke."""


def sizes(cells: int, word: int, units: int, **others: Any) -> dict[str, Any]:
    """Settings of a memory of `cells` words with `word` numbers each, and `units` to control it."""
    return {"model.cells": cells, "model.word": word, "model.controller.units": units, **others}


def title(letters: str) -> str:
    """What a variant is called, as in the thesis: `DNC-MD`."""
    return f"DNC-{letters}" if letters else "DNC"


def final_losses(*variants: str) -> dict[str, Quantity]:
    """The final losses of variants, by what they are called: beside a claim, for its reader."""
    return {
        f"final loss of {title(letters)}": per_seed("final_loss", **variant(letters))
        for letters in variants
    }


def variants_in(results: Results) -> list[str]:
    """The letters of all variants that there are results of."""
    runs = results.where(model="dnc")
    found = [
        letters
        for letters in VARIANTS
        if any(
            all(r.config["model"][name.partition(".")[2]] == on for name, on in switches(letters))
            for r in runs.records
        )
    ]
    return found


def switches(letters: str) -> list[tuple[str, bool]]:
    """The switches of a variant and whether they are on."""
    return [(name, letter in letters) for letter, name in LETTERS.items()]


OTHERS = {"lstm": "LSTM", "encoder": "NDR"}
"""Networks without such a memory, by the names of their specs."""


def networks_in(results: Results) -> dict[str, dict[str, Any]]:
    """Conditions of all networks that there are results of, by what they are called."""
    found: dict[str, dict[str, Any]] = {}
    names = results.values("model")
    if "dnc" in names:
        found |= {title(letters): variant(letters) for letters in variants_in(results)}
    return found | {OTHERS.get(n, n): {"model": n} for n in names if n != "dnc"}
