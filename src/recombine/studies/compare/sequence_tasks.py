"""The suite `sequences`: table lookup and lists, each with something that training never shows."""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from recombine import tasks
from recombine._ranges import Count, Whole, check_ranges
from recombine._spec import AbstractSpec


class SequenceSets(NamedTuple):
    """What is trained and what is tested."""

    train: "tasks.LabelledSequences"
    familiar: "tasks.LabelledSequences"
    """Items as those of training."""
    new: "tasks.LabelledSequences"
    """Items that ask for new combinations of known parts."""


@dataclass(frozen=True, kw_only=True)
class AbstractSequenceTaskSpec(AbstractSpec):
    """A task of sequences with familiar and with new items."""

    package: ClassVar[str] = __name__

    train: Count = 20_000
    """Items of training, at most."""
    tested: Count = 500
    """Items of each test."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @abc.abstractmethod
    def build(self, sizes: Any, key: Any) -> SequenceSets:
        """The items of a key."""


@dataclass(frozen=True, kw_only=True)
class LengthSpec(AbstractSequenceTaskSpec):
    """More functions of table lookup than in training, each after the one before it."""

    name: ClassVar[str] = "length"

    symbols: Count = 6
    """Symbols that functions permute."""
    functions: Count = 8
    """Functions."""
    longest: Count = 5
    """Functions of the longest training items; tests have two or three more."""
    forward: bool = True
    """Whether the symbol is written first."""

    def build(self, sizes: Any, key: Any) -> SequenceSets:
        made = _lookup(self, key)
        ranges = ((1, self.longest), (1, self.longest), (self.longest + 2, self.longest + 3))
        return SequenceSets(*_drawn(self, made, ranges, key))


@dataclass(frozen=True, kw_only=True)
class PositionSpec(AbstractSequenceTaskSpec):
    """The items of training, further back: more fillers stand before them than in training."""

    name: ClassVar[str] = "position"

    symbols: Count = 6
    """Symbols that functions permute."""
    functions: Count = 8
    """Functions."""
    longest: Count = 4
    """Functions of the longest items."""
    forward: bool = True
    """Whether the symbol is written first."""
    fillers: Whole = 3
    """The most fillers before an item of training; tests have one to three more."""

    def build(self, sizes: Any, key: Any) -> SequenceSets:
        made = _lookup(self, key)
        rng = _generator(key)
        ranges = ((1, self.longest),) * 3
        offsets = ((0, self.fillers), (0, self.fillers), (self.fillers + 1, self.fillers + 3))
        return SequenceSets(*(
            _moved(items, rng.integers(least, most + 1, len(items)))
            for items, (least, most) in zip(_drawn(self, made, ranges, key), offsets, strict=True)
        ))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DepthSpec(AbstractSequenceTaskSpec):
    """ListOps whose values depend on one another more deeply than in training."""

    name: ClassVar[str] = "depth"

    digits: Count = 10
    """Digits."""
    depth: Count = 3
    """The greatest depth in training; tests have two more."""

    def build(self, sizes: Any, key: Any) -> SequenceSets:
        deeper = self.depth + 2
        made = tasks.ListOps(
            operators=("MIN", "MAX", "SM"), digits=self.digits, most_arguments=3,
            longest=4 * deeper + 4, depths=(1, self.depth),
            valid_depths=(self.depth + 1, self.depth + 1), deeper_depths=(deeper, deeper),
        )  # fmt: skip
        found = made.sets(train=self.train, iid=self.tested, tests=self.tested, seed=_seed(key))
        return SequenceSets(found["train"], found["iid"], found["deeper"])


@dataclass(frozen=True, kw_only=True)
class AbstractOrderSpec(AbstractSequenceTaskSpec):
    """Functions of groups in orders of groups that training never shows (CTL++)."""

    symbols: Count = 4
    """Symbols that functions permute."""
    functions: Count = 20
    """Functions."""
    longest: Count = 4
    """Functions of the longest items."""
    forward: bool = True
    """Whether the symbol is written first."""

    def build(self, sizes: Any, key: Any) -> SequenceSets:
        seed = _seed(key)
        options = {
            "longest": self.longest, "include_all_pairs": True, "forward": self.forward,
            "seed": seed,
        }  # fmt: skip
        found = self.patterns(options).sets(train=None, iid=self.tested, ood=self.tested, seed=seed)
        train = found["train"]
        chosen = np.sort(_generator(key).permutation(len(train))[: self.train])
        return SequenceSets(train[chosen], found["iid"], found["ood"])

    @abc.abstractmethod
    def patterns(self, options: dict[str, Any]) -> "tasks.TableLookupPatterns":
        """What training and tests make of the functions."""


@dataclass(frozen=True, kw_only=True)
class OrderASpec(AbstractOrderSpec):
    """A: two groups of functions alternate in training, and repeat in tests."""

    name: ClassVar[str] = "order-a"

    def patterns(self, options: dict[str, Any]) -> "tasks.TableLookupPatterns":
        return tasks.TableLookupPatterns.alternating(
            self.symbols, self.functions, include_singles=False, **options
        )


@dataclass(frozen=True, kw_only=True)
class OrderRSpec(AbstractOrderSpec):
    """R: functions of a group repeat in training, and two groups alternate in tests."""

    name: ClassVar[str] = "order-r"

    def patterns(self, options: dict[str, Any]) -> "tasks.TableLookupPatterns":
        return tasks.TableLookupPatterns.repeating(
            self.symbols, self.functions, include_singles=False, **options
        )


@dataclass(frozen=True, kw_only=True)
class OrderSSpec(AbstractOrderSpec):
    """S: two stages of functions, which tests combine anew."""

    name: ClassVar[str] = "order-s"

    overlap: Whole = 4
    """Functions of the second stage that follow both groups of the first."""
    shared: Count = 4
    """Symbols on which they follow both."""

    def patterns(self, options: dict[str, Any]) -> "tasks.TableLookupPatterns":
        return tasks.TableLookupPatterns.staged(
            self.overlap, self.shared, self.symbols, self.functions, **options
        )


def _lookup(spec: LengthSpec | PositionSpec, key: Any) -> "tasks.TableLookup":
    longest = spec.longest
    return tasks.TableLookup(
        spec.symbols, spec.functions, 0, longest, (longest + 1, longest + 1),
        (longest + 2, longest + 3), forward=spec.forward, seed=_seed(key),
    )  # fmt: skip


def _drawn(
    spec: AbstractSequenceTaskSpec, made: "tasks.TableLookup", ranges: Any, key: Any
) -> list["tasks.LabelledSequences"]:
    """Items for training and for two tests, all numbers of functions equally often."""
    import jax

    counts = (spec.train, spec.tested, spec.tested)
    keys = jax.random.split(key, 3)
    return [
        made.sample(count, lengths, key=k)
        for count, lengths, k in zip(counts, ranges, keys, strict=True)
    ]


def _moved(items: "tasks.LabelledSequences", offsets: np.ndarray) -> "tasks.LabelledSequences":
    """The same items after so many fillers each."""
    import jax.numpy as jnp

    tokens, lengths = np.asarray(items.tokens), np.asarray(items.lengths)
    places = np.arange(tokens.shape[1] + int(offsets.max()))
    source = places - offsets[:, None]
    inside = (source >= 0) & (source < tokens.shape[1])
    rows = np.take_along_axis(tokens, np.where(inside, source, 0), axis=1)
    rows = np.where(inside, rows, 0)
    rows = np.where(source < 0, len(items.vocabulary), rows).astype(np.int32)
    return tasks.LabelledSequences(
        jnp.asarray(rows), jnp.asarray(lengths + offsets, jnp.int32), items.labels,
        (*items.vocabulary, "."), items.classes,
    )  # fmt: skip


def _seed(key: Any) -> int:
    import jax

    return int(jax.random.randint(key, (), 0, 2**31 - 1))


def _generator(key: Any) -> np.random.Generator:
    return np.random.default_rng(_seed(key))
