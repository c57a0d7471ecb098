"""Classifiers made of modules that gates select: encoders, hidden modules, decoders."""

from collections.abc import Callable
from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._initializers import xavier_uniform

Placement = Literal["within", "between"]


class Layer(eqx.Module):
    """A linear layer with bias, or a stack of M such layers, one per domain."""

    weight: Float[Array, "*stack outputs inputs"]
    bias: Float[Array, "*stack outputs"]

    def __call__(
        self, h: Float[Array, "batch domains inputs"]
    ) -> Float[Array, "batch domains outputs"]:
        """A single layer on all domains; a stack on each domain with that domain's layer."""
        if self.weight.ndim == 3:
            return jnp.einsum("bmi,moi->bmo", h, self.weight) + self.bias
        batch, domains, inputs = h.shape
        # One product of two matrices is faster on a CPU than a product with three axes.
        flat = h.reshape(batch * domains, inputs) @ self.weight.T + self.bias
        return flat.reshape(batch, domains, -1)


class AbstractRouteClassifier(eqx.Module):
    """A classifier with M input and M output domains, evaluated on all M x M routes at once.

    Route (i, j) is decoder j after the hidden module after encoder i: psi_j(theta(phi_i(x)))
    (Section 5 of the paper). A module is one linear layer with bias, or several.
    """

    encoders: eqx.AbstractVar[tuple[Layer, ...]]
    hidden: eqx.AbstractVar[tuple[Layer, ...]]
    decoders: eqx.AbstractVar[tuple[Layer, ...]]
    activation: eqx.AbstractVar[Callable[[Array], Array]]
    placement: eqx.AbstractVar[Placement]

    def encode(
        self, inputs: Float[Array, "batch domains inputs"]
    ) -> Float[Array, "batch domains width"]:
        """The output of every input domain's encoder on that domain's inputs."""
        return self._module(self.encoders, inputs)

    def __call__(
        self, inputs: Float[Array, "batch domains inputs"]
    ) -> Float[Array, "batch domains domains classes"]:
        """The logits of route (i, j) on the inputs of domain i, at `[:, i, j]`."""
        between = self.activation if self.placement == "between" else jax.nn.identity
        h = between(self._module(self.hidden, between(self.encode(inputs))))
        batch, domains, width = h.shape
        first, *rest = self.decoders
        h = h.reshape(batch * domains, width)
        if rest:
            # The products that follow want the output domain in front; so does this one, therefore.
            h = jnp.einsum("ni,moi->mno", h, first.weight).swapaxes(0, 1) + first.bias
            within = self.activation if self.placement == "within" else jax.nn.identity
            h = self._module(tuple(rest), within(h))
        else:
            h = h @ first.weight.reshape(-1, width).T + first.bias.reshape(-1)
        return h.reshape(batch, domains, domains, -1)

    def _module(self, layers: tuple[Layer, ...], h: Array) -> Array:
        within = self.activation if self.placement == "within" else jax.nn.identity
        first, *rest = layers
        h = first(h)
        for layer in rest:
            h = layer(within(h))
        return h


class GatedClassifier(AbstractRouteClassifier):
    """M encoders, one hidden module that all routes share, M decoders.

    Biases start at 0, weights are Xavier-uniform times `gain`.
    """

    encoders: tuple[Layer, ...]
    hidden: tuple[Layer, ...]
    decoders: tuple[Layer, ...]
    activation: Callable[[Array], Array] = eqx.field(static=True)
    placement: Placement = eqx.field(static=True)

    def __init__(
        self,
        domains: int,
        inputs: int,
        width: int,
        classes: int,
        *,
        gain: float | Float[Array, ""] = 1.0,
        layers_per_module: int = 1,
        activation: Callable[[Array], Array] = jax.nn.identity,
        placement: Placement = "within",
        stacked_decoder_fan: bool = False,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `domains`: M.
        - `inputs`, `width`, `classes`: size of the input, of every hidden layer, of the output.
        - `gain`: factor of the initial weights: U(+-gain * sqrt(6 / (fan_in + fan_out))).
        - `layers_per_module`: linear layers in each encoder, hidden module and decoder.
        - `activation`: `jax.nn.identity`, or a nonlinearity such as `jax.nn.leaky_relu`.
        - `placement`: where it is applied: `"within"` a module, between its layers; or
            `"between"` modules, after the encoder and after the hidden module.
        - `stacked_decoder_fan`: take a decoder layer's fans from the stacked tensor [M, inputs,
            outputs], as the paper's code does: fan_in + fan_out becomes outputs * (inputs + M)
            in place of inputs + outputs, and decoders start smaller.
        """
        _check_placement(placement)
        encoder_key, hidden_key, decoder_key = jax.random.split(key, 3)
        widths = (width,) * layers_per_module
        self.encoders = _layers((inputs, *widths), (domains,), gain, key=encoder_key)
        self.hidden = _layers((width, *widths), (), gain, key=hidden_key)
        self.decoders = _layers(
            (*widths, classes), (domains,), gain, stacked_fan=stacked_decoder_fan, key=decoder_key
        )
        self.activation = activation
        self.placement = placement


class UnsharedClassifier(AbstractRouteClassifier):
    """A control in which nothing is shared: encoder, hidden module and decoder for every index.

    The matched route (i, i) is a network of its own. The crossed route (i, j) composes encoder and
    hidden module of i with decoder j.
    """

    encoders: tuple[Layer, ...]
    hidden: tuple[Layer, ...]
    decoders: tuple[Layer, ...]
    activation: Callable[[Array], Array] = eqx.field(static=True)
    placement: Placement = eqx.field(static=True)

    def __init__(
        self,
        domains: int,
        inputs: int,
        width: int,
        classes: int,
        *,
        gain: float | Float[Array, ""] = 1.0,
        layers_per_module: int = 1,
        activation: Callable[[Array], Array] = jax.nn.identity,
        placement: Placement = "within",
        key: PRNGKeyArray,
    ):
        """The arguments are those of `GatedClassifier`."""
        _check_placement(placement)
        encoder_key, hidden_key, decoder_key = jax.random.split(key, 3)
        widths = (width,) * layers_per_module
        self.encoders = _layers((inputs, *widths), (domains,), gain, key=encoder_key)
        self.hidden = _layers((width, *widths), (domains,), gain, key=hidden_key)
        self.decoders = _layers((*widths, classes), (domains,), gain, key=decoder_key)
        self.activation = activation
        self.placement = placement


def _check_placement(placement: str) -> None:
    if placement not in get_args(Placement):
        raise ValueError(f"placement must be one of {get_args(Placement)}, not {placement!r}")


def _layers(
    sizes: tuple[int, ...],
    stack: tuple[int, ...],
    gain: float | Array,
    *,
    stacked_fan: bool = False,
    key: PRNGKeyArray,
) -> tuple[Layer, ...]:
    """Xavier-uniform layers from `sizes[0]` to `sizes[-1]`, each repeated over `stack`."""
    layers = []
    keys = jax.random.split(key, len(sizes) - 1)
    for inputs, outputs, k in zip(sizes[:-1], sizes[1:], keys, strict=True):
        fans = outputs * (inputs + stack[0]) if stacked_fan else inputs + outputs
        weight = xavier_uniform((*stack, outputs, inputs), fans=fans, gain=gain, key=k)
        layers.append(Layer(weight, jnp.zeros(weight.shape[:-1], weight.dtype)))
    return tuple(layers)
