"""The suite `seq2seq`: pairs of sequences, each set with something that training never shows."""

import abc
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from recombine import tasks
from recombine._ranges import Count, check_ranges
from recombine._spec import AbstractSpec

from ..transformer_details.log_results import MINI_PCFG, MINI_PLACES, MINI_SCAN

Pairs = Any
"""A [`recombine.tasks.Translations`][] with the parts `train`, `iid` and `ood`."""


@dataclass(frozen=True, kw_only=True)
class AbstractPairTaskSpec(AbstractSpec):
    """Pairs of sequences: `train`, others like them (`iid`), and new combinations (`ood`)."""

    package: ClassVar[str] = __name__

    tested: Count = 300
    """Pairs of each test, at most."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @abc.abstractmethod
    def build(self, sizes: Any = None, key: Any = None) -> Pairs:
        """The pairs as numbers, the same for all seeds."""


@dataclass(frozen=True, kw_only=True)
class ScanLengthSpec(AbstractPairTaskSpec):
    """SCAN: up to 8 actions are trained, 9 to 12 are new."""

    name: ClassVar[str] = "length"

    def build(self, sizes: Any = None, key: Any = None) -> Pairs:
        return MINI_SCAN.build()


@dataclass(frozen=True, kw_only=True)
class PCFGDepthSpec(AbstractPairTaskSpec):
    """PCFG SET: up to three nested functions are trained, four and five are new."""

    name: ClassVar[str] = "depth"

    def build(self, sizes: Any = None, key: Any = None) -> Pairs:
        return MINI_PCFG.build()


@dataclass(frozen=True, kw_only=True)
class AddPrimitiveSpec(AbstractPairTaskSpec):
    """SCAN: `jump` is trained alone, its combinations are new."""

    name: ClassVar[str] = "systematicity"

    without: tuple[str, ...] = ("around", "opposite", "and", "after")
    """Words whose commands are left out."""

    def build(self, sizes: Any = None, key: Any = None) -> Pairs:
        whole = tasks.add_primitive_split("jump")
        commands = tasks.scan_commands()
        used = np.array([not set(command.split()) & set(self.without) for command in commands])
        alone = np.array([command == "jump" for command in commands])
        train, test = whole.train * used, whole.test * used
        # As in the published split, a tenth of all lines is `jump`.
        others = np.flatnonzero((train > 0) & ~alone)
        kept = np.sort(np.random.default_rng(0).permutation(others)[: max(1, len(others) // 5)])
        iid = np.zeros_like(train)
        iid[kept] = 1
        train = np.where(alone, max(1, round((len(others) - len(kept)) / 9)), train - iid)
        parts = tasks.Scan(tasks.ScanSplit(train, test, iid))
        named = {"train": "train", "iid": "iid", "ood": "test"}
        return tasks.Translations(
            tasks.SCAN_WORDS, tasks.SCAN_ACTIONS,
            {name: tasks.trimmed(parts.lines(part)) for name, part in named.items()},  # type: ignore[arg-type]
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlacesSpec(AbstractPairTaskSpec):
    """Digits of numbers: about 3 to 6 digits are trained, places of 7 or 8 are new."""

    name: ClassVar[str] = "position"

    def build(self, sizes: Any = None, key: Any = None) -> Pairs:
        return MINI_PLACES.build()


@lru_cache(maxsize=1)
def built(task: AbstractPairTaskSpec) -> Pairs:
    """The pairs of a task; trials that follow one another mostly have one."""
    return task.build()
