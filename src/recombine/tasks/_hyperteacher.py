"""The hyperteacher: tasks set by a network whose weights are mixtures of modules.

Figure 3 and Appendix C.2 of the paper.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..splits._code_distribution import AbstractCodes, ListedCodes
from ._episode import Episode, Examples
from ._task import AbstractTask

_CHUNK = 64


def joint_bank(
    drawn: Float[Array, "layers modules layers fan_in hidden"],
) -> Float[Array, "layers modules layers fan_in hidden"]:
    """Every module adds to the weights of all generated layers, as in the published code.

    **Arguments:**

    - `drawn`: random weights: what module m of layer k adds to the matrix of layer l, at [k, m, l].
    """
    return drawn


def per_layer_bank(
    drawn: Float[Array, "layers modules layers fan_in hidden"],
) -> Float[Array, "layers modules layers fan_in hidden"]:
    """A layer has modules of its own, as the paper's text reads: only k = l is kept."""
    return jnp.eye(len(drawn))[:, None, :, None, None] * drawn


def shared_bank(
    drawn: Float[Array, "layers modules layers fan_in hidden"],
) -> Float[Array, "layers modules layers fan_in hidden"]:
    """All generated layers mix the same modules (k = l = 0), each by its own part of the code."""
    return jnp.eye(len(drawn))[:, None, :, None, None] * drawn[:1, :, :1]


class OutputMoments(NamedTuple):
    """Moments of each output of the target network over fixed inputs, for each task."""

    mean: Float[Array, "tasks outputs"]
    std: Float[Array, "tasks outputs"]


class TargetNetwork(eqx.Module):
    """A network of ReLUs without biases, some of whose weights a task's code generates.

    Every pre-activation is divided by the square root of its fan-in. With L > 1 hidden layers the
    first layer and the readout are the same in all tasks, and the L - 1 matrices between hidden
    layers are generated; with L = 1 the first layer is.
    """

    first: Float[Array, "inputs hidden"] | None
    """The shared first layer; None if L = 1."""
    bank: Float[Array, "layers modules layers fan_in hidden"]
    """What module m of layer k adds to the generated matrix l, at [k, m, l]."""
    readout: Float[Array, "hidden outputs"]

    @classmethod
    def random(
        cls,
        layers: int,
        modules: int,
        *,
        inputs: int = 16,
        hidden: int = 32,
        outputs: int = 8,
        shared_first_layer: bool = True,
        bank: Callable[[Array], Array] = joint_bank,
        key: PRNGKeyArray,
    ) -> "TargetNetwork":
        """Truncated normal weights of nominal standard deviation 1.

        Cut off at two standard deviations and not rescaled, as in the published code: the actual
        one is 0.880.
        """
        shapes = [
            (inputs, hidden) if shared_first_layer else (0, hidden),
            (layers, modules, layers, hidden if shared_first_layer else inputs, hidden),
            (hidden, outputs),
        ]
        # One draw for all of them compiles faster than one for each.
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        drawn = jnp.split(jax.random.truncated_normal(key, -2.0, 2.0, (ends[-1],)), ends[:-1])
        first, modular, readout = (W.reshape(shape) for W, shape in zip(drawn, shapes, strict=True))
        return cls(first if shared_first_layer else None, bank(modular), readout)

    def weights(
        self, code: Float[Array, "tasks layers modules"]
    ) -> Float[Array, "tasks layers fan_in hidden"]:
        """The generated matrices: the code times the bank."""
        layers, modules = self.bank.shape[:2]
        flat = code.reshape(-1, layers * modules) @ self.bank.reshape(layers * modules, -1)
        return flat.reshape(-1, *self.bank.shape[2:])

    def __call__(
        self, code: Float[Array, "tasks layers modules"], x: Float[Array, "#tasks samples inputs"]
    ) -> Float[Array, "tasks samples outputs"]:
        """The outputs of the network of each task."""
        W = self.weights(code)
        h = x if self.first is None else jax.nn.relu(x @ _by_fan_in(self.first))
        for layer in range(W.shape[1]):
            h = jax.nn.relu(h @ _by_fan_in(W[:, layer]))
        return h @ _by_fan_in(self.readout)

    def moments(
        self, code: Float[Array, "tasks layers modules"], x: Float[Array, "samples inputs"]
    ) -> OutputMoments:
        """Mean and standard deviation of each output over the inputs, for each task."""
        y = self(code, x[None])
        return OutputMoments(jnp.mean(y, axis=1), jnp.std(y, axis=1))


class HyperTeacher(AbstractTask):
    """Classification by a target network, one task per code.

    A code holds 0 or 1 for each module of each generated layer. Outputs of the target network are
    standardised, for each task and each output unit, over fixed inputs; their softmax at a low
    temperature is the (soft) target.

    ```python
    codes = splits.ListedCodes(splits.layered_codes(splits.up_to_k_hot_masks(8, 2), 2))
    task = tasks.HyperTeacher(codes, key=jax.random.key(0))
    episode = task.sample(128, key=jax.random.key(1))
    episode.support.x.shape, episode.support.y.shape  # (128, 256, 16), (128, 256, 8)
    episode.code.shape  # (128, 2, 8)
    ```
    """

    network: TargetNetwork
    fixed_inputs: Float[Array, "fixed inputs"]
    codes: AbstractCodes
    listed_moments: OutputMoments | None
    """The moments for each of `codes`, if they are listed."""
    input_range: float | Float[Array, ""]
    temperature: float | Float[Array, ""]
    support: int = eqx.field(static=True)
    query: int = eqx.field(static=True)

    def __init__(
        self,
        codes: AbstractCodes,
        *,
        inputs: int = 16,
        hidden: int = 32,
        outputs: int = 8,
        hidden_layers: int = 3,
        bank: Callable[[Array], Array] = joint_bank,
        input_range: float = 1.0,
        temperature: float = 0.1,
        support: int = 256,
        query: int = 256,
        fixed_inputs: int = 1000,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `codes`: the combinations that tasks are drawn from, with L - 1 layers (1 if L = 1).
        - `inputs`, `hidden`, `outputs`: widths of the target network.
        - `hidden_layers`: L.
        - `bank`: which weights a module adds to: `joint_bank`, `per_layer_bank` or `shared_bank`.
        - `input_range`: inputs are uniform between -`input_range` and `input_range`: 1 in the
            published code; `math.sqrt(3)`, for a standard deviation of 1, in the paper's text.
        - `temperature`: the temperature of the softmax that makes the targets.
        - `support`, `query`: the number of samples of a task to adapt to, and to be evaluated on.
        - `fixed_inputs`: the number of inputs over which outputs are standardised.
        - `key`: for the weights and the fixed inputs. Of `codes` they depend on the numbers of
            layers and modules only.
        """
        layers, modules = _code_shape(codes)
        if layers != max(1, hidden_layers - 1):
            raise ValueError(
                f"codes of {layers} layers do not fit {hidden_layers} hidden layers, of which "
                f"{max(1, hidden_layers - 1)} are generated"
            )
        weight_key, input_key = jax.random.split(key)
        self.network = TargetNetwork.random(
            layers,
            modules,
            inputs=inputs,
            hidden=hidden,
            outputs=outputs,
            shared_first_layer=hidden_layers > 1,
            bank=bank,
            key=weight_key,
        )
        self.input_range, self.temperature = input_range, temperature
        self.support, self.query = support, query
        self.fixed_inputs = self._inputs((fixed_inputs, inputs), input_key)
        self.codes = codes
        self.listed_moments = _listed_moments(self.network, self.fixed_inputs, codes)

    def on(self, codes: AbstractCodes) -> "HyperTeacher":
        """The same world, with tasks drawn from other combinations."""
        if _code_shape(codes) != self.network.bank.shape[:2]:
            raise ValueError(
                f"codes of (layers, modules) = {_code_shape(codes)} do not fit this world of "
                f"{self.network.bank.shape[:2]}"
            )
        return eqx.tree_at(
            lambda task: (task.codes, task.listed_moments),
            self,
            (codes, _listed_moments(self.network, self.fixed_inputs, codes)),
            is_leaf=lambda x: x is None,
        )

    def sample(self, size: int, *, key: PRNGKeyArray) -> Episode:
        """`size` tasks, drawn with replacement, and fresh samples of each."""
        code_key, input_key = jax.random.split(key)
        code, (mean, std) = self._draw(size, code_key)
        shape = (size, self.support + self.query, self.fixed_inputs.shape[1])
        x = self._inputs(shape, input_key)
        standard = (self.network(code, x) - mean[:, None]) / std[:, None]
        y = jax.nn.softmax(standard / self.temperature)
        examples = Examples(x, y, jnp.ones(x.shape[:2], x.dtype))
        return Episode(
            Examples(*(part[:, : self.support] for part in examples)),
            Examples(*(part[:, self.support :] for part in examples)),
            code,
        )

    def _draw(
        self, size: int, key: PRNGKeyArray
    ) -> tuple[Float[Array, "size layers modules"], OutputMoments]:
        """Codes, and the moments of their tasks: looked up where all codes are listed."""
        if self.listed_moments is None or not isinstance(self.codes, ListedCodes):
            code = self.codes.draw(size, key=key).astype(self.fixed_inputs.dtype)
            return code, self.network.moments(code, self.fixed_inputs)
        row = jax.random.randint(key, (size,), 0, len(self.codes.codes))
        code = self.codes.codes[row].astype(self.fixed_inputs.dtype)
        return code, OutputMoments(*(values[row] for values in self.listed_moments))

    def _inputs(self, shape: tuple[int, ...], key: PRNGKeyArray) -> Float[Array, "..."]:
        return self.input_range * jax.random.uniform(key, shape, minval=-1.0)


def _by_fan_in(W: Float[Array, "*tasks fan_in fan_out"]) -> Float[Array, "*tasks fan_in fan_out"]:
    """Scaling weights is the same as scaling what they sum, and there are fewer of them."""
    return W / math.sqrt(W.shape[-2])


def _code_shape(codes: AbstractCodes) -> tuple[int, ...]:
    """Layers and modules."""
    return jax.eval_shape(lambda: codes.draw(1, key=jax.random.key(0))).shape[1:]


def _listed_moments(
    network: TargetNetwork, x: Float[Array, "fixed inputs"], codes: AbstractCodes
) -> OutputMoments | None:
    """The moments for all codes, if they are listed.

    Standardising a task takes more inputs than an episode of it has, so that it pays to do it once
    for every code rather than at every step.
    """
    if not isinstance(codes, ListedCodes):
        return None
    # Whole chunks, so that sets of codes that differ a little in number share one compilation.
    listed = np.asarray(codes.codes, x.dtype)
    chunks = np.resize(listed, (math.ceil(len(listed) / _CHUNK), _CHUNK, *listed.shape[1:]))
    moments = _moments_by_chunk(network, x, jnp.asarray(chunks))
    return OutputMoments(*(v.reshape(-1, v.shape[-1])[: len(listed)] for v in moments))


@eqx.filter_jit
def _moments_by_chunk(network, x, chunks):
    return jax.lax.map(lambda code: network.moments(code, x), chunks)
