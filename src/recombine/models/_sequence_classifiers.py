"""The encoders of the paper's tables, each as its own choice of parts."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_counts
from ._attention import AbstractScores, MultiHeadAttention, SoftmaxScores
from ._encoder_layer import AbstractEncoderLayer, CopyGateLayer, PostNormLayer
from ._geometric_attention import GeometricScores
from ._hypernetwork import LayerNorm
from ._mlp import Dense
from ._relative_attention import RelativeScores
from ._sequence_classifier import SequenceClassifier


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes and rates of an encoder. The defaults are those of NDR on table lookup, Table D.3."""

    size: int = 256
    """Of a column, d_model."""
    hidden: int = 512
    """Units between the two layers of the feed-forward network, d_FF."""
    heads: int = 1
    steps: int = 14
    """How many times a layer is applied."""
    test_steps: int | None = None
    """The same in evaluation, if different."""
    separate: bool = False
    """Whether every step has a layer of its own."""
    dropout: float = 0.5
    embedding_dropout: float = 0.1
    """Of embeddings with absolute positions; there is none without."""
    attention_dropout: float = 0.1
    """Of weights in plain attention, of keys in all others."""
    gate_dropout: float = 0.1
    """How often a column is copied in training whatever its gates say."""
    match_bias: float = 0.0
    """Where the bias of matches starts in geometric attention, γ of `GeometricScores`."""
    reads_last: bool = True
    """Read classes from the last column, or from the first."""

    def __post_init__(self):
        check_counts(self, "size", "hidden", "heads")
        if self.size % self.heads:
            raise ValueError(f"a size of {self.size} cannot be cut into {self.heads} heads")


def transformer(
    words: int, classes: int, config: EncoderConfig, *, key: PRNGKeyArray
) -> SequenceClassifier:
    """Softmax attention between columns with absolute positions, layers with residuals.

    **Arguments:** of all constructors here

    - `words`: how many tokens there are, without padding.
    - `classes`: of the output.
    """

    def layer(key):
        of_attention, rest = jax.random.split(key)
        scores = SoftmaxScores(config.attention_dropout)
        return _post_norm(_attention(config, scores, key=of_attention), config, key=rest)

    return _classifier(words, classes, config, layer, 1.0, absolute=True, key=key)


def relative_transformer(
    words: int, classes: int, config: EncoderConfig, *, key: PRNGKeyArray
) -> SequenceClassifier:
    """ "+ rel": relative positions in the attention, layers with residuals.

    With sizes 128 and 256, 4 heads, 8 steps and the first column read, the transformer of CTL++.
    """

    def layer(key):
        attention, rest = _relative(config, gated=False, key=key)
        return _post_norm(attention, config, key=rest)

    return _classifier(words, classes, config, layer, _kaiming(config), key=key)


def geometric_transformer(
    words: int, classes: int, config: EncoderConfig, *, key: PRNGKeyArray
) -> SequenceClassifier:
    """ "+ geom.": geometric attention whose rows are normalised, layers with residuals."""

    def layer(key):
        attention, rest = _geometric(config, normalised=True, key=key)
        return _post_norm(attention, config, key=rest)

    return _classifier(words, classes, config, layer, _kaiming(config), key=key)


def gated_relative_transformer(
    words: int, classes: int, config: EncoderConfig, *, key: PRNGKeyArray
) -> SequenceClassifier:
    """ "+ rel + gate": relative positions and copy gates, with tanh instead of a norm."""

    def layer(key):
        attention, rest = _relative(config, gated=False, key=key)
        return _copy_gate(attention, config, norm=False, key=rest)

    return _classifier(words, classes, config, layer, 1.0, key=key)


def gated_position_transformer(
    words: int, classes: int, config: EncoderConfig, *, key: PRNGKeyArray
) -> SequenceClassifier:
    """ "+ abs/rel + gate": a mixture of absolute and relative positions, and copy gates."""

    def layer(key):
        attention, rest = _relative(config, gated=True, key=key)
        return _copy_gate(attention, config, norm=False, key=rest)

    return _classifier(words, classes, config, layer, 1.0, key=key)


def neural_data_router(
    words: int, classes: int, config: EncoderConfig, *, key: PRNGKeyArray
) -> SequenceClassifier:
    """NDR: geometric attention and copy gates."""

    def layer(key):
        attention, rest = _geometric(config, normalised=False, key=key)
        return _copy_gate(attention, config, norm=True, data_gain=5 / 3, key=rest)

    return _classifier(words, classes, config, layer, 1.0, key=key)


def residual_data_router(
    words: int, classes: int, config: EncoderConfig, *, key: PRNGKeyArray
) -> SequenceClassifier:
    """The NDR of CTL++: GELU, a residual around the data's network (Eqs. E.1 and E.2).

    Hidden units are not dropped, and keys and values have biases as queries do.
    """

    def layer(key):
        attention, rest = _geometric(config, normalised=False, biases=True, key=key)
        return _copy_gate(attention, config, norm=True, residual=True, key=rest)

    return _classifier(words, classes, config, layer, 1.0, key=key)


SEQUENCE_CLASSIFIERS: dict[str, Callable[..., SequenceClassifier]] = {
    "Transformer": transformer,
    "+ rel": relative_transformer,
    "+ geom.": geometric_transformer,
    "+ rel + gate": gated_relative_transformer,
    "+ abs/rel + gate": gated_position_transformer,
    "NDR": neural_data_router,
    "NDR of CTL++": residual_data_router,
}
"""Constructors of encoders, by their names in the paper's tables."""


def _classifier(
    words: int,
    classes: int,
    config: EncoderConfig,
    make_layer: Callable[[PRNGKeyArray], AbstractEncoderLayer],
    deviation: float,
    *,
    absolute: bool = False,
    key: PRNGKeyArray,
) -> SequenceClassifier:
    of_embedding, of_layers, of_readout = jax.random.split(key, 3)
    if config.separate:
        layers = eqx.filter_vmap(make_layer)(jax.random.split(of_layers, config.steps))
    else:
        layers = make_layer(of_layers)
    return SequenceClassifier(
        deviation * jax.random.normal(of_embedding, (words, config.size)),
        layers,
        Dense.uniform(config.size, classes, key=of_readout),
        steps=config.steps,
        test_steps=config.test_steps,
        separate=config.separate,
        absolute=absolute,
        embedding_rate=config.embedding_dropout if absolute else 0.0,
        reads_last=config.reads_last,
    )


def _kaiming(config: EncoderConfig) -> float:
    return math.sqrt(2 / config.size)


def _uniform(
    shape: tuple[int, int], fans: int, *, gain: float = 1.0, key: PRNGKeyArray
) -> Float[Array, "inputs outputs"]:
    """Xavier's uniform numbers, for the sum of what a unit reads and what reads it."""
    return gain * math.sqrt(6 / fans) * jax.random.uniform(key, shape, float, -1.0)


def _attention(
    config: EncoderConfig, scores: AbstractScores, *, key: PRNGKeyArray
) -> MultiHeadAttention:
    d = config.size
    of_query, of_key_value, of_output = jax.random.split(key, 3)
    return MultiHeadAttention(
        Dense(_uniform((d, d), 2 * d, key=of_query), None, False),
        Dense(_uniform((d, 2 * d), 3 * d, key=of_key_value), None, False),
        Dense.uniform(d, d, biases=False, key=of_output),
        scores,
        config.heads,
    )


def _relative(
    config: EncoderConfig, *, gated: bool, key: PRNGKeyArray
) -> tuple[MultiHeadAttention, PRNGKeyArray]:
    """The attention, and a key for the rest of the layer."""
    of_scores, of_attention, rest = jax.random.split(key, 3)
    rate = config.attention_dropout
    scores = RelativeScores(config.size, config.heads, gated=gated, dropout=rate, key=of_scores)
    return _attention(config, scores, key=of_attention), rest


def _geometric(
    config: EncoderConfig, *, normalised: bool, biases: bool = False, key: PRNGKeyArray
) -> tuple[MultiHeadAttention, PRNGKeyArray]:
    """The attention, and a key for the rest of the layer."""
    d, fans = config.size, config.size + config.size // config.heads
    of_scores, of_query, of_key_value, of_output, rest = jax.random.split(key, 5)
    rate = config.attention_dropout
    attention = MultiHeadAttention(
        Dense(_uniform((d, d), fans, key=of_query), jnp.zeros(d), False),
        Dense(
            _uniform((d, 2 * d), fans, key=of_key_value),
            jnp.zeros(2 * d) if biases else None,
            False,
        ),
        Dense(_uniform((d, d), fans, key=of_output), None, False),
        GeometricScores(
            d,
            config.heads,
            normalised=normalised,
            dropout=rate,
            bias=config.match_bias,
            key=of_scores,
        ),
        config.heads,
    )
    return attention, rest


def _norm(size: int) -> LayerNorm:
    return LayerNorm(jnp.ones(size), jnp.zeros(size))


def _post_norm(
    attention: MultiHeadAttention, config: EncoderConfig, *, key: PRNGKeyArray
) -> PostNormLayer:
    d, width = config.size, config.hidden
    of_inner, of_outer = jax.random.split(key)
    deviation = math.sqrt(2) * math.sqrt(2 / (d + width))
    return PostNormLayer(
        attention,
        (_norm(d), _norm(d)),
        Dense(deviation * jax.random.normal(of_inner, (d, width)), jnp.zeros(width), False),
        Dense(_uniform((width, d), d + width, key=of_outer), jnp.zeros(d), False),
        config.dropout,
    )


def _gelu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """x Φ(x) itself, as in the published code; JAX approximates it unless told otherwise."""
    return jax.nn.gelu(x, approximate=False)


def _copy_gate(
    attention: MultiHeadAttention,
    config: EncoderConfig,
    *,
    norm: bool,
    residual: bool = False,
    data_gain: float = 1.0,
    key: PRNGKeyArray,
) -> CopyGateLayer:
    d, width = config.size, config.hidden
    keys = jax.random.split(key, 4)
    inner = [
        _uniform((d, width), d + width, gain=math.sqrt(2), key=keys[0]),
        _uniform((d, d), 2 * d, gain=math.sqrt(2), key=keys[1]),
    ]
    data = _uniform((width, d), d + width, gain=data_gain, key=keys[2])
    return CopyGateLayer(
        attention,
        _norm(d),
        Dense(jnp.concatenate(inner, axis=1), jnp.zeros(width + d), False),
        Dense(data, jnp.zeros(d), False),
        Dense(_uniform((d, d), 2 * d, key=keys[3]), jnp.full(d, -3.0), False),
        _norm(d) if norm else None,
        _gelu if residual else jax.nn.relu,
        residual,
        config.dropout,
        0.0 if residual else config.dropout,
        config.gate_dropout,
    )
