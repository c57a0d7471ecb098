"""Networks as users write them: with or without a key for dropout; checked before they learn."""

import inspect
from functools import cache
from typing import Any


def with_key(network: Any) -> Any:
    """A network that may be called with a `key`, and ignores it if its own call has none."""
    try:
        parameters = inspect.signature(network).parameters.values()
    except (TypeError, ValueError):
        return network
    if any(p.name == "key" or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return network
    return _without_key()(network)


def own_part(network: Any) -> Any:
    """The network as it was built."""
    wrapper: Any = _without_key()
    return network.inner if isinstance(network, wrapper) else network


@cache
def _without_key() -> type:
    """One class for all networks, so that those of one shape share a compiled program."""
    import equinox as eqx

    class WithoutKey(eqx.Module):
        inner: Any

        def __call__(self, *inputs: Any, key: Any = None) -> Any:
            return self.inner(*inputs)

    return WithoutKey


def check_outputs(network: Any, inputs: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Refuse a network that does not give an array of this shape."""
    import equinox as eqx

    shapes = " and ".join(str(one.shape) for one in inputs)
    try:
        found = eqx.filter_eval_shape(network, *inputs)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(f"the network cannot be called with arrays {shapes}: {reason}") from None
    given = getattr(found, "shape", None)
    if given != shape:
        raise ValueError(
            f"of inputs {shapes} the network gives {given or type(found).__name__}, and should"
            f" give {shape}: a row of scores per item"
        )
