"""Conditions: the axes of a preset, what depends on them, and what the user sets."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from .._ranges import annotated_types, check_range
from .._spec import is_spec
from .errors import UserError, nearest
from .settings import (
    CODE,
    as_spec,
    canonical,
    changed,
    fitted,
    flat,
    is_several,
    kind_of,
    parts,
    plain,
    types_of,
)
from .specs import shown

Condition = Mapping[str, Any]
_NONE = object()


def grid(**axes: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """All combinations of the axes' values, as conditions: `grid(K=(1, 2), gain=(0.1,))`."""
    return tuple(
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    )


@dataclass(frozen=True)
class Preset:
    """A size at which a study can be run.

    A later one of these counts: defaults of the config, `settings`, `depends`, a condition, what
    the user sets. Each may hold fields of specs, with dots: `{"model.layers": 2}` is for every
    condition whose model has layers.
    """

    seeds: int
    """How many seeds, unless `--seeds` says otherwise."""
    conditions: Sequence[Condition] = ({},)
    """Each sets some fields of the study's config, the axes. Specs may be given by name."""
    settings: Condition = field(default_factory=dict)
    """Config fields that differ from their defaults, in every condition."""
    cost: str = ""
    """Measured, with the machine: `40 s on two cores`."""
    depends: Callable[[dict[str, Any]], Condition] | None = None
    """Settings that follow from a condition, such as the learning rate of a network. It is asked
    after the user's choice of axes, and has specs as specs, also those that no study knows."""

    def __post_init__(self) -> None:
        if not self.seeds >= 1:
            raise ValueError(f"a preset has at least one seed, not {self.seeds}")
        if not len(self.conditions):
            raise ValueError("a preset has at least one condition: ({},) is that of the defaults")


class Case(NamedTuple):
    """A condition with all that follows from it, JSON-ready."""

    condition: dict[str, Any]
    """What the condition sets, with specs as they are shown."""
    overrides: dict[str, Any]
    """What the user sets."""
    config: dict[str, Any]
    """All fields of the config."""
    depends: dict[str, Any]
    """What follows from the condition."""


def resolve(config: type, preset: Preset, overrides: Condition) -> list[Case]:
    """Every condition of a preset with the user's settings; equal ones are one.

    Raises `UserError` for settings that no condition has.
    """
    types = types_of(config)
    chosen = _normal(config, overrides, several=True)
    settings = _normal(config, preset.settings)
    own = [_normal(config, condition) for condition in preset.conditions]
    on_top = {k: v for k, v in chosen.items() if not is_several(v, types.get(k))}

    resolved, applied, expected = [], set[str](), {*settings}
    for condition in _replaced(config, own, chosen):
        follows: dict[str, Any] = {}
        if preset.depends is not None:
            follows = _normal(config, preset.depends(on_top | condition))
        values = _merged((settings, follows, condition, on_top))
        made, used = changed(config(), values)
        applied |= used
        expected |= {*condition, *follows}
        within = {k: v for k, v in on_top.items() if k.partition(".")[0] in condition}
        resolved.append((_names(condition | within), _names(follows), plain(made)))
    configs = [made for *_, made in resolved]
    if not overrides:  # else they may be for specs that the user has replaced
        _check_used(config, expected, applied, configs)
    _check_used(config, on_top, applied, configs)

    written = _read(_names(on_top), *configs)
    written |= {k: [_brief(v, types[k]) for v in chosen[k]] for k in chosen if k not in on_top}
    cases: dict[str, Case] = {}
    for names, following, made in resolved:
        condition = {name: shown(value) for name, value in _read(names, made).items()}
        cases.setdefault(canonical(made), Case(condition, written, made, _read(following, made)))
    return list(cases.values())


def axes_of(preset: Preset) -> list[str]:
    """The settings in which conditions differ, or could."""
    return list(dict.fromkeys(key for condition in preset.conditions for key in condition))


def _normal(config: type, values: Condition, several: bool = False) -> dict[str, Any]:
    """Settings with specs as specs, whichever way they were given, each in its range."""
    types, ranges = types_of(config), annotated_types(config)

    def one(key: str, value: Any) -> Any:
        if kind_of(types[key]):
            return as_spec(value, types[key])
        value = fitted(value, types[key])
        check_range(key, value, ranges[key])
        return value

    normal = {}
    for key, value in values.items():
        if "." in key or key not in types:
            normal[key] = value
        elif several and is_several(value, types[key]):
            normal[key] = tuple(one(key, v) for v in value)
        else:
            normal[key] = one(key, value)
    return normal


def _replaced(config: type, conditions: list[dict], chosen: Condition) -> list[dict[str, Any]]:
    """Conditions with the user's values of their axes; equal ones are one.

    A spec that is chosen with its defaults is the one that conditions have, if they have one.
    """
    types = types_of(config)
    axes = {key for condition in conditions for key in condition}
    options: dict[str, list[Any]] = {}
    for key, value in chosen.items():
        many = is_several(value, types.get(key))
        if many and key not in axes:
            known = f"axes are {', '.join(sorted(axes))}" if axes else "there is no axis"
            raise UserError(f"{key} has one value, it is not an axis of the conditions: {known}")
        if key in axes:
            own = [condition[key] for condition in conditions if key in condition]
            options[key] = [m for v in (value if many else [value]) for m in _meant(v, own)]
    if not options:
        return conditions
    found: list[dict[str, Any]] = []
    for condition in conditions:
        keys = [k for k in options if k in condition or is_several(chosen[k], types.get(k))]
        for values in itertools.product(*(options[k] for k in keys)):
            new = condition | dict(zip(keys, values, strict=True))
            if new not in found:
                found.append(new)
    return found


def _meant(value: Any, own: list[Any]) -> list[Any]:
    """The conditions' own specs of the class that the user names, or what the user gives."""
    if is_spec(value) and value == type(value)():
        return [v for v in own if type(v) is type(value)] or [value]
    return [value]


def _merged(layers: Iterable[Condition]) -> dict[str, Any]:
    """Layers of settings as one, by full names. A spec takes the place of an earlier one of
    another class with all that this one had set; of the same class, it adds to it."""
    values: dict[str, Any] = {}
    brought: dict[str, set[str]] = {}
    for layer in layers:
        for key, value in sorted(layer.items(), key=lambda item: item[0].count(".")):
            if not is_spec(value) or type(values.get(key)) is not type(value):
                for name in brought.pop(key, set()):
                    values.pop(name, None)
            if is_spec(value):
                found = {name: v for name, v, _ in parts(key, value, None)}
                brought.setdefault(key, set()).update(found.keys() - {key})
                values |= found
            else:
                values[key] = value
    return values


def _names(values: Condition) -> list[str]:
    """Full names of what is set; a spec sets the fields that differ from their defaults too."""
    names = [[n for n, *_ in parts(k, v, None)] if is_spec(v) else [k] for k, v in values.items()]
    found = dict.fromkeys(itertools.chain(*names))
    first = list(dict.fromkeys(name.partition(".")[0] for name in found))
    return sorted(found, key=lambda name: first.index(name.partition(".")[0]))


def _read(names: Iterable[str], *configs: Condition) -> dict[str, Any]:
    """Settings as the first of the configs that has them has them, specs by their references."""
    found = {}
    for name in names:
        having = [v for c in configs if (v := at(c, name, _NONE)) is not _NONE]
        if having:
            found[name] = having[0]["spec"] if isinstance(having[0], dict) else having[0]
    return found


def _brief(value: Any, hint: Any) -> Any:
    """One of several values: a spec as its name, with the fields that differ if there are any."""
    whole = flat("spec", value, hint)
    if len(whole) == 1:
        return whole["spec"]
    return {name.removeprefix("spec."): v for name, v in whole.items()}


def at(config: Condition, name: str, missing: Any) -> Any:
    """The value of a setting, by its full name, in a JSON-ready config."""
    value: Any = config
    for word in name.split("."):
        if not isinstance(value, Mapping) or word not in value:
            return missing
        value = value[word]
    return value


def _check_used(
    config: type, names: Iterable[str], applied: set[str], configs: Sequence[Condition]
) -> None:
    """Refuse settings that no condition has."""
    for name in names:
        if name in applied:
            continue
        root = name.rpartition(".")[0]
        own = [f.name for f in fields(config)]
        if (first := name.partition(".")[0]) not in own:
            raise UserError(f"no setting {first!r}: {nearest(first, own)}")
        found = [v for c in configs if isinstance(v := at(c, root, None), dict)]
        if not found:
            raise UserError(f"no setting {name!r}: {root} has no settings of its own")
        known = {f"{root}.{n}": None for v in found for n in v if n not in ("spec", CODE)}
        specs = " and ".join(dict.fromkeys(shown(v) for v in found))
        raise UserError(f"no setting {name!r} of {specs}: {nearest(name, known)}")
