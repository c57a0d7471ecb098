"""What flows through named parts of an Equinox module, without a change of its code.

A part is wrapped so that its output passes a marked identity. The marks stay in the traced program,
through `vmap`, `jit` and `scan`, and what passes them is given back beside the output.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.custom_batching import custom_vmap
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun

from .._errors import UserError, nearest

MARK = "recombine.tap."
_STEP = re.compile(r"(?P<attribute>[^.\[\]]+)|\[(?P<index>-?\d+|'[^']*'|\"[^\"]*\")\]")


def part_of(network: Any, path: str) -> Any:
    """The part of a module that a path such as `encoder.layers[1]` or `layers.1` leads to."""
    part, walked = network, ""
    for step in _steps(path):
        try:
            part = _stepped(part, step)
        except (AttributeError, IndexError, KeyError, TypeError):
            where = f"{walked!r} is a {type(part).__name__} and" if walked else "the network"
            raise UserError(
                f"no layer {path!r}: {where} has no {step!r}; {nearest(str(step), _inside(part))}"
            ) from None
        walked = f"{walked}[{step!r}]" if isinstance(step, int) else f"{walked}.{step}".lstrip(".")
    return part


def _steps(path: str) -> list[str | int]:
    found: list[str | int] = []
    for match in _STEP.finditer(path):
        text = match["attribute"] or match["index"]
        found.append(int(text) if re.fullmatch(r"-?\d+", text) else text.strip("'\""))
    if not found:
        raise UserError(f"no layer {path!r}: write a path such as 'encoder.layers[1]'")
    return found


def _stepped(part: Any, step: str | int) -> Any:
    if isinstance(step, int) or isinstance(part, dict):
        return part[step]
    return getattr(part, step)


def _inside(part: Any) -> list[str]:
    if isinstance(part, (list, tuple)):
        return [str(place) for place in range(len(part))]
    return list(part) if isinstance(part, dict) else list(vars(part)) if _has_vars(part) else []


def _has_vars(part: Any) -> bool:
    return hasattr(part, "__dict__")


def marked(network: Any, path: str, tag: str) -> Any:
    """The network, with the part at a path wrapped so that its output passes a mark."""
    part = part_of(network, path)
    if not isinstance(part, eqx.Module) or not callable(part):
        kind = "an array of weights" if eqx.is_array(part) else f"a {type(part).__name__}"
        raise UserError(f"layer {path!r} is {kind}, not a module that is called")
    return eqx.tree_at(partial(part_of, path=path), network, _Tapped(part, tag))


class _Tapped(eqx.Module):
    """A module whose outputs pass a mark; everything else is that of the module."""

    inner: Any
    tag: str = eqx.field(static=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = self.inner(*args, **kwargs)
        leaves, structure = jax.tree.flatten(out)
        passed = [
            _identity(f"{self.tag}#{leaf}")(value) if eqx.is_array(value) else value
            for leaf, value in enumerate(leaves)
        ]
        return jax.tree.unflatten(structure, passed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("inner", "tag"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def _identity(tag: str) -> Callable:
    # Under `vmap` the rule has examples in the first axis, wherever they were.
    @custom_vmap
    def tap(x):
        return checkpoint_name(x, MARK + tag)

    @tap.def_vmap
    def rule(size, batched, x):
        return tap(x), batched[0]

    return tap


def with_taps(function: Callable[..., Any]) -> Callable[..., tuple[Any, dict[str, list[Any]]]]:
    """The function, with all that passes marks in it, by tag: one value per call, as
    `[examples, steps of loops..., ...]`."""

    def run(*args: Any) -> tuple[Any, dict[str, list[Any]]]:
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*args)
        depths: dict[str, list[int]] = {}
        outputs, taken = _evaluate(closed.jaxpr, closed.consts, jax.tree.leaves(args), depths)
        found = {
            tag: [
                value if not depth else _axis_first(value, depth)
                for value, depth in zip(values, depths[tag], strict=True)
            ]
            for tag, values in taken.items()
        }
        return jax.tree.unflatten(jax.tree.structure(shape), outputs), found

    return run


def _axis_first(value: Any, axis: int) -> Any:
    return value.swapaxes(0, axis) if axis == 1 else jax.numpy.moveaxis(value, axis, 0)


def _evaluate(
    jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], depths: dict[str, list[int]]
) -> tuple[list[Any], dict[str, list[Any]]]:
    """The outputs of a program, and what passes marks in it."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values |= dict(zip(jaxpr.invars, args, strict=True))

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else values[variable]

    taken: dict[str, list[Any]] = {}
    for step in jaxpr.eqns:
        inputs = [read(v) for v in step.invars]
        outputs, found = _carried_out(jaxpr, step, inputs, depths)
        for tag, passed in found.items():
            taken.setdefault(tag, []).extend(passed)
        values |= dict(zip(step.outvars, outputs, strict=True))
    return [read(v) for v in jaxpr.outvars], taken


def _carried_out(
    jaxpr: Any, step: Any, inputs: list[Any], depths: dict[str, list[int]]
) -> tuple[list[Any], dict[str, list[Any]]]:
    name = step.primitive.name
    if name == "name" and str(step.params["name"]).startswith(MARK):
        tag = step.params["name"].removeprefix(MARK)
        depths.setdefault(tag, []).append(0)
        return inputs, {tag: inputs}
    inside = list(_programs(step.params))
    if not any(map(_has_marks, inside)):
        variables = [v for v in step.invars if not isinstance(v, Literal)]
        alone = jaxpr.replace(
            constvars=[], invars=variables, outvars=step.outvars, eqns=[step], effects=step.effects
        )
        given = [x for v, x in zip(step.invars, inputs, strict=True) if not isinstance(v, Literal)]
        return list(jaxpr_as_fun(ClosedJaxpr(alone, ()))(*given)), {}
    if name == "scan":
        return _scan(step.params, inputs, depths)
    if name in ("while", "cond") or len(inside) != 1:
        (tag, *_) = sorted(_tags(inside))
        raise UserError(
            f"layer {tag.partition('#')[0]!r} is called inside a `{name}` of JAX, whose values are"
            " not kept: name a layer outside of it"
        )
    (program,) = inside
    return _evaluate(program[0], program[1], inputs, depths)


def _scan(
    params: dict[str, Any], inputs: list[Any], depths: dict[str, list[int]]
) -> tuple[list[Any], dict[str, list[Any]]]:
    """A loop, with what passes marks stacked over its steps."""
    constants, carried = params["num_consts"], params["num_carry"]
    body = params["jaxpr"]
    fixed, start, over = (
        inputs[:constants],
        inputs[constants : constants + carried],
        inputs[constants + carried :],
    )
    own: dict[str, list[int]] = {}

    def one_step(carry: Any, x: Any) -> Any:
        own.clear()
        outputs, found = _evaluate(body.jaxpr, body.consts, [*fixed, *carry, *x], own)
        return outputs[:carried], (outputs[carried:], found)

    last, (outputs, taken) = jax.lax.scan(
        one_step, start, over, params["length"], reverse=params["reverse"]
    )
    for tag, inner in own.items():
        depths.setdefault(tag, []).extend(depth + 1 for depth in inner)
    return [*last, *outputs], taken


Program = tuple[Any, Sequence[Any]]


def _programs(params: dict[str, Any]) -> Iterator[Program]:
    """The programs that the parameters of a step hold."""
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(one, ClosedJaxpr):
                yield one.jaxpr, one.consts
            elif isinstance(one, Jaxpr):
                yield one, ()


def _tags(programs: Sequence[Program]) -> set[str]:
    found: set[str] = set()
    for jaxpr, _ in programs:
        for step in jaxpr.eqns:
            if step.primitive.name == "name" and str(step.params["name"]).startswith(MARK):
                found.add(step.params["name"].removeprefix(MARK))
            found |= _tags(list(_programs(step.params)))
    return found


def _has_marks(program: Program) -> bool:
    return bool(_tags([program]))


def by_layer(taken: dict[str, list[Any]], tags: dict[str, str]) -> dict[str, np.ndarray]:
    """Activity `[examples, features]` of every layer; a layer that is called several times has a
    number behind its name.

    **Arguments:**

    - `tags`: the names of layers by their tags.
    """
    found: dict[str, np.ndarray] = {}
    for tag, name in tags.items():
        leaves = [values for full, values in sorted(taken.items()) if full.split("#")[0] == tag]
        if not leaves:
            raise UserError(f"layer {name!r} is never called: its outputs cannot be looked at")
        calls = list(zip(*leaves, strict=True))
        for number, parts in enumerate(calls, start=1):
            flat = [np.asarray(p).reshape(len(p), -1) for p in parts]
            label = name if len(calls) == 1 else f"{name}, call {number}"
            found[label] = np.concatenate(flat, axis=1)
    return found
