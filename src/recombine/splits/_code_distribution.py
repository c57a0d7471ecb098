"""Drawing codes within a compiled step: from a list, or from too many to list."""

from abc import abstractmethod
from math import comb

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Int, PRNGKeyArray, UInt32

from ._masks import count_codes, layered_codes, up_to_k_hot_masks
from ._support import checked_codes

_ENUMERABLE = 2**16


class AbstractCodes(eqx.Module):
    """A distribution over codes."""

    @abstractmethod
    def draw(self, size: int, *, key: PRNGKeyArray) -> Bool[Array, "size layers modules"]:
        """Draw `size` codes, independently of one another."""


class ListedCodes(AbstractCodes):
    """All codes of a list, equally often."""

    codes: Bool[Array, "codes layers modules"]

    def __init__(self, codes: Bool[ArrayLike, "codes *layers modules"]):
        """**Arguments:**

        - `codes`: the codes, or masks; a mask is a code with one layer.
        """
        self.codes = jnp.asarray(checked_codes(codes))

    def draw(self, size: int, *, key: PRNGKeyArray) -> Bool[Array, "size layers modules"]:
        return self.codes[jax.random.randint(key, (size,), 0, len(self.codes))]


class HashedCodes(AbstractCodes):
    """All codes with 1 to K modules per layer, a random fraction of them held out, without a list.

    Whether a code is held out is decided by a hash of it and a salt, as if a biased coin had been
    tossed once for every code. Codes are drawn from all and drawn again until they belong to the
    wanted part, hence uniformly. For numbers of codes that `layered_codes` could list but slowly
    (M = 16, K = 3) or not at all; with so many, every module occurs in both parts.
    """

    salt: UInt32[Array, ""]
    fraction: float
    num_modules: int = eqx.field(static=True)
    K: int = eqx.field(static=True)
    layers: int = eqx.field(static=True)
    held_out: Bool[Array, ""]
    """Whether `draw` gives the held-out codes or the trained ones."""

    def __init__(
        self,
        num_modules: int,
        K: int,
        layers: int = 1,
        fraction: float = 0.25,
        held_out: bool = False,
        *,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `num_modules`: M, at most 32.
        - `K`: the most modules per layer.
        - `layers`: the number of layers.
        - `fraction`: how many codes are held out, about.
        - `held_out`: whether to draw the held-out codes instead of the trained ones.
        - `key`: decides which codes are held out.
        """
        if num_modules > 32:
            raise ValueError(f"codes of at most 32 modules can be hashed, not of {num_modules}")
        if not 0 < fraction < 1:
            raise ValueError(f"the held-out fraction must lie between 0 and 1, not {fraction}")
        self.salt = jax.random.bits(key, dtype=jnp.uint32)
        self.fraction = fraction
        self.num_modules, self.K, self.layers = num_modules, K, layers
        self.held_out = jnp.asarray(held_out)
        if count_codes(num_modules, K, layers) <= _ENUMERABLE:
            # With few codes a part may be empty, and drawing from it would not end.
            codes = layered_codes(up_to_k_hot_masks(num_modules, K), layers)
            kept = self.is_held_out(codes)
            if kept.all() or not kept.any():
                raise ValueError(
                    f"all {len(codes)} codes would be on one side; list them and use"
                    " random_hold_out"
                )

    def counterpart(self) -> "HashedCodes":
        """The other part of the same split: held-out codes of trained ones, and the reverse."""
        return eqx.tree_at(lambda part: part.held_out, self, ~self.held_out)

    def is_held_out(self, codes: Bool[ArrayLike, "*codes layers modules"]) -> Bool[Array, "*codes"]:
        """Whether codes are held out."""
        powers = jnp.left_shift(jnp.uint32(1), jnp.arange(self.num_modules, dtype=jnp.uint32))
        words = jnp.sum(jnp.asarray(codes) * powers, axis=-1, dtype=jnp.uint32)
        hashed = jnp.broadcast_to(self.salt, words.shape[:-1])
        for layer in range(self.layers):
            hashed = _scramble(hashed ^ words[..., layer])
        # 24 bits are what a 32-bit float holds exactly.
        return (hashed >> 8) < self.fraction * 2**24

    def draw(self, size: int, *, key: PRNGKeyArray) -> Bool[Array, "size layers modules"]:
        def missing(carry):
            _, accepted, _ = carry
            return ~accepted.all()

        def redraw(carry):
            codes, accepted, key = carry
            key, now = jax.random.split(key)
            fresh = self._candidates(size, key=now)
            codes = jnp.where(accepted[:, None, None], codes, fresh)
            return codes, accepted | (self.is_held_out(fresh) == self.held_out), key

        none = jnp.zeros((size, self.layers, self.num_modules), bool)
        codes, _, _ = jax.lax.while_loop(missing, redraw, (none, jnp.zeros(size, bool), key))
        return codes

    def _candidates(self, size: int, *, key: PRNGKeyArray) -> Bool[Array, "size layers modules"]:
        """Uniform over all codes: the number of modules by its share of masks, then which."""
        key_ones, key_order = jax.random.split(key)
        shares = np.array([comb(self.num_modules, k) for k in range(1, self.K + 1)], float)
        ones: Int[Array, "size layers"] = 1 + jax.random.categorical(
            key_ones, jnp.log(shares), shape=(size, self.layers)
        )
        order = jax.random.uniform(key_order, (size, self.layers, self.num_modules)).argsort(-1)
        return order < ones[..., None]


def _scramble(word: UInt32[Array, "*codes"]) -> UInt32[Array, "*codes"]:
    """A bijection of 32-bit words in which every bit depends on every bit (MurmurHash3's last)."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x85EBCA6B)
    word = (word ^ (word >> 13)) * jnp.uint32(0xC2B2AE35)
    return word ^ (word >> 16)
