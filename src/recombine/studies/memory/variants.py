"""The eight variants of the differentiable neural computer, and what they are called."""

from typing import Any

from recombine.lab import Results

LETTERS = {"M": "model.masks", "D": "model.empties", "S": "model.sharpens"}
"""The settings that the letters of a variant switch on."""
VARIANTS = ("", "M", "D", "S", "MD", "MS", "DS", "MDS")
"""All variants, by their letters; the first is the DNC as it was."""


def variant(letters: str = "", **others: Any) -> dict[str, Any]:
    """The condition of a variant: `variant("MD")`."""
    switches = {name: letter in letters for letter, name in LETTERS.items()}
    return {"model": "dnc", **switches, **others}


def title(letters: str) -> str:
    """What a variant is called, as in the thesis: `DNC-MD`."""
    return f"DNC-{letters}" if letters else "DNC"


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
