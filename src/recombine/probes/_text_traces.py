"""What the layers of a language model do on a text."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..learning._language import Segments


def text_traces(
    model: Any, segments: Segments, places: int, *, count: int | None = None
) -> dict[str, Array]:
    """Extras of every layer for the tokens of a text, in evaluation.

    An extra is `[layers, tokens, ...]`; those that are single numbers per segment are left out, and
    so is attention. `tokens` are the tokens themselves.

    **Arguments:**

    - `places`: how many tokens the memory holds.
    - `count`: how many segments of every stream are read; by default all.
    """
    return _read(model, segments, places, segments.count if count is None else count)


@eqx.filter_jit
def _read(model, segments, places: int, count: int):
    def step(memory, t):
        batch = segments(t)
        _, memory, extras = model(batch.tokens, memory, every=True)
        kept = {k: v for k, v in extras.items() if v.ndim > 2 and k != "attention"}
        return memory, (kept, batch.tokens)

    start = model.memory(len(segments.streams), places)
    _, (extras, tokens) = jax.lax.scan(step, start, jnp.arange(count))

    def by_token(extra):  # [segments, layers, batch, length, ...]
        ordered = jnp.moveaxis(extra, 1, 0)
        return ordered.reshape(len(ordered), tokens.size, *extra.shape[4:])

    return {name: by_token(extra) for name, extra in extras.items()} | {
        "tokens": tokens.reshape(-1)
    }


class ActiveChannels(NamedTuple):
    """How many hidden units are positive, over tokens."""

    mean: Float[Array, " layers"]
    deviation: Float[Array, " layers"]


def active_channels(active: Any) -> ActiveChannels:
    """Mean and standard deviation over tokens of the number of positive hidden units, by layer.

    `active` is `[layers, tokens]`, as `text_traces` gives it (Figs. 7.1, F.1 and F.2).
    """
    counts = jnp.asarray(active, float)
    return ActiveChannels(counts.mean(axis=1), counts.std(axis=1))
