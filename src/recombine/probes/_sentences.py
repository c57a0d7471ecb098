"""How well sequences are predicted: whole sentences, and their words."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def _right(
    predictions: Int[Array, "size steps"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> tuple[Bool[Array, "size steps"], Bool[Array, "size steps"]]:
    """Which symbols are predicted correctly, and which count: those within the lengths."""
    return predictions == outputs, jnp.arange(outputs.shape[1]) < lengths[:, None]


def sentence_matches(
    predictions: Int[Array, "size steps"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> Bool[Array, " size"]:
    """Which sentences are predicted correctly in all symbols, including the end symbol.

    Predictions under teacher forcing and greedy ones have the same matches: if each symbol is the
    most probable one after the true prefix, greedy decoding writes this prefix, step by step.
    """
    right, counts = _right(predictions, outputs, lengths)
    return (right | ~counts).all(axis=1)


def word_accuracy(
    predictions: Int[Array, "size steps"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> Float[Array, ""]:
    """The fraction of all symbols, including end symbols, that are predicted correctly.

    Unlike whole sentences, symbols depend on whether those before them are true or predicted.
    """
    right, counts = _right(predictions, outputs, lengths)
    return (right & counts).sum() / counts.sum()
