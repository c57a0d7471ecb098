"""PyTorch modules: outputs and layers by forward hooks, derivatives through JAX or by PyTorch."""

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._errors import UserError, nearest
from ._readers import AbstractReader, Inputs, Layers, Reading, arrays, flat, jax_sensitivity


class TorchReader(AbstractReader):
    """A `torch.nn.Module`, as it is in evaluation. Layers are named as in `named_modules()`."""

    def __init__(self, module: Any, layers: Layers):
        self._module = module
        self._functions = dict(layers) if isinstance(layers, Mapping) else {}
        self._names = [] if isinstance(layers, Mapping) else list(layers)
        known = [name for name, _ in module.named_modules() if name]
        for name in self._names:
            if name not in known:
                raise UserError(f"no layer {name!r} in the module: {nearest(name, known)}")
        self.remark = ""
        """Why derivatives are PyTorch's own, if they are."""

    def read(self, inputs: Inputs) -> Reading:
        import torch

        given = tuple(map(self._tensor, inputs))
        found: dict[str, list[np.ndarray]] = {name: [] for name in self._names}
        modules = dict(self._module.named_modules())

        def keep(name: str) -> Callable[..., None]:
            def hook(module: Any, args: Any, output: Any) -> None:
                found[name].append(flat(name, _numpy(_first(output))))

            return hook

        hooks = [modules[name].register_forward_hook(keep(name)) for name in self._names]
        try:
            with self._evaluating(), torch.no_grad():
                outputs = arrays(_numpy(self._module(*given)))
                functions = {
                    name: flat(name, _numpy(function(*given)))
                    for name, function in self._functions.items()
                }
        finally:
            for hook in hooks:
                hook.remove()
        return Reading(outputs, _by_call(found) | functions)

    def sensitivity(self, x: np.ndarray, parts: np.ndarray) -> np.ndarray:
        with self._evaluating():
            try:
                return jax_sensitivity(self._converted(x), x, parts)
            except UserError as error:
                self.remark = f"{error}; derivatives are PyTorch's own"
                return self._own_sensitivity(x, parts)

    def _converted(self, x: np.ndarray) -> Callable[..., Any]:
        """The module as a function of JAX; `UserError` names the layer that cannot be converted."""
        try:
            import torchax
        except Exception as error:  # of a version that does not fit that of PyTorch
            why = "is not installed" if isinstance(error, ModuleNotFoundError) else "does not load"
            raise UserError(f"torchax {why} (extra `torch`)") from None
        import jax

        running: list[str] = []
        hooks = []
        for name, module in self._module.named_modules():
            hooks.append(module.register_forward_pre_hook(lambda *_, n=name: running.append(n)))
            hooks.append(module.register_forward_hook(lambda *_: running.pop() and None))
        try:
            weights, function = torchax.extract_jax(self._module)
            convert = lambda x: function(weights, (x,))  # noqa: E731
            jax.eval_shape(convert, jax.ShapeDtypeStruct(x[:1].shape, x.dtype))
        except Exception as error:
            layer = repr(running[-1]) if running and running[-1] else "the module"
            reason = " ".join(str(error).split())[:100] or type(error).__name__
            raise UserError(f"layer {layer} cannot be converted to JAX ({reason})") from None
        finally:
            for hook in hooks:
                hook.remove()
        return convert

    def _own_sensitivity(self, x: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """`recombine.probes.input_sensitivity` by PyTorch's derivatives, output by output."""
        import torch

        given = self._tensor(x).clone().requires_grad_(True)
        outputs = self._module(given)
        several = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        masks = parts.reshape(len(parts), -1).astype(np.float64)
        squares = np.zeros((len(x), len(parts)))
        for column in torch.cat([o.reshape(len(x), -1) for o in several], dim=1).unbind(dim=1):
            (slope,) = torch.autograd.grad(column.sum(), given, retain_graph=True)
            squares += np.square(slope.reshape(len(x), -1).double().cpu().numpy()) @ masks.T
        return np.sqrt(squares).mean(axis=0)

    def _tensor(self, x: np.ndarray) -> Any:
        import torch

        tensor = torch.from_numpy(np.array(x))
        weights = next(iter(self._module.parameters()), None)
        if not tensor.is_floating_point():
            return tensor if weights is None else tensor.to(weights.device)
        return tensor if weights is None else tensor.to(weights.device, weights.dtype)

    @contextmanager
    def _evaluating(self):
        training = {module: module.training for module in self._module.modules()}
        self._module.eval()
        try:
            yield
        finally:
            for module, was in training.items():
                module.training = was


def _first(output: Any) -> Any:
    """What a layer gives; of recurrent ones, which give states as well, their outputs."""
    return output[0] if isinstance(output, (tuple, list)) else output


def _numpy(output: Any) -> Any:
    if isinstance(output, Mapping):
        return {name: _numpy(one) for name, one in output.items()}
    if isinstance(output, (tuple, list)):
        return [_numpy(one) for one in output]
    return output.detach().cpu().numpy()


def _by_call(found: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    layers: dict[str, np.ndarray] = {}
    for name, calls in found.items():
        if not calls:
            raise UserError(f"layer {name!r} is never called: its outputs cannot be looked at")
        for number, activity in enumerate(calls, start=1):
            layers[name if len(calls) == 1 else f"{name}, call {number}"] = activity
    return layers
