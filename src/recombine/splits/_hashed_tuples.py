"""Tuples of classes, some of them held out, without a list of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt32

from ._code_distribution import _scramble

_ENUMERABLE = 2**20


class HashedTuples(eqx.Module):
    """A random fraction of all tuples of k classes is held out.

    Whether a tuple is held out is decided by a hash of it and a salt, as if a biased coin had been
    tossed once for every tuple. With k = 3, if (cat, airplane, ship) is held out then no training
    input may have these classes in these slots; (ship, cat, airplane) is another tuple, unless
    order does not count.
    """

    salt: UInt32[Array, ""]
    fraction: float
    k: int = eqx.field(static=True)
    classes: int = eqx.field(static=True)
    ordered: bool = eqx.field(static=True)

    def __init__(
        self,
        k: int,
        classes: int = 10,
        fraction: float = 0.1,
        *,
        ordered: bool = True,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `k`: slots of a tuple.
        - `classes`: that may stand in each slot.
        - `fraction`: how many tuples are held out, about.
        - `ordered`: whether tuples of the same classes in another order are held out apart.
        - `key`: decides which tuples are held out.

        **Raises:** `ValueError` if no tuple would be held out, or if a class would never be trained
        in some slot.
        """
        if not 0 < fraction < 1:
            raise ValueError(f"the held-out fraction must lie between 0 and 1, not {fraction}")
        self.salt = jax.random.bits(key, dtype=jnp.uint32)
        self.fraction, self.k, self.classes, self.ordered = fraction, k, classes, ordered
        if classes**k <= _ENUMERABLE:
            tuples = np.indices((classes,) * k, np.int32).reshape(k, -1).T
        else:
            # So many that what is true of a sample of them is true of all.
            tuples = np.random.default_rng(0).integers(
                classes, size=(_ENUMERABLE, k), dtype=np.int32
            )
        held_out = np.asarray(eqx.filter_jit(self.is_held_out)(jnp.asarray(tuples)))
        if not held_out.any():
            raise ValueError(
                f"none of {classes}^{k} tuples would be held out; take a larger fraction or key"
            )
        for slot in range(k):
            trained = np.isin(np.arange(classes), tuples[~held_out, slot])
            if not trained.all():
                raise ValueError(
                    f"class {np.argmin(trained)} would never be trained in slot {slot}; take a "
                    "smaller fraction, more slots or another key"
                )

    def is_held_out(self, labels: Int[Array, "*tuples k"]) -> Bool[Array, "*tuples"]:
        """Whether tuples are held out."""
        words = (labels if self.ordered else jnp.sort(labels, axis=-1)).astype(jnp.uint32)
        hashed = jnp.broadcast_to(self.salt, words.shape[:-1])
        for slot in range(self.k):
            hashed = _scramble(hashed ^ words[..., slot])
        # 24 bits are what a 32-bit float holds exactly.
        return (hashed >> 8) < self.fraction * 2**24
