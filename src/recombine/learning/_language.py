"""Learning to predict the next token: segments of streams, a memory that is carried, measures."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer

from .._checks import check_counts
from ._label_losses import softmax_cross_entropy
from ._objectives import AbstractCarryingObjective
from ._optimizer import Number


class Segment(NamedTuple):
    """A segment of every stream."""

    tokens: Int[Array, "streams length"]
    targets: Int[Array, "streams length"]
    """The token after every token."""
    first: Bool[Array, ""]
    """Whether nothing comes before the segment."""


class Segments(eqx.Module):
    """A text as contiguous streams, one segment of each per step, in order and again and again.

    The text is cut into equally long streams; what is left at its end is not used.

    **Arguments:**

    - `text`: token after token, whole numbers from 0.
    - `streams`: how many there are; the batch size.
    - `length`: tokens per segment.
    """

    streams: Integer[Array, "streams tokens"]
    length: int = eqx.field(static=True)

    def __init__(self, text: Any, streams: int, length: int):
        self.length = length
        check = min(streams, length)
        if check < 1:
            raise ValueError(f"streams={streams} and length={length} must be at least 1")
        text = np.asarray(text)
        each = len(text) // streams
        if each <= length:
            raise ValueError(
                f"a stream of {each} tokens is shorter than a segment of {length} and the token "
                f"after it: the text has {len(text)} tokens; use fewer streams than {streams} or "
                "shorter segments"
            )
        self.streams = jnp.asarray(text[: each * streams].reshape(streams, each))

    @property
    def count(self) -> int:
        """Segments per pass through the text."""
        return (self.streams.shape[1] - 1) // self.length

    def __call__(self, t: Int[Array, ""], key: Any = None) -> Segment:
        """The segment of step t."""
        place = t % self.count
        own = jax.lax.dynamic_slice_in_dim(
            self.streams, place * self.length, self.length + 1, axis=1
        ).astype(jnp.int32)
        return Segment(own[:, :-1], own[:, 1:], place == 0)


class LanguageLoss(AbstractCarryingObjective):
    """The cross-entropy of next tokens in nats, plus the price of unbalanced experts.

    The memory of the network is carried from batch to batch, and empty where a text begins. What
    is recorded is the cross-entropy, `nats`, and the `balance`, summed over layers.
    """

    streams: int
    """The streams of a batch."""
    places: int
    """How many tokens the memory holds."""
    balance: Number = 0.0
    """The weight of the term that balances experts, γ."""

    def initial(self, model: Any) -> Any:
        """The empty memory."""
        return model.memory(self.streams, self.places)

    def __call__(self, model, batch, key, carry):
        """The loss, what is recorded, and the memory after the batch."""
        memory = carry._replace(filled=jnp.where(batch.first, 0, carry.filled))
        logits, memory, extras = model(batch.tokens, memory, key=key)
        nats = softmax_cross_entropy(logits, batch.targets)
        balance = extras["balance"].sum() if "balance" in extras else jnp.zeros(())
        recorded = {"nats": nats, "balance": balance}
        return nats + self.balance * balance, recorded, memory


def check_vocabulary(model: Any, text: Any) -> None:
    """Refuse a text with tokens that a network does not know."""
    largest = int(np.max(np.asarray(text), initial=0))
    if largest >= model.vocabulary:
        raise ValueError(
            f"the text has token {largest}, and the network a vocabulary of {model.vocabulary}: "
            "build it for the text's, or encode the text with the vocabulary of its training"
        )


def text_loss(model: Any, segments: Segments, places: int) -> Float[Array, ""]:
    """The mean cross-entropy of next tokens over a text, in nats, from an empty memory on.

    **Arguments:**

    - `places`: how many tokens the memory holds; in tests it may be more than in training.
    """

    def read(memory, t):
        batch = segments(t)
        logits, memory, _ = model(batch.tokens, memory)
        return memory, softmax_cross_entropy(logits, batch.targets)

    start = model.memory(len(segments.streams), places)
    return jax.lax.scan(read, start, jnp.arange(segments.count))[1].mean()


class TextLoss(eqx.Module):
    """The `text_loss` on named texts, as `<name>_nats`, and the loss of the first as `loss`."""

    texts: Mapping[str, Segments]
    places: int

    def __check_init__(self):
        check_counts(self, "places")

    def __call__(self, model: Any, carry: Any = None) -> dict[str, Array]:
        """What is measured of `model`."""
        found = {
            f"{name}_nats": text_loss(model, segments, self.places)
            for name, segments in self.texts.items()
        }
        return {"loss": next(iter(found.values()))} | found


def bits_per_token(nats: Any) -> Any:
    """Nats as bits: of bytes, bits per character."""
    return nats / np.log(2)


def perplexity(nats: Any) -> Any:
    """The perplexity per token."""
    return np.exp(nats)
