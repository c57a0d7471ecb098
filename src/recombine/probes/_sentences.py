"""How well sequences are predicted: whole sentences, and their words."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def _right(
    predictions: Int[Array, "size steps"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> tuple[Bool[Array, "size steps"], Bool[Array, "size steps"]]:
    """Which symbols are predicted rightly, and which count: those within the lengths."""
    return predictions == outputs, jnp.arange(outputs.shape[1]) < lengths[:, None]


def sentence_matches(
    predictions: Int[Array, "size steps"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> Bool[Array, " size"]:
    """Which sentences are right in all their symbols, the end symbol among them.

    A sentence whose symbols are each the most probable after the true ones before is also the one
    that is written by choosing the most probable after those chosen before, by induction over the
    steps: predictions under teacher forcing and greedy ones have the same matches.
    """
    right, counts = _right(predictions, outputs, lengths)
    return (right | ~counts).all(axis=1)


def word_accuracy(
    predictions: Int[Array, "size steps"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> Float[Array, ""]:
    """The fraction of all symbols, end symbols among them, that are right.

    Unlike whole sentences, symbols depend on whether those before them are true or predicted.
    """
    right, counts = _right(predictions, outputs, lengths)
    return (right & counts).sum() / counts.sum()
