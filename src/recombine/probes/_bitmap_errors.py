"""How well a network writes what it was to remember."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..learning._bit_losses import binary_cross_entropy, bitmap_logits
from ..tasks._bitmaps import READ, REVERSE, BitmapBatch
from ..tasks._stories import StoryBatch


class BitmapErrors(NamedTuple):
    """Errors of a network on bitmaps; bits count at the rows at which an answer is due."""

    loss: Float[Array, ""]
    """The cross-entropy of all bits per sequence."""
    bits: Float[Array, ""]
    """The share of wrong bits."""
    whole: Float[Array, ""]
    """The share of sequences without a wrong bit."""
    by_part: Float[Array, " parts"]
    """The share of wrong bits in the answers of every part, such as a repeat; NaN without any."""
    guessed: Float[Array, ""]
    """The loss of a network that guesses the bits of answers and writes nothing else: ln 2 per
    bit."""


def bitmap_errors(
    model: Callable[..., Any], batch: BitmapBatch, *, parts: int | None = None
) -> BitmapErrors:
    """What a network gets wrong.

    **Arguments:**

    - `parts`: how many parts there are at most; by default as many as rows.
    """
    logits = bitmap_logits(model, batch)
    wrong = (logits > 0) != (batch.targets > 0.5)
    due = (batch.phases == READ) | (batch.phases == REVERSE)
    misses = jnp.where(due, wrong.sum(axis=2), 0)
    width = batch.targets.shape[2]
    parts = batch.phases.shape[1] if parts is None else parts
    own = due[:, :, None] & (batch.parts[:, :, None] == jnp.arange(parts))
    counts = own.sum(axis=(0, 1)) * width
    found = (own * misses[:, :, None]).sum(axis=(0, 1))
    by_part = jnp.where(counts > 0, found / jnp.maximum(counts, 1), jnp.nan)
    return BitmapErrors(
        binary_cross_entropy(logits, batch),
        misses.sum() / jnp.maximum(due.sum() * width, 1),
        (misses.sum(axis=1) == 0).mean(),
        by_part,
        due.sum() * width * jnp.log(2) / len(logits),
    )


class StoryErrors(NamedTuple):
    """Errors of a network on stories, by task."""

    tasks: Int[np.ndarray, " tasks"]
    error: Float[np.ndarray, " tasks"]
    """1 − right answer tokens / answer tokens."""

    @property
    def mean(self) -> float:
        """The mean over tasks, each of which counts as much as the others."""
        return float(self.error.mean())

    def solved(self, bound: float = 0.05) -> int:
        """How many tasks have an error of `bound` at most."""
        return int((self.error <= bound).sum())


def story_errors(
    model: Callable[..., Any], batch: StoryBatch, *, batch_size: int = 50
) -> StoryErrors:
    """The share of wrong answer tokens of every task.

    **Arguments:**

    - `batch_size`: stories to work on at a time, to save memory.
    """
    told = jax.jit(lambda tokens, lengths: model(tokens, lengths).argmax(axis=2))
    answers, tasks = np.asarray(batch.answers), np.asarray(batch.tasks)
    right = np.zeros(answers.shape, bool)
    size = min(batch_size, len(tasks))
    for start in range(0, len(tasks), size):
        # The last ones are looked at twice rather than compiled for anew.
        chosen = slice(min(start, len(tasks) - size), min(start, len(tasks) - size) + size)
        said = told(jnp.asarray(batch.tokens[chosen]), jnp.asarray(batch.lengths[chosen]))
        right[chosen] = np.asarray(said) == answers[chosen]
    due, found = answers > 0, np.unique(tasks)
    error = [1 - right[tasks == task][due[tasks == task]].mean() for task in found]
    return StoryErrors(found, np.array(error))
