"""Lookup networks made by hand, with one vector or several for the same symbol."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .._host_random import host_generator


class CodedLookup(eqx.Module):
    """Functions on symbols, where a symbol's vector may tell which functions produced it.

    A state is one of the vectors of a symbol. A function takes a vector that it can read to the
    right symbol, and another one to a wrong one that is fixed at random; what it writes is the
    symbol's vector in its own code. So there is a network that is right on all that training
    shows, and at chance on what it does not: Chapter 6 explains what is learned by this.

    ```python
    one = CodedLookup.shared(lookup.tables, key=key)
    two = CodedLookup.per_group(lookup.tables, (0, 0, 1, 1), jnp.eye(2, dtype=bool), key=key)
    ```

    It reads sequences as `tasks.LookupTables` writes them, with the symbol last or, if `forward`,
    first; tokens of a frame are passed over.
    """

    tables: Int[Array, "codes functions symbols"]
    """What each function makes of a symbol in each code; the first code is that of inputs."""
    writes: Int[Array, " functions"]
    """The code that each function writes."""
    vectors: Float[Array, "codes symbols width"]
    readout: Float[Array, "width symbols"]
    forward: bool = eqx.field(static=True)

    @classmethod
    def shared(
        cls, tables: Int[Array, "functions symbols"], *, forward: bool = False, key: PRNGKeyArray
    ) -> "CodedLookup":
        """One code that all functions write and read."""
        everything = (0,) * len(tables)
        return cls.per_group(tables, everything, jnp.ones((1, 1), bool), forward=forward, key=key)

    @classmethod
    def per_group(
        cls,
        tables: Int[Array, "functions symbols"],
        groups: tuple[int, ...],
        reads: Bool[Array, "groups groups"],
        *,
        forward: bool = False,
        key: PRNGKeyArray,
    ) -> "CodedLookup":
        """One code for each group of functions, which writes it.

        **Arguments:**

        - `tables`: of the functions.
        - `groups`: of each function.
        - `reads`: entry [i, j] says whether functions of group i can read what group j writes; the
            input symbols can be read by all.
        - `forward`: whether the symbol is the first token.
        """
        functions, symbols = tables.shape
        if len(groups) != functions or not set(groups) <= set(range(len(reads))):
            raise ValueError(
                f"each of {functions} functions needs one of {len(reads)} groups: {groups}"
            )
        # On the host: it is made once, and would take longer to compile than to make.
        rng, group, codes = host_generator(key), np.array(groups), 1 + len(reads)
        order = np.broadcast_to(np.arange(symbols), (codes, functions, symbols))
        wrong = rng.permuted(order, axis=2)
        readable = np.concatenate([np.ones((1, functions), bool), np.asarray(reads)[group].T])
        # Orthonormal, so that the readout of one symbol is silent for all others.
        orthonormal, _ = np.linalg.qr(rng.standard_normal((codes * symbols, codes * symbols)))
        vectors = orthonormal.reshape(codes, symbols, -1)
        return cls(
            jnp.asarray(np.where(readable[:, :, None], tables, wrong), jnp.int32),
            jnp.asarray(1 + group, jnp.int32),
            jnp.asarray(vectors, float),
            jnp.asarray(vectors.sum(axis=0).T, float),
            forward,
        )

    def represent(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch width"]:
        """The vector after the last function, from which the symbol is read."""
        _, functions, symbols = self.tables.shape
        order = (tokens if self.forward else tokens[:, ::-1]).astype(jnp.int32)

        def read(state, token):
            code, symbol = state
            function = token - 1 - symbols
            is_symbol = (token >= 1) & (token <= symbols)
            is_function = (function >= 0) & (function < functions)
            known = jnp.clip(function, 0, functions - 1)
            code_after = jnp.where(is_function, self.writes[known], code)
            after = jnp.where(is_function, self.tables[code, known, symbol], symbol)
            return (
                jnp.where(is_symbol, 0, code_after),
                jnp.where(is_symbol, token - 1, after),
            ), None

        nothing = jnp.zeros(len(tokens), jnp.int32)
        (code, symbol), _ = jax.lax.scan(read, (nothing, nothing), order.T)
        return self.vectors[code, symbol]

    def __call__(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch symbols"]:
        """Logits: 1 for the symbol, 0 for all others."""
        return self.represent(tokens, lengths) @ self.readout
