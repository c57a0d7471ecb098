"""Where quantities end: no error bar goes below an accuracy of 0 or above one of 1."""

import math
import re

import numpy as np

Bounds = tuple[float, float]

NONE: Bounds = (-math.inf, math.inf)
KINDS: tuple[tuple[str, Bounds], ...] = (
    (r"accuracy|share|fraction|probability|proportion|purity", (0.0, 1.0)),
    (r"cosine|correlation", (-1.0, 1.0)),
    (r"r²", (-math.inf, 1.0)),
    (r"loss|error|samples|steps|epochs|seconds|time|distance|deviation|perplexity|tasks|parameters"
     r"|units|bits|pairs", (0.0, math.inf)),
)  # fmt: skip
"""Words in the title of an axis, and the bounds of what they name."""
COMPARED = re.compile(
    r"\b(differences?|minus|changes?|gap|gains?|advantage|lost|log\w*|slope|relative)\b|[−%±/]"
)
"""Words of quantities that are made of others, and may be beyond the bounds of these."""


def bounds_of(title: str, values: np.ndarray) -> Bounds:
    """The bounds of the quantity that the title of an axis names, if it is a known one.

    A quantity of which a value lies outside is none of them, whatever its title.
    """
    words = title.casefold()
    if COMPARED.search(words):
        return NONE
    for pattern, (low, high) in KINDS:
        if re.search(rf"\b(?:{pattern})\b", words):
            inside = low <= np.min(values) and np.max(values) <= high
            return (low, high) if inside else NONE
    return NONE
