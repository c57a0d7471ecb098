"""Copy: rows of bits, to be repeated once they have all been seen."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._checks import check_counts
from ._bitmaps import END, MARK, READ, WRITE, BitmapBatch, check_range
from ._task import AbstractTask


class Copy(AbstractTask):
    """Blocks of rows, each to be repeated before the next one begins (Section 2.4).

    A block of L rows of W bits, a row that has the marker alone, then L + 1 rows without anything,
    during which the rows and the marker are to be written again. With more than one repeat, blocks
    follow each other, and the memory must be used again. With W = 2 and L = 2:

    ```
    inputs  1 0 0 | 1 1 0 | 0 0 1 | 0 0 0 | 0 0 0 | 0 0 0
    targets 0 0 0 | 0 0 0 | 0 0 0 | 1 0 0 | 1 1 0 | 0 0 1
    ```
    """

    bits: int = 8
    """Bits of a row, W; inputs and outputs have one more, the marker."""
    rows: tuple[int, int] = (2, 14)
    """The fewest and the most rows of a block, L; drawn for every block."""
    repeats: tuple[int, int] = (1, 8)
    """The fewest and the most blocks of a sequence; drawn for every batch."""

    def __check_init__(self):
        check_counts(self, "bits")
        check_range(self, "rows", 1)
        check_range(self, "repeats", 1)

    @property
    def inputs(self) -> int:
        return self.bits + 1

    @property
    def outputs(self) -> int:
        return self.bits + 1

    @property
    def longest(self) -> int:
        """Rows of the longest sequence."""
        return 2 * (self.rows[1] + 1) * self.repeats[1]

    def sample(self, size: int, *, key: PRNGKeyArray) -> BitmapBatch:
        """Sequences of the same blocks, with bits of their own."""
        of_repeats, of_rows, of_bits = jax.random.split(key, 3)
        repeats = jax.random.randint(of_repeats, (), self.repeats[0], self.repeats[1] + 1)
        rows = jax.random.randint(of_rows, (self.repeats[1],), self.rows[0], self.rows[1] + 1)
        ends = jnp.cumsum(2 * (rows + 1))
        time = jnp.arange(self.longest)
        block = jnp.minimum(jnp.searchsorted(ends, time, side="right"), self.repeats[1] - 1)
        rows, start = rows[block], (ends - 2 * (rows + 1))[block]
        place, lives = time - start, time < ends[repeats - 1]
        writes, marks, reads = place < rows, place == rows, place > rows

        bits = jax.random.bernoulli(of_bits, 0.5, (size, self.longest, self.bits))
        data = bits * (writes & lives)[:, None] * 1.0
        marker = jnp.broadcast_to((marks & lives)[:, None] * 1.0, (size, self.longest, 1))
        inputs = jnp.concatenate([data, marker], axis=2)
        earlier = jnp.clip(time - rows - 1, 0)
        targets = inputs[:, earlier] * (reads & lives)[:, None]
        phases = jnp.where(lives, jnp.select([writes, marks], [WRITE, MARK], READ), END)
        both = jnp.broadcast_to(jnp.stack([phases, block])[:, None], (2, size, self.longest))
        return BitmapBatch(inputs, targets, jnp.full(size, ends[repeats - 1]), *both)
