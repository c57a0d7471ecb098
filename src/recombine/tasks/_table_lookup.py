"""Compositional table lookup: functions given by tables are applied one after another."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from ._distinct_rows import draw_different, first_occurrences
from ._labelled_sequences import LabelledSequences
from ._lookup_tables import LookupTables
from ._task import AbstractTask

PUBLISHED_SEED = 0x12345678
Items = Int[np.ndarray, "items row"]


class TableLookup(AbstractTask):
    """Apply functions to a symbol; training is on short compositions (Section 5.2.1).

    Functions are random permutations of the symbols. Read forward, `101 d a b` asks for
    b(a(d(101))); read backward, the same is `b a d 101`. Some functions are trained alone only.

    ```python
    sets = TableLookup().sets()
    {name: len(items) for name, items in sets.items()}
    # train 53704, iid_valid 4000, iid 4000, depth_valid 1000, longer 1000, reserved 604
    ```

    By default the tables and all items before the split are those of the published code, draw by
    draw; which of them are trained is not settled there.
    """

    lookup: LookupTables
    symbols: int = eqx.field(static=True)
    functions: int = eqx.field(static=True)
    alone: int = eqx.field(static=True)
    longest: int = eqx.field(static=True)
    valid_lengths: tuple[int, int] = eqx.field(static=True)
    longer_lengths: tuple[int, int] = eqx.field(static=True)
    seed: int = eqx.field(static=True)

    def __init__(
        self,
        symbols: int = 8,
        functions: int = 9,
        alone: int = 2,
        longest: int = 5,
        valid_lengths: tuple[int, int] = (6, 8),
        longer_lengths: tuple[int, int] = (9, 10),
        *,
        forward: bool = False,
        seed: int = PUBLISHED_SEED,
    ):
        """**Arguments:**

        - `symbols`, `functions`: how many there are.
        - `alone`: functions beside these that are never composed.
        - `longest`: functions of the longest training items.
        - `valid_lengths`, `longer_lengths`: from how many to how many functions the items for
            choosing a model, and those for testing it, have.
        - `forward`: write the symbol first.
        - `seed`: of the tables, and of the items.
        """
        if symbols < 2 or functions < 2 or alone < 0 or longest < 2:
            raise ValueError(
                "table lookup needs two symbols, two functions and items of two functions at least:"
                f" symbols={symbols}, functions={functions}, longest={longest}"
            )
        ranges = (longest + 1, *valid_lengths, *longer_lengths)
        if list(ranges) != sorted(ranges) or valid_lengths[1] >= longer_lengths[0]:
            raise ValueError(
                f"lengths must grow: {longest} in training, then {valid_lengths}, {longer_lengths}"
            )
        tables = _tables(np.random.RandomState(seed), functions + alone, symbols)
        bits = (symbols - 1).bit_length()
        names = tuple(f"{symbol:0{bits}b}" for symbol in range(symbols))
        self.lookup = LookupTables(jnp.asarray(tables), names, forward)
        self.symbols, self.functions, self.alone = symbols, functions, alone
        self.longest, self.seed = longest, seed
        self.valid_lengths, self.longer_lengths = valid_lengths, longer_lengths

    @eqx.filter_jit
    def sample(
        self, size: int, lengths: tuple[int, int] | None = None, *, key: PRNGKeyArray
    ) -> LabelledSequences:
        """Draw `size` items of fresh compositions; can be compiled.

        **Arguments:**

        - `lengths`: the fewest and the most functions of an item, by default 1 and `longest`;
            all numbers between them are equally frequent.
        """
        fewest, most = (1, self.longest) if lengths is None else lengths
        of_symbols, of_functions, of_counts = jax.random.split(key, 3)
        return self.lookup.write(
            jax.random.randint(of_symbols, (size,), 0, self.symbols),
            jax.random.randint(of_functions, (size, most), 0, self.functions),
            jax.random.randint(of_counts, (size,), fewest, most + 1),
        )

    def sets(
        self,
        *,
        train: int | None = None,
        iid: int = 4000,
        tests: int = 1000,
        repeats: int = 30,
        seed: int | None = None,
    ) -> dict[str, LabelledSequences]:
        """Fixed sets of different items, as published.

        `train` holds every function alone on every symbol, compositions of 2 to `longest`
        functions, and the functions that are never composed `repeats` times more. `iid_valid` and
        `iid` are like its compositions, `depth_valid` and `longer` of more functions; `reserved`
        has the compositions of trained lengths that no other set has, on one symbol each.

        **Arguments:**

        - `train`: compositions in training; by default a tenth of all that there are.
        - `iid`, `tests`: the sizes of the other sets; `iid` is not more than `train`.
        - `repeats`: of functions that are never composed.
        - `seed`: of other items for the same tables.
        """
        rng = np.random.RandomState(self.seed if seed is None else seed)
        _tables(rng, self.functions + self.alone, self.symbols)
        reserved = _reserved(rng, self.functions, self.longest)
        new = reserved[(reserved >= 0).sum(axis=1) > 1]
        possible = self.symbols * sum(self.functions**n for n in range(2, self.longest + 1))
        train = possible // 10 if train is None else train
        iid = min(iid, train)
        if not 0 < train + 2 * iid <= possible - self.symbols * len(new):
            raise ValueError(
                f"there are {possible - self.symbols * len(new)} compositions on symbols, too few "
                f"for train={train} and twice iid={iid}; use fewer or more functions"
            )
        if (fewest := self.symbols * self.functions ** self.valid_lengths[0]) < tests:
            raise ValueError(f"there may be only {fewest} longer items, fewer than tests={tests}")
        pool = _pool(rng, train + 2 * iid, self.functions, self.longest, self.symbols, reserved)
        fresh = np.random.default_rng(rng.randint(2**32, size=4))
        pool = fresh.permutation(pool)

        def longer(lengths: tuple[int, int]) -> Items:
            def draw(size: int) -> Items:
                rows = fresh.integers(0, self.functions, (size, 1 + lengths[1]))
                rows[:, 0] = fresh.integers(0, self.symbols, size)
                counts = fresh.integers(lengths[0], lengths[1] + 1, size)
                return np.where(np.arange(rows.shape[1]) <= counts[:, None], rows, -1)

            return draw_different(tests, draw)

        every = self.functions + self.alone
        alone = np.append(np.arange(every), np.arange(self.functions, every).repeat(repeats))
        singles = np.full((len(alone) * self.symbols, 1 + self.longest), -1)
        singles[:, 0] = np.tile(np.arange(self.symbols), len(alone))
        singles[:, 1] = alone.repeat(self.symbols)
        items = {
            "train": np.concatenate([singles, pool[2 * iid :]]),
            "iid_valid": pool[:iid],
            "iid": pool[iid : 2 * iid],
            "depth_valid": longer(self.valid_lengths),
            "longer": longer(self.longer_lengths),
            "reserved": np.column_stack([fresh.integers(0, self.symbols, len(new)), new]),
        }
        return {name: self.lookup.write_rows(rows) for name, rows in items.items()}


def _tables(
    rng: np.random.RandomState, functions: int, symbols: int
) -> Int[np.ndarray, "functions symbols"]:
    return np.stack([rng.permutation(symbols) for _ in range(functions)]).astype(np.int32)


def _reserved(
    rng: np.random.RandomState, functions: int, longest: int
) -> Int[np.ndarray, "reserved longest"]:
    """A quarter of all compositions of each length from 0 on, but not more than 200."""
    reserved: dict[tuple[int, ...], None] = {}
    for length in range(longest + 1):
        full = len(reserved) + min(200, functions**length / 4)
        while len(reserved) < full:
            reserved[tuple(rng.randint(functions, size=length).tolist())] = None
    return np.array([[*row, *[-1] * (longest - len(row))] for row in reserved])


def _pool(
    rng: np.random.RandomState,
    count: int,
    functions: int,
    longest: int,
    symbols: int,
    reserved: Int[np.ndarray, "reserved longest"],
) -> Int[np.ndarray, "count row"]:
    """Different items, each of `longest` random functions of which the first few are kept.

    They are those that calls of `rng.randint` would give, one after another: all functions, how
    many are kept and, unless the composition is reserved, the symbol. Millions of such calls take
    half a minute. Each of them uses one word of 32 bits of the generator after another, until the
    lowest bits of one are a number in range; so for every word it is worked out what follows if
    an item starts there, and then it is seen where items do start.
    """
    words = np.empty(0, np.uint32)
    while True:
        words = np.append(words, rng.randint(2**32, size=32 * count, dtype=np.uint32))
        start = np.arange(len(words))
        drawn, place = _numbers(words, functions, start, longest)
        kept, place = _numbers(words, longest - 1, place, 1)
        rows = np.where(np.arange(longest) < 2 + kept, drawn, -1)
        weights = (functions + 1) ** np.arange(longest)
        skipped = np.isin((rows + 1) @ weights, (reserved + 1) @ weights)
        symbol, after = _numbers(words, symbols, place, 1)
        following = np.where(skipped, place, after).tolist()
        starts, here = [], 0
        while following[here] < len(words):
            starts.append(here)
            here = following[here]
        rows = np.column_stack([symbol, rows])[starts][~skipped[starts]]
        rows = rows[first_occurrences(rows)]
        if len(rows) >= count:
            return rows[:count]


def _numbers(
    words: np.ndarray, bound: int, start: Int[np.ndarray, " starts"], count: int
) -> tuple[Int[np.ndarray, "starts count"], Int[np.ndarray, " starts"]]:
    """What `count` calls of `randint(bound)` give from each start, and where they end."""
    lowest = words & np.uint32((1 << (bound - 1).bit_length()) - 1)
    # Places after the last word stand for what is not drawn yet.
    fits = np.append(np.flatnonzero(lowest < bound), [len(words)] * count)
    first = np.searchsorted(fits, start)[:, None]
    used = fits.take(first + np.arange(count), mode="clip")
    return np.append(lowest, 0)[used].astype(np.int64), used[:, -1] + 1
