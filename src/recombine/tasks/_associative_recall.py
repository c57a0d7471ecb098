"""Associative recall: which block of words came after this one?"""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._checks import check_counts
from ._bitmaps import END, MARK, READ, WRITE, BitmapBatch, check_range
from ._task import AbstractTask


class AssociativeRecall(AbstractTask):
    """Blocks of words; one of them is shown again, and the next one is to be written.

    Rows have the bits of a word and two markers: the first follows every block but the last, the
    second stands after the last block and after the query, and then the answer is due (Section
    2.4). With two blocks of one word of two bits:

    ```
    inputs  1 0 00 | 0 0 10 | 1 1 00 | 0 0 01 | 1 0 00 | 0 0 01 | 0 0 00
    targets 0 0 00 | 0 0 00 | 0 0 00 | 0 0 00 | 0 0 00 | 0 0 00 | 1 1 00
    ```
    """

    bits: int = 8
    """Bits of a word, W; inputs and outputs have two more, the markers."""
    words: int = 3
    """Words of a block, W_b."""
    blocks: tuple[int, int] = (2, 16)
    """The fewest and the most blocks of a sequence; drawn for every batch."""

    def __check_init__(self):
        check_counts(self, "bits", "words")
        check_range(self, "blocks", 2)

    @property
    def inputs(self) -> int:
        return self.bits + 2

    @property
    def outputs(self) -> int:
        return self.bits + 2

    @property
    def longest(self) -> int:
        """Rows of the longest sequence."""
        return self.blocks[1] * (self.words + 1) + 2 * self.words + 1

    def sample(self, size: int, *, key: PRNGKeyArray) -> BitmapBatch:
        """Sequences of as many blocks, with words and queries of their own."""
        of_blocks, of_bits, of_query = jax.random.split(key, 3)
        blocks = jax.random.randint(of_blocks, (), self.blocks[0], self.blocks[1] + 1)
        shape = size, self.blocks[1], self.words, self.bits
        bits = jax.random.bernoulli(of_bits, 0.5, shape) * 1.0
        query = jax.random.randint(of_query, (size,), 0, blocks - 1)

        per, time = self.words + 1, jnp.arange(self.longest)
        asked = time - blocks * per  # rows since the end of the last block
        place = jnp.where(asked < 0, time % per, asked % per)
        first = (time < blocks * per - 1) & (place == self.words)
        second = (time == blocks * per - 1) | (asked == self.words)
        queries, answers = (asked >= 0) & (asked < self.words), asked > self.words
        lives = asked < 2 * self.words + 1
        writes = (asked < 0) & (place < self.words)
        answers &= lives

        block = jnp.where(queries, query[:, None], jnp.minimum(time // per, blocks - 1))
        block = jnp.where(answers, query[:, None] + 1, block)
        rows = bits[jnp.arange(size)[:, None], block, jnp.minimum(place, self.words - 1)]
        data = rows * (writes | queries)[:, None]
        markers = jnp.broadcast_to(
            jnp.stack([first, second], axis=1) * 1.0, (size, self.longest, 2)
        )
        target = jnp.pad(rows * answers[:, None], ((0, 0), (0, 0), (0, 2)))
        phases = jnp.select([answers, ~lives, writes | queries], [READ, END, WRITE], MARK)
        parts = jnp.where(phases == MARK, -1, block)
        return BitmapBatch(
            jnp.concatenate([data, markers], axis=2),
            target,
            jnp.full(size, blocks * per + 2 * self.words + 1),
            jnp.broadcast_to(phases, parts.shape),
            parts,
        )
