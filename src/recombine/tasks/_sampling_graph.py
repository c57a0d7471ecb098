"""Which functions may follow which: a graph that counts, lists and draws compositions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product

import numpy as np
from jaxtyping import Bool, Int

from ._distinct_rows import draw_different

Rows = Int[np.ndarray, "items row"]
Tables = Int[np.ndarray, "functions symbols"]


@dataclass(frozen=True, eq=False)
class Edge:
    """After a function of one group, one of another may be applied."""

    source: str
    """A group, or `IN`: nothing has been applied yet."""
    target: str
    """A group, or `OUT`: nothing more is applied."""
    allowed: Bool[np.ndarray, "members symbols"] | None = None
    """The symbols on which each function of the target may be applied; None: all."""


@dataclass(frozen=True, eq=False)
class SamplingGraph:
    """Groups of functions, and the edges along which items are drawn (Figures 6.1 and 6.2).

    An item is a row of a symbol and the functions that are applied to it, in this order.

    ```python
    groups = {"a": (0, 1), "b": (2, 3)}
    alternating = SamplingGraph.of(groups, ("IN", "a b"), ("a", "b"), ("b", "a"), ("a b", "OUT"))
    alternating.counts(tables, 3)  # how many items of 0, 1, 2 and 3 functions there are
    ```
    """

    groups: Mapping[str, tuple[int, ...]]
    """The functions of each group; no function is in two groups."""
    edges: tuple[Edge, ...]

    @classmethod
    def of(
        cls,
        groups: Mapping[str, tuple[int, ...]],
        *edges: tuple[str, str],
        restricted: Iterable[Edge] = (),
    ) -> "SamplingGraph":
        """A graph with an edge from each of some groups to each of others.

        **Arguments:**

        - `groups`: the functions of each group.
        - `edges`: sources and targets, such as `("a b", "OUT")`.
        - `restricted`: edges that are open on some symbols only.
        """
        pairs = (product(sources.split(), targets.split()) for sources, targets in edges)
        plain = (Edge(source, target) for pair in pairs for source, target in pair)
        return cls(groups, (*plain, *restricted))

    def counts(self, tables: Tables, longest: int) -> Int[np.ndarray, " lengths"]:
        """How many items there are with 0, 1, ... `longest` functions, exactly.

        This is a dynamic programme over the last group and the present symbol.
        """
        follows, ends = self._follows(tables)
        # In how many ways an item can go on, by the group of its last function and its symbol.
        ways = np.repeat(ends[:, None], tables.shape[1], axis=1).astype(np.int64)
        counts = [ways[0].sum()]
        for _ in range(longest):
            after = ways[self._group_of(tables)[:, None], tables]
            ways = (follows * after).sum(axis=1)
            counts.append(ways[0].sum())
        return np.array(counts)

    def estimated_counts(self, tables: Tables, longest: int) -> Int[np.ndarray, " lengths"]:
        """The published estimate of how many items with 0, 1, ... `longest` functions there are.

        For each sequence of groups it multiplies the number of ways to choose functions by the
        number of different symbols that the last of them may write. This is exact until an edge
        is restricted to some symbols; afterwards ways that start from few symbols count as if they
        started from all that the next group can write.

        For variant S with four overlapping functions and two shared symbols it gives 163,856 items
        of four functions, where there are 141,505 with the published tables.
        """
        every = frozenset(range(tables.shape[1]))
        ends = {edge.source for edge in self.edges if edge.target == "OUT"}
        states, counts = Counter({("IN", every): 1}), []
        for _ in range(longest + 1):
            counts.append(
                sum(n * len(seen) for (group, seen), n in states.items() if group in ends)
            )
            states = self._estimated_step(tables, states)
        return np.array(counts)

    def _estimated_step(
        self, tables: Tables, states: Counter[tuple[str, frozenset[int]]]
    ) -> Counter[tuple[str, frozenset[int]]]:
        """Ways to a group and to the symbols that it may write, one function later."""
        after: Counter[tuple[str, frozenset[int]]] = Counter()
        for (group, seen), ways in states.items():
            for edge in self.edges:
                if edge.source != group or edge.target == "OUT":
                    continue
                members, symbols = self.groups[edge.target], sorted(seen)
                if edge.allowed is None:
                    written = tables[np.ix_(members, symbols)]
                    after[edge.target, frozenset(written.ravel().tolist())] += ways * len(members)
                    continue
                for function, allowed in zip(members, edge.allowed, strict=True):
                    read = [symbol for symbol in symbols if allowed[symbol]]
                    after[edge.target, frozenset(tables[function, read].tolist())] += ways
        return after

    def items(self, tables: Tables, length: int) -> Rows:
        """All items with `length` functions."""
        follows, ends = self._follows(tables)
        rows = np.arange(tables.shape[1])[:, None]
        symbols, origins = rows[:, 0], np.zeros(len(rows), int)
        for _ in range(length):
            item, function = follows[origins, :, symbols].nonzero()
            rows = np.column_stack([rows[item], function])
            symbols = tables[function, symbols[item]]
            origins = self._group_of(tables)[function]
        return rows[ends[origins]]

    def draw(self, tables: Tables, length: int, rng: np.random.Generator, size: int) -> Rows:
        """Up to `size` items with `length` functions, not all different.

        The symbol is uniform, and so is every function among those that may follow. An item that
        cannot go on, or not end, is left out.
        """
        follows, ends = self._follows(tables)
        rows = rng.integers(0, tables.shape[1], (size, 1))
        symbols, origins = rows[:, 0], np.zeros(size, int)
        for _ in range(length):
            allowed = follows[origins, :, symbols]
            alive = allowed.any(axis=1)
            sums = allowed[alive].cumsum(axis=1, dtype=np.int32)
            chosen = rng.integers(0, sums[:, -1:])
            function = (sums > chosen).argmax(axis=1)
            rows = np.column_stack([rows[alive], function])
            symbols = tables[function, symbols[alive]]
            origins = self._group_of(tables)[function]
        return rows[ends[origins]]

    def different(
        self,
        tables: Tables,
        lengths: range,
        count: int | None,
        rng: np.random.Generator,
        fill: float = 1.0,
        estimate_counts: bool = False,
    ) -> Rows:
        """`count` different items, as equally many of each length as possible, filled up with -1.

        **Arguments:**

        - `tables`: the tables of the functions.
        - `lengths`: the numbers of functions that items may have.
        - `count`: how many items there are in all; None: as many as there may be.
        - `fill`: the fraction of all items of a length that may be drawn.
        - `estimate_counts`: whether this is a fraction of `estimated_counts`, not of `counts`.
        """
        possible = self.counts(tables, lengths[-1])
        counted = self.estimated_counts(tables, lengths[-1]) if estimate_counts else possible
        limits = {n: min(int(counted[n] * fill), int(possible[n])) for n in lengths if possible[n]}
        wanted = balanced(limits, count)
        drawn = []
        for length, number in wanted.items():
            if number == possible[length]:
                drawn.append(self.items(tables, length))
            else:
                draw = partial(self.draw, tables, length, rng)
                drawn.append(draw_different(number, draw))
        width = 1 + lengths[-1]
        filled = [np.pad(r, ((0, 0), (0, width - r.shape[1])), constant_values=-1) for r in drawn]
        return np.concatenate([np.empty((0, width), int), *filled])

    @cached_property
    def _origins(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(("IN", *self.groups))}

    def _group_of(self, tables: Tables) -> Int[np.ndarray, " functions"]:
        """The place of each function's group among the origins."""
        group = np.zeros(len(tables), int)
        for name, members in self.groups.items():
            group[list(members)] = self._origins[name]
        return group

    def _follows(
        self, tables: Tables
    ) -> tuple[Bool[np.ndarray, "origins functions symbols"], Bool[np.ndarray, " origins"]]:
        """Whether a function may follow an origin on a symbol, and whether an origin may end."""
        follows = np.zeros((len(self._origins), *tables.shape), bool)
        ends = np.zeros(len(self._origins), bool)
        for edge in self.edges:
            source = self._origins[edge.source]
            if edge.target == "OUT":
                ends[source] = True
            else:
                members = list(self.groups[edge.target])
                follows[source, members] |= True if edge.allowed is None else edge.allowed
        return follows, ends


def balanced(limits: Mapping[int, int], count: int | None) -> dict[int, int]:
    """How many items of each length are drawn within limits: as equally many as possible.

    Lengths are served in the order of `limits`; what a length lacks is left to those after it.
    """
    wanted: dict[int, int] = {}
    for served, (length, limit) in enumerate(limits.items()):
        left = limit if count is None else count - sum(wanted.values())
        share = left if count is None else -(-left // (len(limits) - served))
        wanted[length] = min(limit, share)
    if count is not None and sum(wanted.values()) != count:
        raise ValueError(
            f"only {sum(wanted.values())} of {count} items can be drawn; ask for fewer items, or "
            "add functions or lengths"
        )
    return wanted
