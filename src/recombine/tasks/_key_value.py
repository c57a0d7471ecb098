"""Key-value retrieval: the other half of a word, whichever half is known."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._checks import check_counts
from ._bitmaps import END, MARK, READ, REVERSE, WRITE, BitmapBatch, check_range
from ._task import AbstractTask


class KeyValue(AbstractTask):
    """Words of two halves; then the first halves are shown, and in the other phase the second ones.

    The half that goes with the one that is shown is due at the same row. Both halves are shown in
    the same channels, so that only the markers tell which one it is: one marker stands after the
    words, the other one after the first phase, and both at the end (Section 2.4). With two words
    of halves of one bit, 01 and 10:

    ```
    inputs  01 00 | 10 00 | 00 10 | 10 00 | 00 00 | 00 01 | 00 00 | 10 00 | 00 11
    targets 0     | 0     | 0     | 0     | 1     | 0     | 1     | 0     | 0
    ```
    """

    bits: int = 8
    """Bits of half a word, W; inputs have both halves and the markers, outputs are half a word."""
    words: tuple[int, int] = (2, 16)
    """The fewest and the most words of a sequence, L; drawn for every batch."""
    two_way: bool = True
    """Whether there is a phase in which second halves are shown. Without it there is one marker,
    after the words and at the end."""
    distinct_values: bool = False
    """Whether second halves differ, as first ones do. If not, as published, some questions of the
    last phase have more than one right answer."""

    def __check_init__(self):
        check_counts(self, "bits")
        check_range(self, "words", 1)
        if self.words[1] > 2**self.bits:
            raise ValueError(
                f"{self.words[1]} words with different halves need more than {self.bits} bits; "
                f"use {2**self.bits} words at most"
            )
        if self.bits > 16:
            raise ValueError(f"bits={self.bits} of half a word are more than 16")

    @property
    def inputs(self) -> int:
        return 2 * self.bits + 1 + self.two_way

    @property
    def outputs(self) -> int:
        return self.bits

    @property
    def longest(self) -> int:
        """Rows of the longest sequence."""
        return (2 + self.two_way) * (self.words[1] + 1)

    def sample(self, size: int, *, key: PRNGKeyArray) -> BitmapBatch:
        """Sequences of as many words, with halves and orders of their own."""
        of_words, of_keys, of_values, of_orders = jax.random.split(key, 4)
        words = jax.random.randint(of_words, (), self.words[0], self.words[1] + 1)
        most, codes = self.words[1], 2**self.bits
        distinct = jax.vmap(lambda k: jax.random.permutation(k, codes)[:most])
        keys = distinct(jax.random.split(of_keys, size))
        if self.distinct_values:
            values = distinct(jax.random.split(of_values, size))
        else:
            values = jax.random.randint(of_values, (size, most), 0, codes)
        halves = self._bits(jnp.stack([keys, values]))  # (2, size, words, bits)
        # The words that there are come first, in any order.
        ranks = jax.random.uniform(of_orders, (2, size, most))
        orders = jnp.argsort(jnp.where(jnp.arange(most) < words, ranks, 2.0), axis=2)

        time = jnp.arange(self.longest)
        phase, place = jnp.divmod(time, words + 1)
        lives = phase < 2 + self.two_way
        marks = (place == words) & lives
        shown = lives & ~marks
        spot = jnp.minimum(place, most - 1)
        chosen = jnp.stack([jnp.broadcast_to(spot, (size, len(time))), *orders[:, :, spot]])
        word = chosen[jnp.minimum(phase, 2), :, jnp.arange(len(time))].T
        first, second = halves[:, jnp.arange(size)[:, None], word]
        within = lambda which: (shown & (phase == which))[:, None]  # noqa: E731
        left = first * (within(0) | within(1)) + second * within(2)
        right = second * within(0)
        if self.two_way:
            markers = jnp.stack([marks & (phase != 1), marks & (phase != 0)], axis=1)
        else:
            markers = marks[:, None]
        markers = jnp.broadcast_to(markers * 1.0, (size, *markers.shape))
        phases = jnp.select(
            [~lives, marks, phase == 0, phase == 1], [END, MARK, WRITE, READ], REVERSE
        )
        return BitmapBatch(
            jnp.concatenate([left, right, markers], axis=2),
            second * within(1) + first * within(2),
            jnp.full(size, (2 + self.two_way) * (words + 1)),
            jnp.broadcast_to(phases, word.shape),
            jnp.where(shown, word, -1),
        )

    def _bits(self, codes):
        return (codes[..., None] >> jnp.arange(self.bits)) % 2 * 1.0
