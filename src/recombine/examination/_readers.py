"""Networks of any framework behind one face: arrays in, arrays out, and what layers do."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._errors import UserError

Layers = Sequence[str] | Mapping[str, Callable[..., Any]]
"""Paths of layers; or functions of the inputs, by the names that their layers are to have."""
Inputs = tuple[np.ndarray, ...]
"""The arrays that a network is called with, all with as many items."""


class Reading(NamedTuple):
    """What a network makes of inputs."""

    outputs: list[np.ndarray]
    """One array per output of the network: [items, ...]."""
    layers: dict[str, np.ndarray]
    """[items, units], by the names of layers."""


class AbstractReader(abc.ABC):
    """A network that can be read."""

    classes: np.ndarray | None = None
    """The answers that a classifier's scores stand for, if it says so."""

    @abc.abstractmethod
    def read(self, inputs: Inputs) -> Reading:
        """Outputs, and the activity of all layers that were named."""

    def sensitivity(self, x: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """The mean norm of derivatives of outputs by every part; `UserError` if there are none."""
        raise UserError("the network has no derivatives that could be asked for")


class CallableReader(AbstractReader):
    """Any function of arrays. Layers are functions of the same arrays."""

    def __init__(self, function: Callable[..., Any], layers: Mapping[str, Callable[..., Any]]):
        self._function, self._layers = function, layers

    def read(self, inputs: Inputs) -> Reading:
        layers = {name: flat(name, layer(*inputs)) for name, layer in self._layers.items()}
        return Reading(arrays(self._function(*inputs)), layers)


class EstimatorReader(CallableReader):
    """An estimator of scikit-learn: its probabilities if it has them, and else its predictions."""

    def __init__(self, estimator: Any, layers: Mapping[str, Callable[..., Any]]):
        scores = getattr(estimator, "predict_proba", None)
        super().__init__(scores or estimator.predict, layers)
        # Of several outputs there are several lists of classes; their numbers do.
        found = getattr(estimator, "classes_", None) if scores else None
        self.classes = found if isinstance(found, np.ndarray) else None


class JAXReader(AbstractReader):
    """A function of JAX, or an Equinox module whose layers are named by their paths."""

    def __init__(self, network: Callable[..., Any], layers: Layers):
        from ._taps import marked, part_of

        self._network, self._functions, self._tags = network, dict[str, Any](), dict[str, str]()
        tapped = network
        named = layers.items() if isinstance(layers, Mapping) else ((n, None) for n in layers)
        for name, function in named:
            found = part_of(network, name) if function is None else function
            if function is not None or _is_method(found):
                self._functions[name] = found
            else:
                tag = str(len(self._tags))
                tapped = marked(tapped, name, tag)
                self._tags[tag] = name
        self._tapped = tapped

    def read(self, inputs: Inputs) -> Reading:
        import equinox as eqx
        import jax.numpy as jnp

        from ._taps import by_layer, with_taps

        given = tuple(map(jnp.asarray, inputs))
        functions = {
            name: flat(name, eqx.filter_jit(one)(*given)) for name, one in self._functions.items()
        }
        if not self._tags:
            return Reading(arrays(eqx.filter_jit(self._network)(*given)), functions)
        outputs, taken = eqx.filter_jit(_run)(with_taps, self._tapped, given)
        return Reading(arrays(outputs), by_layer(taken, self._tags) | functions)

    def sensitivity(self, x: np.ndarray, parts: np.ndarray) -> np.ndarray:
        return jax_sensitivity(self._network, x, parts)


def _run(with_taps, network, given):
    return with_taps(network)(*given)


def _is_method(part: Any) -> bool:
    return callable(part) and hasattr(part, "__self__") and hasattr(part, "__func__")


def jax_sensitivity(function: Callable[..., Any], x: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """`recombine.probes.input_sensitivity` of a function that JAX can differentiate."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from ..probes import input_sensitivity

    def joined(x):
        leaves = [leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(function(x))]
        return jnp.concatenate(leaves, axis=1)

    ask = eqx.filter_jit(lambda x, parts: input_sensitivity(joined, x, parts))
    return np.asarray(ask(jnp.asarray(x), jnp.asarray(parts)))


def arrays(outputs: Any) -> list[np.ndarray]:
    """What a network gives as NumPy arrays: one, or several in a tuple, list or dict."""
    if isinstance(outputs, Mapping):
        outputs = list(outputs.values())
    several = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    return [np.asarray(one) for one in several]


def flat(name: str, activity: Any) -> np.ndarray:
    """What a layer gives as [items, units]."""
    parts = [a.reshape(len(a), -1) for a in arrays(activity) if a.ndim]
    if not parts:
        raise UserError(f"layer {name!r} gives no array of items")
    return np.concatenate(parts, axis=1)


def reader_of(network: Any, layers: Layers, example: Inputs) -> AbstractReader:
    """The reader for a network: Equinox, PyTorch, scikit-learn, or any function of arrays."""
    root = type(network).__mro__
    if any(c.__module__.startswith("torch.") and c.__name__ == "Module" for c in root):
        from ._torch import TorchReader

        return TorchReader(network, layers)
    if hasattr(network, "predict") and hasattr(network, "fit"):
        return EstimatorReader(network, _functions(layers))
    if not callable(network):
        raise UserError(
            f"a {type(network).__name__} is no network: give a function of arrays, an Equinox or"
            " PyTorch module, or an estimator of scikit-learn"
        )
    if any(c.__module__.startswith("equinox.") for c in root) or _is_jax(network, example):
        is_module = any(c.__module__.startswith("equinox.") for c in root)
        return JAXReader(network, layers if is_module else _functions(layers))
    return CallableReader(network, _functions(layers))


def _functions(layers: Layers) -> Mapping[str, Callable[..., Any]]:
    if isinstance(layers, Mapping):
        return layers
    if layers:
        raise UserError(
            f"layer {next(iter(layers))!r} cannot be found by its name in a plain function: give"
            " layers as functions of the inputs, {name: function}"
        )
    return {}


def _is_jax(function: Callable[..., Any], example: Inputs) -> bool:
    """Whether a function can be traced by JAX. One that cannot is called with NumPy's arrays."""
    import jax

    try:
        jax.eval_shape(function, *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in example))
    except Exception:  # whatever a function of NumPy's arrays says to a tracer
        return False
    return True
