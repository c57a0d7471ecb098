"""The training sets of the multi-task teacher-student experiments (Table A9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool

from ._masks import masks_of


@dataclass(frozen=True, eq=False)
class TaskSet:
    """The task families of one experiment with six modules, by their masks."""

    masks: Bool[np.ndarray, "families modules"]
    discrete: bool
    """One task per family, its mask divided by its norm; else the weights of the modules are drawn
    anew for every task."""
    connected: bool
    """As printed: whether families that share modules chain all modules together."""
    expected: bool
    """Whether a student that fits these tasks is expected to solve all mixtures. A discrete set
    can be connected and yet have too few tasks per family."""
    printed: bool
    """Whether it is a column of Table A9; the others are only in the sweeps of the published
    code."""


_SINGLES = "0 1 2 3 4 5"
_RING = "01 12 23 34 45 50"
_TRIANGLES = "01 12 20 34 45 53"
_THREE_TRIPLES = "012 234 450"
_TRIPLE_RING = "012 123 234 345 450 501"
# 124 and not 123 in two sets of the published code.
_SIX_TRIPLES = "012 124 234 345 450 501"
_TWO_TRIPLES = "012 345"
_ALL = "012345"


def _set(
    families: str, *, discrete: bool, connected: bool, expected: bool, printed: bool = False
) -> TaskSet:
    masks = masks_of(families.split(), 6)
    masks.setflags(write=False)
    return TaskSet(masks, discrete, connected, expected, printed)


def _table(families: str, *, discrete: bool, connected: bool) -> TaskSet:
    return _set(families, discrete=discrete, connected=connected, expected=connected, printed=True)


TASK_SETS: Mapping[str, TaskSet] = MappingProxyType(
    {
        "D-conn": _table(f"{_SINGLES} {_RING}", discrete=True, connected=True),
        "D-disc": _table(f"{_SINGLES} {_TRIANGLES}", discrete=True, connected=False),
        "C-conn-1": _table(_RING, discrete=False, connected=True),
        "C-conn-2": _table(_THREE_TRIPLES, discrete=False, connected=True),
        "C-disc-1": _table(_TRIANGLES, discrete=False, connected=False),
        "C-disc-2": _table(_SINGLES, discrete=False, connected=False),
        "C-disc-3": _table(f"{_TWO_TRIPLES} {_TRIANGLES}", discrete=False, connected=False),
        "D-singles": _set(_SINGLES, discrete=True, connected=False, expected=False),
        "D-pairs": _set(_RING, discrete=True, connected=True, expected=False),
        "D-two-triples": _set(_TWO_TRIPLES, discrete=True, connected=False, expected=False),
        "D-triple-ring": _set(_TRIPLE_RING, discrete=True, connected=True, expected=False),
        "D-all": _set(_ALL, discrete=True, connected=True, expected=False),
        "D-singles-three-triples": _set(
            f"{_SINGLES} {_THREE_TRIPLES}", discrete=True, connected=True, expected=True
        ),
        "D-singles-six-triples": _set(
            f"{_SINGLES} {_SIX_TRIPLES}", discrete=True, connected=True, expected=True
        ),
        "D-singles-all": _set(f"{_SINGLES} {_ALL}", discrete=True, connected=True, expected=True),
        "C-two-triples": _set(_TWO_TRIPLES, discrete=False, connected=False, expected=False),
        "C-six-triples": _set(_SIX_TRIPLES, discrete=False, connected=True, expected=True),
        "C-all": _set(_ALL, discrete=False, connected=True, expected=True),
    }
)
"""Training sets by name: `D` discrete, `C` continuous; `conn` connected, `disc` not."""
