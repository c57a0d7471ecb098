"""Functions on a few symbols, given by tables, and how their compositions are written."""

import string
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ._labelled_sequences import LabelledSequences


class LookupTables(eqx.Module):
    """Functions that permute a few symbols, their names, and the order in which they are written.

    ```python
    flip = LookupTables([[1, 0], [0, 1]], ("0", "1"))
    flip.write(np.array([0]), np.array([[0, 1]]), np.array([2])).text(0)  # "b a 0": b(a(0)) = 1
    ```
    """

    tables: Int[Array, "functions symbols"] = eqx.field(converter=jnp.asarray)
    """Where each function takes each symbol."""
    symbols: tuple[str, ...] = eqx.field(static=True)
    """The names of the symbols."""
    forward: bool = eqx.field(static=True, default=False)
    """Whether the symbol is written first, then functions in the order of application.

    Otherwise the last function is written first, and the symbol last."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions: letters, and `f` with a number from the 53rd on."""
        letters = string.ascii_letters
        count = len(self.tables)
        return (*letters[:count], *(f"f{i}" for i in range(len(letters), count)))

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Padding, symbols, functions: symbol s is token 1 + s."""
        return ("", *self.symbols, *self.functions)

    @property
    def inverses(self) -> Int[Array, "functions symbols"]:
        """At `[function, symbol]`, the symbol that the function takes to this one."""
        return jnp.argsort(self.tables, axis=1)

    def write(self, symbols: Any, functions: Any, counts: Any) -> LabelledSequences:
        """Sequences that apply functions to symbols, labelled with the symbols that come out.

        **Arguments:** all are NumPy arrays, or all are JAX arrays, for which this can be compiled.

        - `symbols`: integers [items].
        - `functions`: the functions in the order of application, integers [items, longest].
        - `counts`: how many of these are applied, integers [items].
        """
        xp = symbols.__array_namespace__()
        tables = np.asarray(self.tables) if xp is np else self.tables
        place = xp.arange(functions.shape[1] + 1)
        written = place <= counts[:, None]
        values = symbols
        for step in range(functions.shape[1]):
            after = tables[functions[:, step], values]
            values = xp.where(written[:, step + 1], after, values)
        tokens = xp.concat([1 + symbols[:, None], 1 + len(self.symbols) + functions], axis=1)
        if not self.forward:
            turned = xp.where(written, counts[:, None] - place, 0)
            tokens = xp.take_along_axis(tokens, turned, axis=1)
        return LabelledSequences(
            xp.where(written, tokens, 0).astype(xp.int32),
            (counts + 1).astype(xp.int32),
            values.astype(xp.int32),
            self.vocabulary,
            len(self.symbols),
        )

    def write_rows(self, rows: Int[np.ndarray, "items row"]) -> LabelledSequences:
        """Sequences as `write` gives them, from rows of a symbol and its functions.

        Functions are in the order of application; rows are filled up with -1.
        """
        symbols, functions = rows[:, 0], rows[:, 1:]
        return self.write(symbols, np.maximum(functions, 0), (functions >= 0).sum(axis=1))
