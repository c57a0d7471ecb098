"""Table lookup with patterns of functions that training never shows (CTL++)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from ._labelled_sequences import LabelledSequences
from ._lookup_tables import LookupTables
from ._sampling_graph import Edge, Rows, SamplingGraph

Groups = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class TableLookupPatterns:
    """Apply functions to a symbol; groups of functions meet in tests as never in training.

    Chapter 6 has three variants. Functions a and b **alternate** in training and repeat in tests,
    or they **repeat** in training and alternate in tests, or they come in two **stages**, which
    tests combine anew. `c b a 3` asks for c(b(a(3))).

    ```python
    task = TableLookupPatterns.alternating()
    {name: len(items) for name, items in task.sets().items()}
    # train 300128, iid 1000, ood 1000
    ```
    """

    lookup: LookupTables
    trained: SamplingGraph
    tested: SamplingGraph
    longest: int = 6
    """The number of functions in the longest items."""
    include_singles: bool = True
    """Train every function alone on every symbol, as the text says.

    In the published code no item has one function, and `include_all_pairs` holds."""
    include_all_pairs: bool = False
    """Train all items of two functions that the graph allows."""
    estimate_counts: bool = False
    """Draw a fraction of the published estimate of how many items of a length there are.

    By default it is a fraction of their exact number; they differ in variant S
    (`SamplingGraph.estimated_counts`)."""
    diagnostics: Mapping[str, SamplingGraph] = field(default_factory=dict)
    """What else can be asked of a model; items of names in `pairs` have two functions."""

    @classmethod
    def alternating(
        cls,
        symbols: int = 8,
        functions: int = 32,
        *,
        forward: bool = False,
        seed: int = 0,
        **options: Any,
    ) -> "TableLookupPatterns":
        """Variant A: in training a function of a follows one of b and the reverse.

        **Arguments:**

        - `symbols`, `functions`: how many there are; the first half of the functions is group a.
        - `forward`: whether the symbol is written first.
        - `seed`: the seed of the tables.
        - `options`: `longest`, `include_singles`, `include_all_pairs`, `estimate_counts`.
        """
        lookup = _lookup(symbols, functions, forward, np.random.default_rng(seed))
        trained, tested, every = _two_groups(functions)
        diagnostics = {"any": every, "pairs": trained, "all_pairs": every}
        return cls(lookup, trained, tested, diagnostics=diagnostics, **options)

    @classmethod
    def repeating(
        cls, symbols: int = 8, functions: int = 32, **options: Any
    ) -> "TableLookupPatterns":
        """Variant R: in training all functions of an item are of one group; see `alternating`."""
        other = cls.alternating(symbols, functions, **options)
        diagnostics = {**other.diagnostics, "pairs": other.tested}
        return replace(other, trained=other.tested, tested=other.trained, diagnostics=diagnostics)

    @classmethod
    def staged(
        cls,
        overlap: int,
        shared: int,
        symbols: int = 8,
        functions: int = 32,
        *,
        forward: bool = False,
        seed: int = 0,
        include_singles: bool = False,
        **options: Any,
    ) -> "TableLookupPatterns":
        """Variant S: a1 then a2 or b1 then b2 in training, a1 then b2 or b1 then a2 in tests.

        In training functions of a group o follow both a1 and b1: each on some symbols only after
        a1, on others only after b1, and on `shared` symbols after both.

        **Arguments:** as those of `alternating`, and

        - `overlap`: the number of functions in group o, which are the first ones.
        - `shared`: the number of symbols that each of them is applied to after both.
        """
        if overlap < 0 or functions <= overlap or (functions - overlap) % 4:
            raise ValueError(
                f"{functions} functions without the {overlap} of overlap cannot be dealt to four "
                "groups; let the difference be a multiple of 4"
            )
        if not 1 <= shared <= symbols:
            raise ValueError(f"shared must lie between 1 and {symbols}, the symbols, not {shared}")
        rng = np.random.default_rng(seed)
        lookup = _lookup(symbols, functions, forward, rng)
        allowed = overlap_symbols(overlap, symbols, shared, rng)
        trained, tested, diagnostics = _stages(overlap, functions, allowed)
        options |= {"include_singles": include_singles, "diagnostics": diagnostics}
        return cls(lookup, trained, tested, **options)

    def sets(
        self,
        *,
        train: int | None = 300_000,
        iid: int = 1000,
        ood: int = 1000,
        fill: float = 0.5,
        diagnostics: bool = False,
        seed: int = 0,
    ) -> dict[str, LabelledSequences]:
        """`train`, `iid` and `ood`, in each as equally many items of every length as possible.

        `train` and `iid` are of one graph and disjoint; items that training must have are not
        drawn for `iid`, and are in `train` beside the others.

        **Arguments:**

        - `train`: the number of items in training beside those that it must have; None: all that
            `fill` allows, minus `iid`.
        - `iid`, `ood`: sizes of the tests, and of `diagnostics` that are not exhaustive.
        - `fill`: the fraction of all items of a length that training and `iid` may have.
        - `diagnostics`: whether the sets of `diagnostics` are drawn, too.
        - `seed`: the seed of the items.
        """
        tables, rng = np.asarray(self.lookup.tables), np.random.default_rng(seed)
        lengths = range(1 if self.include_singles else 2, self.longest + 1)
        count = None if train is None else train + iid
        pool = self.trained.different(tables, lengths, count, rng, fill, self.estimate_counts)
        pool = rng.permutation(pool)
        forced = self._forced(tables)
        is_forced = np.isin(_counts(pool), np.unique(_counts(forced)))
        free = np.flatnonzero(~is_forced)
        if len(free) <= iid:
            raise ValueError(f"{len(free)} items are too few for iid={iid} and training; use fewer")
        ours = np.delete(pool, np.append(free[:iid], is_forced.nonzero()), axis=0)
        rows = {
            "train": rng.permutation(np.concatenate([ours, forced])),
            "iid": pool[free[:iid]],
            "ood": self.tested.different(tables, range(2, self.longest + 1), ood, rng),
        }
        for name, graph in self.diagnostics.items() if diagnostics else ():
            pairs = name.endswith("pairs")
            longest = 2 if pairs else self.longest
            rows[name] = graph.different(tables, range(2, longest + 1), None if pairs else ood, rng)
        return {name: self.lookup.write_rows(items) for name, items in rows.items()}

    def arrows(self) -> tuple[tuple[str, str, str], ...]:
        """The edges of both graphs, to be drawn (Figures 6.1, 6.2, E.1).

        **Returns:** source, target, and where the edge is used: in "train", in "test" or in "both".
        """
        train, test = (
            {(edge.source, edge.target): None for edge in graph.edges}
            for graph in (self.trained, self.tested)
        )
        places = {(True, True): "both", (True, False): "train", (False, True): "test"}
        return tuple((*edge, places[edge in train, edge in test]) for edge in train | test)

    def _forced(self, tables: Int[np.ndarray, "functions symbols"]) -> Rows:
        """The items that training must have, each once."""
        rows = [np.empty((0, 1 + self.longest), int)]
        if self.include_singles:
            functions, symbols = (part.ravel() for part in np.indices(tables.shape))
            rows.append(np.column_stack([symbols, functions]))
        if self.include_all_pairs:
            rows.append(self.trained.items(tables, 2))
        width = 1 + self.longest
        return np.concatenate(
            [np.pad(r, ((0, 0), (0, width - r.shape[1])), constant_values=-1) for r in rows]
        )


def overlap_symbols(
    functions: int, symbols: int, shared: int, rng: np.random.Generator
) -> tuple[Bool[np.ndarray, "functions symbols"], Bool[np.ndarray, "functions symbols"]]:
    """On which symbols functions of o may follow a1, and on which b1.

    Each has `shared` symbols on both sides, and every other symbol on one. The shared symbols of
    one function after another go through all symbols, and then again in a new order.
    """
    order, around = np.arange(symbols), -(-symbols // shared)
    after_a, after_b = np.zeros((2, functions, symbols), bool)
    for place in range(functions):
        both = order[np.arange(place * shared, (place + 1) * shared) % symbols]
        rest = np.setdiff1d(np.arange(symbols), both)
        half = rng.integers(2) if len(rest) == 1 else -(-len(rest) // 2)
        after_a[place, [*both, *rest[:half]]] = True
        after_b[place, [*both, *rest[half:]]] = True
        if place % around == around - 1:
            order = rng.permutation(symbols)
    return after_a, after_b


def _lookup(symbols: int, functions: int, forward: bool, rng: np.random.Generator) -> LookupTables:
    """Different random permutations; symbols are written as numbers."""
    orders = np.prod(np.arange(1.0, symbols + 1))
    if not 2 <= functions <= orders:
        raise ValueError(
            f"{symbols} symbols have {orders:.0f} permutations, which cannot be {functions} "
            "different functions; use more symbols"
        )
    tables: dict[tuple[int, ...], None] = {}
    while len(tables) < functions:
        tables[tuple(rng.permutation(symbols).tolist())] = None
    return LookupTables(
        jnp.asarray(list(tables), jnp.int32), tuple(map(str, range(symbols))), forward
    )


def _two_groups(functions: int) -> tuple[SamplingGraph, SamplingGraph, SamplingGraph]:
    """Groups that alternate, groups that repeat, and any function after any."""
    if functions % 2:
        raise ValueError(f"{functions} functions make no two equal groups; use an even number")
    half = functions // 2
    groups = {"a": tuple(range(half)), "b": tuple(range(half, functions))}
    ways = ("IN", "a b"), ("a b", "OUT")
    alternating = SamplingGraph.of(groups, *ways, ("a", "b"), ("b", "a"))
    repeating = SamplingGraph.of(groups, *ways, ("a", "a"), ("b", "b"))
    return alternating, repeating, SamplingGraph.of(groups, *ways, ("a b", "a b"))


def _stages(
    overlap: int, functions: int, allowed: tuple[np.ndarray, np.ndarray]
) -> tuple[SamplingGraph, SamplingGraph, dict[str, SamplingGraph]]:
    """The graphs of training and test of variant S, and those of the diagnostics."""
    starts = np.linspace(overlap, functions, 5).astype(int).tolist()
    names = ("a1", "a2", "b1", "b2")
    blocks = zip(names, starts[:-1], starts[1:], strict=True)
    groups: Groups = {"o": tuple(range(overlap))}
    groups |= {name: tuple(range(start, end)) for name, start, end in blocks}
    seen = [Edge(s, "o", symbols) for s, symbols in zip(("a1", "b1"), allowed, strict=True)]
    unseen = [Edge(s, "o", ~symbols) for s, symbols in zip(("a1", "b1"), allowed, strict=True)]
    begin = ("IN", "a1 b1")
    everything = " ".join(groups)
    same, crossed = (("a1", "a2"), ("b1", "b2")), (("a1", "b2"), ("b1", "a2"))
    trained = SamplingGraph.of(groups, begin, *same, ("a2 b2 o", "a1 b1 OUT"), restricted=seen)
    tested = SamplingGraph.of(groups, begin, *crossed, ("a2 b2", "a1 b1 OUT"))
    diagnostics = {
        "one_group": SamplingGraph.of(
            groups,
            ("IN", everything),
            *((name, name) for name in groups),
            (everything, "OUT"),
        ),
        "any": SamplingGraph.of(groups, (f"IN {everything}", f"{everything} OUT")),
        "pairs": trained,
        "unseen_pairs": SamplingGraph.of(
            groups, begin, *crossed, ("a2 b2 o", "OUT"), restricted=unseen
        ),
        "all_pairs": SamplingGraph.of(groups, begin, ("a1 b1", "a2 b2 o"), ("a2 b2 o", "OUT")),
    }
    if overlap:
        diagnostics["overlap"] = SamplingGraph.of(groups, begin, ("a1 b1", "o"), ("o", "a1 b1 OUT"))
        diagnostics["unseen_symbol_pairs"] = SamplingGraph.of(
            groups, begin, ("o", "OUT"), restricted=unseen
        )
    return trained, tested, diagnostics


def _counts(rows: Rows) -> Int[np.ndarray, " items"]:
    """The number of functions in each item."""
    return (rows >= 0).sum(axis=1) - 1
