"""Losses of networks that write bits or tokens at every step."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..tasks._bitmaps import BitmapBatch
from ..tasks._stories import StoryBatch

Model = Callable[..., Any]


def bitmap_logits(
    model: Model, batch: BitmapBatch, *, key: PRNGKeyArray | None = None
) -> Float[Array, "size time outputs"]:
    """What a network writes, given bits as ±1."""
    return model(2 * batch.inputs - 1, batch.lengths, key=key)


def binary_cross_entropy(
    logits: Float[Array, "size time outputs"], batch: BitmapBatch
) -> Float[Array, ""]:
    """The cross-entropy of all bits of all rows, divided by the number of sequences.

    Rows at which nothing is to be written count, too: their bits are 0.
    """
    each = jax.nn.softplus(logits) - batch.targets * logits
    lives = jnp.arange(logits.shape[1]) < batch.lengths[:, None]
    return jnp.where(lives[:, :, None], each, 0).sum() / len(logits)


def bitmap_loss(model: Model, batch: BitmapBatch, key: PRNGKeyArray) -> Float[Array, ""]:
    """`binary_cross_entropy` of what a network writes."""
    return binary_cross_entropy(bitmap_logits(model, batch, key=key), batch)


def story_loss(model: Model, batch: StoryBatch, key: PRNGKeyArray) -> Float[Array, ""]:
    """The cross-entropy of all answer tokens, divided by the number of stories."""
    logits = model(batch.tokens, batch.lengths, key=key)
    asked = batch.answers > 0
    log = jax.nn.log_softmax(logits)
    found = jnp.take_along_axis(log, batch.answers[:, :, None], axis=2)[:, :, 0]
    return -jnp.where(asked, found, 0).sum() / len(logits)
