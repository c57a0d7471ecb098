"""Which modules a task mixes: masks and codes, as listed sets.

A mask has an entry for every module, True where the task uses it; masks are bool [tasks, modules].
Where a task mixes modules in several layers it has a code, a mask for every layer; codes are bool
[tasks, layers, modules]. Modules are counted from 0.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Bool

_MOST_ENTRIES = 2**28


def masks_of(
    sets: Sequence[str | Iterable[int]], num_modules: int
) -> Bool[np.ndarray, "tasks modules"]:
    """The masks of sets of modules.

    ```python
    >>> masks_of(["01", (1, 2)], 3).astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    ```

    **Arguments:**

    - `sets`: one set of modules per task, as numbers or as a word of digits: `"01"` is (0, 1).
    - `num_modules`: M.
    """
    _check_modules(num_modules)
    if not sets:
        raise ValueError("no sets of modules are given; name at least one")
    masks = np.zeros((len(sets), num_modules), bool)
    for mask, chosen in zip(masks, sets, strict=True):
        modules = [int(m) for m in chosen]
        if not modules:
            raise ValueError("a set of modules is empty; a task uses at least one module")
        outside = [m for m in modules if not 0 <= m < num_modules]
        if outside:
            raise ValueError(f"module {outside[0]} is not among modules 0 to {num_modules - 1}")
        mask[modules] = True
    return masks


def k_hot_masks(num_modules: int, k: int) -> Bool[np.ndarray, "tasks modules"]:
    """All C(M, k) masks with exactly k modules, in the order of their sets: 01, 02, ..., 12, ..."""
    _check_ones(num_modules, k)
    return masks_of(list(combinations(range(num_modules), k)), num_modules)


def up_to_k_hot_masks(num_modules: int, K: int) -> Bool[np.ndarray, "tasks modules"]:
    """All masks with 1 to K modules, the fewest first."""
    _check_ones(num_modules, K)
    return np.concatenate([k_hot_masks(num_modules, k) for k in range(1, K + 1)])


def ring_masks(num_modules: int, K: int = 2) -> Bool[np.ndarray, "tasks modules"]:
    """All masks with at most K modules among K + 1 that are neighbours on a ring: connected.

    With K = 2 these are {i}, {i, i+1} and {i, i+2} modulo M, the connected support of the
    hyperteacher and of the preference world: 24 masks for M = 8.
    """
    masks = up_to_k_hot_masks(num_modules, K)
    windows = [np.roll(np.arange(num_modules) <= K, shift) for shift in range(num_modules)]
    return masks[np.any([~(masks & ~window).any(1) for window in windows], axis=0)]


def halves_masks(num_modules: int, K: int = 2) -> Bool[np.ndarray, "tasks modules"]:
    """All masks with at most K modules, either of the first or of the second half: disconnected.

    For M = 8 and K = 2 these are the 20 masks of the disconnected support (8 single modules, 6
    pairs within each half).
    """
    if num_modules % 2:
        raise ValueError(f"{num_modules} modules have no halves; take an even number")
    masks = up_to_k_hot_masks(num_modules, K)
    half = num_modules // 2
    return masks[~(masks[:, :half].any(1) & masks[:, half:].any(1))]


def layered_codes(
    masks: Bool[np.ndarray, "tasks modules"], layers: int
) -> Bool[np.ndarray, "codes layers modules"]:
    """All codes that take one of the masks in every layer: N^layers of N masks.

    The last layer varies fastest.
    """
    _check_layers(layers)
    num_codes = len(masks) ** layers
    if not num_codes:
        raise ValueError("no masks are given; a code takes one of them in every layer")
    if num_codes * layers * masks.shape[1] > _MOST_ENTRIES:
        raise ValueError(
            f"{num_codes} codes are too many to list; draw them by splits.HashedCodes instead"
        )
    return masks[np.indices((len(masks),) * layers).reshape(layers, -1).T]


def count_codes(num_modules: int, K: int, layers: int = 1) -> int:
    """How many codes mix 1 to K of M modules in every layer (Figure A11).

    (sum_k C(M, k))^layers, as an enumeration gives it; the printed formula has the exponent inside
    the sum. The hyperteacher with L hidden layers has L - 1 such layers.
    """
    _check_ones(num_modules, K)
    _check_layers(layers)
    return sum(comb(num_modules, k) for k in range(1, K + 1)) ** layers


def _check_modules(num_modules: int) -> None:
    if num_modules < 1:
        raise ValueError(f"there must be at least one module, not {num_modules}")


def _check_ones(num_modules: int, k: int) -> None:
    _check_modules(num_modules)
    if not 1 <= k <= num_modules:
        raise ValueError(f"a mask has between 1 and all {num_modules} modules, not {k}")


def _check_layers(layers: int) -> None:
    if layers < 1:
        raise ValueError(f"a code has at least one layer, not {layers}")
