"""What factors tell of each other and of the target, in training and in the test."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ._encoded_split import EncodedSplit
from ._set_counts import factor_sets

_NOTEWORTHY = 0.1
"""The share of an entropy from which on information is worth a warning."""
_LISTED = 2**24


@dataclass(frozen=True)
class SharedInformation:
    """The mutual information of two columns, in bits, beyond what chance alone would show."""

    first: str
    second: str
    train: float
    test: float | None
    """None without a test that has both columns."""
    entropy: float
    """The most that the bits in training could be: the entropy of the target or, of two factors,
    the smaller entropy."""
    test_entropy: float | None = None
    """The same in the test."""

    @property
    def share(self) -> float:
        """The bits in training as a share of the most they could be."""
        return self.train / self.entropy if self.entropy > 0 else 0.0

    @property
    def test_share(self) -> float | None:
        """The same in the test; None if there is nothing to tell in it."""
        return None if self.test is None or not self.test_entropy else self.test / self.test_entropy

    @property
    def is_shortcut(self) -> bool:
        """Whether one column gives the other away in training, and less so in the test."""
        return self.test_share is not None and self.share - self.test_share > _NOTEWORTHY


def factor_information(split: EncodedSplit) -> tuple[SharedInformation, ...]:
    """The information between every two factors, the most first."""
    found = []
    for f, g in factor_sets(len(split.factors), 2):
        found.append(
            _shared(
                (split.factors[f], split.factors[g]),
                (split.train[:, f], split.train[:, g]),
                None if split.test is None else (split.test[:, f], split.test[:, g]),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.train))


def target_information(
    split: EncodedSplit,
    name: str,
    train: Int[np.ndarray, " rows"],
    test: Int[np.ndarray, " _"] | None,
) -> tuple[SharedInformation, ...]:
    """What every factor tells of the target.

    **Arguments:**

    - `split`: the split.
    - `name`: the name of the target.
    - `train`, `test`: the numbers of the target's values, one per row.
    """
    found = []
    for f, factor in enumerate(split.factors):
        asked = split.test is not None and test is not None
        tested = (split.test[:, f], test) if asked else None  # type: ignore[index]
        found.append(_shared((factor, name), (split.train[:, f], train), tested, of_second=True))  # type: ignore[arg-type]
    return tuple(sorted(found, key=lambda one: -one.train))


def _shared(
    names: tuple[str, str],
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray] | None,
    *,
    of_second: bool = False,
) -> SharedInformation:
    bits, *H = _bits(*train)
    most = H[1] if of_second else min(H)
    if test is None:
        return SharedInformation(*names, bits, None, most)
    tested, *H = _bits(*test)
    return SharedInformation(*names, bits, tested, most, H[1] if of_second else min(H))


def _bits(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """I(A; B), less what finitely many rows add to it, H(A) and H(B).

    Miller and Madow's correction: an entropy that is estimated from n rows lacks about
    (k − 1) / (2 n ln 2) bits, where k combinations occur.
    """
    width = int(second.max()) + 1
    keys = first * np.int64(width) + second
    size = (int(first.max()) + 1) * width
    both = np.bincount(keys) if size <= _LISTED else np.unique(keys, return_counts=True)[1]
    a, b = np.bincount(first), np.bincount(second)
    H = [_entropy(counts) for counts in (a, b, both)]
    cells = [int(np.sum(counts > 0)) for counts in (a, b, both)]
    chance = (cells[2] - cells[0] - cells[1] + 1) / (2 * len(first) * np.log(2))
    return float(np.clip(H[0] + H[1] - H[2] - chance, 0, min(H[:2]))), H[0], H[1]


def _entropy(counts: np.ndarray) -> float:
    p = counts[counts > 0] / counts.sum()
    return max(0.0, float(-(p * np.log2(p)).sum()))
