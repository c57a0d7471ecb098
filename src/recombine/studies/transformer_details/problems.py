"""The data sets of the family: pairs to train, others like them (`iid`), and new combinations
(`ood`)."""

import abc
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from recombine import data, tasks
from recombine._ranges import Count, check_ranges
from recombine._spec import AbstractSpec


@dataclass(frozen=True, kw_only=True)
class AbstractProblemSpec(AbstractSpec):
    """Sentence pairs in the parts `train`, `iid` and `ood`."""

    package: ClassVar[str] = __name__

    @abc.abstractmethod
    def build(self, sizes: Any = None, key: Any = None) -> "tasks.Translations":
        """The pairs as numbers; the same for all seeds."""


@dataclass(frozen=True, kw_only=True)
class ScanSpec(AbstractProblemSpec):
    """SCAN: commands that ask for few actions are trained, those that ask for more are tested."""

    name: ClassVar[str] = "scan"

    longest: Count = 26
    """The most actions of a trained command, the cutoff."""
    without: tuple[str, ...] = ()
    """Words whose commands are left out."""

    def build(self, sizes: Any = None, key: Any = None) -> "tasks.Translations":
        split = tasks.length_resplit(self.longest, without=self.without)
        task = tasks.Scan(split)
        parts = {
            "train": task.lines("train"), "iid": task.lines("iid"), "ood": task.lines("test"),
        }  # fmt: skip
        return tasks.Translations(
            tasks.SCAN_WORDS, tasks.SCAN_ACTIONS,
            {name: tasks.trimmed(lines) for name, lines in parts.items()},
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PCFGSpec(AbstractProblemSpec):
    """PCFG SET: nested edits of strings, by the generator of this package."""

    name: ClassVar[str] = "pcfg"

    split: Literal["productivity", "systematicity"] = "productivity"
    """Test commands have more functions, or pairs of functions that are never trained."""
    letters: Count = 26
    """Letters of the alphabet."""
    indices: Count = 20
    """Numbers that a letter is combined with."""
    functions: tuple[str, ...] = (
        "copy", "reverse", "shift", "echo", "swap_first_last", "repeat", "append", "prepend",
        "remove_first", "remove_second",
    )  # fmt: skip
    """The functions that occur."""
    trained: Count = 8
    """The most functions of a trained command, in the split `productivity`."""
    longest: Count = 25
    """The most functions of any command."""
    train: Count = 81_010
    """Commands to train."""
    iid: Count = 9_721
    """Commands like these."""
    ood: Count = 11_333
    """Commands of the test."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: Any = None, key: Any = None) -> "tasks.Translations":
        made = tasks.PCFGSet(self.letters, self.indices, self.functions, self.trained, self.longest)
        return made.translations(self.split, train=self.train, iid=self.iid, ood=self.ood)


@dataclass(frozen=True, kw_only=True)
class MathematicsSpec(AbstractProblemSpec):
    """Questions about numbers, character by character; test numbers are larger."""

    name: ClassVar[str] = "mathematics"

    module: Literal["place_value", "add_or_sub"] = "place_value"
    """Digits of numbers, or sums and differences."""
    train_entropy: tuple[float, ...] = ()
    """The range of the number of digits in training; empty: as published."""
    iid_entropy: tuple[float, ...] = ()
    """That of questions like these."""
    ood_entropy: tuple[float, ...] = ()
    """That of the test."""
    train: Count = 1_492_268
    """Questions to train."""
    iid: Count = 10_000
    """Questions like these."""
    ood: Count = 10_000
    """Questions of the test."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: Any = None, key: Any = None) -> "tasks.Translations":
        ranges = (self.train_entropy, self.iid_entropy, self.ood_entropy)
        train, iid, ood = ((r[0], r[1]) if len(r) == 2 else None for r in ranges)
        made = tasks.Mathematics(self.module, train, iid, ood)
        return made.translations(train=self.train, iid=self.iid, ood=self.ood)


@dataclass(frozen=True, kw_only=True)
class COGSSpec(AbstractProblemSpec):
    """COGS: logical forms of English sentences; `recombine data get cogs` gets it."""

    name: ClassVar[str] = "cogs"

    longest: Count | None = None
    """The most tokens of an output; none: all."""

    def build(self, sizes: Any = None, key: Any = None) -> "tasks.Translations":
        found = data.sentence_pairs("cogs")
        parts = {"train": "train", "dev": "iid", "test": "test", "gen": "ood"}
        pairs = {name: found.pairs[part] for part, name in parts.items()}
        kinds = {"ood": found.kinds["gen"]}
        # The vocabulary is that of all sentences.
        whole = tasks.Translations.of(pairs, tasks.words_of, shared=True, kinds=kinds)
        if self.longest is None:
            return whole
        short = {
            name: [i for i, (_, target) in enumerate(of_part)
                   if len(tasks.words_of(target)) <= self.longest]
            for name, of_part in pairs.items()
        }  # fmt: skip
        return tasks.Translations.of(
            {name: [pairs[name][i] for i in places] for name, places in short.items()},
            tasks.words_of, words=whole.words, symbols=whole.symbols,
            kinds={"ood": [kinds["ood"][i] for i in short["ood"]]},
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CFQSpec(AbstractProblemSpec):
    """CFQ, MCD1: queries of questions; `recombine data get cfq-mcd1` gets it.

    It has no set like training: `iid` is the published development set, of new combinations, too.
    """

    name: ClassVar[str] = "cfq-mcd1"

    def build(self, sizes: Any = None, key: Any = None) -> "tasks.Translations":
        pairs = data.sentence_pairs("cfq-mcd1").pairs
        parts = {"train": pairs["train"], "iid": pairs["dev"], "ood": pairs["test"]}
        return tasks.Translations.of(parts, tasks.spaced)


# The trials that a process runs one after another mostly have one data set.
@lru_cache(maxsize=1)
def built(problem: AbstractProblemSpec) -> "tasks.Translations":
    """The pairs of a problem."""
    return problem.build()
