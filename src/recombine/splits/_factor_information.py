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
    """The smaller one of both entropies in training: the most that the bits could be."""

    @property
    def share(self) -> float:
        """The bits in training as a share of the most they could be."""
        return self.train / self.entropy if self.entropy > 0 else 0.0

    @property
    def lost(self) -> float:
        """The bits that training has and the test does not; all of them without a test."""
        return max(0.0, self.train - (self.test or 0.0))

    @property
    def is_shortcut(self) -> bool:
        """Whether one column gives the other away in training, and does not in the test."""
        return self.entropy > 0 and self.lost > _NOTEWORTHY * self.entropy


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
    test: Int[np.ndarray, " rows"] | None,
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
        found.append(_shared((factor, name), (split.train[:, f], train), tested))  # type: ignore[arg-type]
    return tuple(sorted(found, key=lambda one: -one.train))


def _shared(
    names: tuple[str, str],
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray] | None,
) -> SharedInformation:
    bits, entropy = _bits(*train)
    return SharedInformation(*names, bits, None if test is None else _bits(*test)[0], entropy)


def _bits(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """I(A; B), less what finitely many rows add to it, and the smaller entropy.

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
    most = min(H[0], H[1])
    return float(np.clip(H[0] + H[1] - H[2] - chance, 0, most)), most


def _entropy(counts: np.ndarray) -> float:
    p = counts[counts > 0] / counts.sum()
    return max(0.0, float(-(p * np.log2(p)).sum()))
