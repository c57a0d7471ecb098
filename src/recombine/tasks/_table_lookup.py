"""Compositional table lookup: functions given by tables are applied one after another."""

from collections.abc import Callable, Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from ._labelled_sequences import LabelledSequences
from ._lookup_tables import LookupTables
from ._task import AbstractTask

PUBLISHED_SEED = 0x12345678
WORDS_PASSED_OVER = 60_349
"""Random words that the published generator spends between the items of trained lengths and the
longer ones, on 4,000 compositions with functions that are trained alone. No set here has them."""
Item = tuple[int, tuple[int, ...]]
"""A symbol and a published list of functions, which are applied from the last one to the first."""


class TableLookup(AbstractTask):
    """Apply functions to a symbol; training is on short compositions (Section 5.2.1).

    Functions are random permutations of the symbols. Written forward, `101 d a b` asks for
    b(a(d(101))); written backward, the same is `b a d 101`. Some functions are trained alone only.

    ```python
    sets = TableLookup().sets()
    {name: len(items) for name, items in sets.items()}
    # train 53704, iid_valid 4000, iid 4000, depth_valid 1000, longer 1000, reserved 604
    ```

    By default these are the published sequences, draw by draw. The published generator draws a
    list of functions and a symbol, and applies the list from its end. Its first item is the list
    g, b, g, c, d with the symbol 000. Backward the list is written as it was drawn,
    `g b g c d 000`; forward it is mirrored, `000 d c g b g`. Either way the label is
    g(b(g(c(d(000))))) = 101. The published code does not settle which items of trained lengths
    are for training and which for tests: `sets` deals them out at random.
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
        - `alone`: how many further functions there are that are never composed.
        - `longest`: the number of functions in the longest training items.
        - `valid_lengths`, `longer_lengths`: the fewest and the most functions of items for
            choosing a model, and of items for testing it.
        - `forward`: whether the symbol is written first.
        - `seed`: the seed of the tables and of the items.
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
        `iid` are like its compositions; items of `depth_valid` and `longer` have more functions.
        `reserved` has the compositions of trained lengths that no other set has, each on one
        symbol.

        **Arguments:**

        - `train`: the number of compositions in training; by default a tenth of all that exist.
        - `iid`, `tests`: the sizes of the other sets; `iid` is at most `train`.
        - `repeats`: how often functions that are never composed are repeated.
        - `seed`: a seed for other items of the same tables.
        """
        rng = np.random.RandomState(self.seed if seed is None else seed)
        _tables(rng, self.functions + self.alone, self.symbols)
        reserved = _reserved(rng, self.functions, self.longest)
        unseen = [functions for functions in reserved if len(functions) > 1]
        possible = self.symbols * sum(self.functions**n for n in range(2, self.longest + 1))
        train = possible // 10 if train is None else train
        iid = min(iid, train)
        if not 0 < train + 2 * iid <= possible - self.symbols * len(unseen):
            raise ValueError(
                f"there are {possible - self.symbols * len(unseen)} compositions on symbols, too "
                f"few for train={train} and twice iid={iid}; use fewer or more functions"
            )
        if (fewest := self.symbols * self.functions ** self.valid_lengths[0]) < tests:
            raise ValueError(f"there may be only {fewest} longer items, fewer than tests={tests}")

        def composition(shortest: int, longest: int) -> tuple[int, ...]:
            functions = rng.randint(self.functions, size=longest).tolist()
            return tuple(functions[: rng.randint(shortest, longest + 1)])

        def trained() -> Item:
            while (functions := composition(2, self.longest)) in reserved:
                pass
            return rng.randint(self.symbols), functions

        def longer(lengths: tuple[int, int]) -> Item:
            return rng.randint(self.symbols), composition(*lengths)

        pool = _different(train + 2 * iid, trained)
        rng.randint(2**32, size=WORDS_PASSED_OVER, dtype=np.uint32)
        depth_valid = _different(tests, lambda: longer(self.valid_lengths))
        deepest = _different(tests, lambda: longer(self.longer_lengths))
        dealer = np.random.default_rng(rng.randint(2**32, size=4))
        dealt = [pool[place] for place in dealer.permutation(len(pool)).tolist()]
        every = range(self.functions + self.alone)
        alone = [*every, *(f for f in every[self.functions :] for _ in range(repeats))]
        singles = [(symbol, (function,)) for function in alone for symbol in range(self.symbols)]
        symbols = dealer.integers(0, self.symbols, len(unseen)).tolist()
        items = {
            "train": singles + dealt[2 * iid :],
            "iid_valid": dealt[:iid],
            "iid": dealt[iid : 2 * iid],
            "depth_valid": depth_valid,
            "longer": deepest,
            "reserved": zip(symbols, unseen, strict=True),
        }
        longest = {"depth_valid": self.valid_lengths[1], "longer": self.longer_lengths[1]}
        return {
            name: self.lookup.write_rows(_rows(part, longest.get(name, self.longest)))
            for name, part in items.items()
        }


def _tables(
    rng: np.random.RandomState, functions: int, symbols: int
) -> Int[np.ndarray, "functions symbols"]:
    return np.stack([rng.permutation(symbols) for _ in range(functions)]).astype(np.int32)


def _reserved(
    rng: np.random.RandomState, functions: int, longest: int
) -> dict[tuple[int, ...], None]:
    """A quarter of all compositions of each length from 0 on, but not more than 200."""
    reserved: dict[tuple[int, ...], None] = {}
    for length in range(longest + 1):
        full = len(reserved) + min(200, functions**length / 4)
        while len(reserved) < full:
            reserved[tuple(rng.randint(functions, size=length).tolist())] = None
    return reserved


def _different(count: int, draw: Callable[[], Item]) -> list[Item]:
    """The first `count` different items that `draw` gives."""
    items: dict[Item, None] = {}
    while len(items) < count:
        items[draw()] = None
    return list(items)


def _rows(items: Iterable[Item], longest: int) -> Int[np.ndarray, "items row"]:
    """Rows of a symbol and the functions on it in the order of application, filled up with -1.

    That order is the reverse of the order in published lists.
    """
    return np.array(
        [
            [symbol, *reversed(functions), *[-1] * (longest - len(functions))]
            for symbol, functions in items
        ]
    )
