"""The values of settings: read from text, written as JSON, changed field by field.

A setting is a field of a config or, with dots between, of a spec that a config holds:
`model.attention.dropout`.
"""

import ast
import inspect
import itertools
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from .._ranges import Above as Above
from .._ranges import AtLeast as AtLeast
from .._ranges import AtMost as AtMost
from .._ranges import Below as Below
from .._ranges import Count as Count
from .._ranges import Fraction as Fraction
from .._ranges import NotNegative as NotNegative
from .._ranges import OrInfinite as OrInfinite
from .._ranges import Positive as Positive
from .._ranges import Share as Share
from .._ranges import Whole as Whole
from .._ranges import annotated_types, check_range, check_ranges
from .._spec import AbstractSpec, is_spec, known_specs, spec_name
from .errors import UserError, nearest
from .specs import check_class, code_of, is_in_file, kind_of, reference, shown, spec_class

CODE = "sha256"
"""Where the JSON form of a user's spec has the checksum of its file: changed code, other trials."""


def types_of(config: type) -> dict[str, Any]:
    """The type of every field of a config or a spec."""
    return _hints(config)


@cache
def _hints(config: type) -> dict[str, Any]:
    try:
        return get_type_hints(config)
    except NameError as error:  # known to type checkers only
        raise UserError(f"{config.__qualname__}: types of its fields: {error}") from None


class Setting(NamedTuple):
    """A setting with its default."""

    name: str
    default: Any
    """Of a spec, its name."""
    meaning: str
    choices: tuple[str, ...] = ()
    """Names of the specs that it can be set to."""


def canonical(value: Any) -> str:
    """`value` as JSON, one spelling for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def is_several(value: Any, hint: Any) -> bool:
    """Whether these are several values of a field that holds one. It has to be known."""
    return isinstance(value, (list, tuple)) and hint is not None and get_origin(hint) is not tuple


def parse(text: str, hint: Any) -> Any:
    """`text` as a value of a field, or a ValueError that says what was expected."""
    choices = get_args(hint)
    if get_origin(hint) is tuple:
        parts = text.split(",")
        if choices[-1] is not Ellipsis and len(parts) != len(choices):
            raise ValueError(f"expected {len(choices)} values with commas between, got {text!r}")
        return tuple(parse(part.strip(), choices[0]) for part in parts)
    if get_origin(hint) is Literal:
        named = {str(choice): choice for choice in choices}
        if text not in named:
            raise ValueError(nearest(text, named))
        return named[text]
    if type(None) in choices:  # an optional value
        (hint,) = (choice for choice in choices if choice is not type(None))
        return None if text.lower() == "none" else parse(text, hint)
    if kind := kind_of(hint):
        return default_spec(text, kind)
    if hint is bool:
        if text.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise ValueError("expected true or false")
        return text.lower() in ("true", "1", "yes")
    try:
        return hint(text)
    except ValueError:
        word = {int: "a whole number", float: "a number"}.get(hint, hint.__name__)
        raise ValueError(f"expected {word}, got {text!r}") from None


def default_spec(text: str, kind: type[AbstractSpec]) -> Any:
    """The spec that `text` names, with its defaults."""
    spec = spec_class(text, kind)
    try:
        return spec()
    except (TypeError, ValueError) as error:
        raise UserError(f"{text}: its defaults are no settings: {error}") from None


def plain(thing: Any) -> dict[str, Any]:
    """A config, or the fields of a spec, as JSON-ready values: one spelling for equal ones."""
    check_ranges(thing)
    types = types_of(type(thing))
    values = {}
    for f in fields(thing):
        try:
            values[f.name] = _plain_value(getattr(thing, f.name), types[f.name])
        except TypeError as error:
            raise UserError(f"{type(thing).__name__}.{f.name}: {error}") from None
    return values


def _plain_value(value: Any, hint: Any) -> Any:
    if is_spec(value):
        name = reference(type(value), kind_of(hint))
        code = code_of(name)
        return {"spec": name, **({CODE: code} if code else {}), **plain(value)}
    value = fitted(value, hint)
    if isinstance(value, tuple):
        if hint in (bool, int, float, str):
            raise TypeError(f"expected one value, got {value!r}")
        return [_plain_value(v, None) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"expected a number, a text, a tuple of them or a spec, got {value!r}")


def is_same_spec(written: Mapping[str, Any], spec: Any) -> bool:
    """Whether this is the JSON-ready form of a spec."""
    if written["spec"] != spec_name(spec) and not is_in_file(written["spec"], type(spec)):
        return False
    types = types_of(type(spec))

    def same(found: Any, value: Any, hint: Any) -> bool:
        if is_spec(value):
            return isinstance(found, Mapping) and is_same_spec(found, value)
        return bool(found == _plain_value(value, hint))

    return all(
        f.name in written and same(written[f.name], getattr(spec, f.name), types[f.name])
        for f in fields(spec)
    )


def fitted(value: Any, hint: Any) -> Any:
    """A value as its field has it: integers given for reals as reals, lists as tuples."""
    inner = get_args(hint)
    if type(value).__module__ == "numpy":  # numbers and arrays of NumPy as Python's own
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(fitted(v, inner[0] if inner else None) for v in value)
    real = hint is float or (float in inner and int not in inner and type(None) in inner)
    return float(value) if real and value is not None else value


def from_plain(config: type, values: Mapping[str, Any]) -> Any:
    """A config from its JSON-ready form: the inverse of `plain`."""
    types = types_of(config)
    return config(**{name: _from_plain_value(v, types[name]) for name, v in values.items()})


def _from_plain_value(value: Any, hint: Any) -> Any:
    if not isinstance(value, Mapping):
        return fitted(value, hint)
    inner = {name: v for name, v in value.items() if name not in ("spec", CODE)}
    spec = spec_class(value["spec"], kind_of(hint) or AbstractSpec)
    if value.get(CODE) != code_of(value["spec"]):
        raise UserError(f"{value['spec']} has changed since this trial was planned: run it again")
    types = types_of(spec)
    return spec(**{name: _from_plain_value(v, types.get(name)) for name, v in inner.items()})


def classes_in(config: type, values: Mapping[str, Any]) -> Iterator[type]:
    """The class of a config and those of all specs in it, of its JSON-ready form."""
    yield config
    types = types_of(config)
    for name, value in values.items():
        if isinstance(value, Mapping):
            spec = spec_class(value["spec"], kind_of(types.get(name)) or AbstractSpec)
            yield from classes_in(spec, {k: v for k, v in value.items() if k not in ("spec", CODE)})


def without_folders(value: Any) -> Any:
    """A JSON-ready setting that says nothing of where the files of specs lie, and what is in them:
    what they do is in the digest of the code."""
    if isinstance(value, Mapping):
        return {
            name: shown(inner) if name == "spec" else without_folders(inner)
            for name, inner in value.items()
            if not (name == CODE and "spec" in value)
        }
    return value


def changed(thing: Any, values: Mapping[str, Any], prefix: str = "") -> tuple[Any, set[str]]:
    """A config or a spec with other values of some fields, and the names of those that it has.

    All change at once, so that only the result has to be valid. Text that is given to a field of a
    spec is read as its type.
    """
    types, ranges = types_of(type(thing)), annotated_types(type(thing))
    own = {f.name for f in fields(thing)}
    updates: dict[str, Any] = {}
    applied: set[str] = set()
    for name in dict.fromkeys(key.partition(".")[0] for key in values):
        if name not in own:
            continue
        full = f"{prefix}{name}"
        inner = f"{name}."
        within = {k.removeprefix(inner): v for k, v in values.items() if k.startswith(inner)}
        value = getattr(thing, name)
        if name in values:
            try:
                value = _value(values[name], types[name], bool(prefix))
            except ValueError as error:
                raise UserError(f"{full}={values[name]}: {error}") from None
            check_range(full, value, ranges[name])
            applied.add(full)
        if within and is_spec(value):
            value, found = changed(value, within, f"{full}.")
            applied |= found
        updates[name] = value
    try:
        return replace(thing, **updates), applied
    except ValueError as error:
        if prefix:  # the caller knows what a config belongs to
            raise ValueError(f"{prefix.rstrip('.')}: {error}") from None
        raise


def _value(value: Any, hint: Any, read: bool) -> Any:
    if kind_of(hint) is not None and not is_spec(value):
        return as_spec(value, hint)
    return parse(value, hint) if read and isinstance(value, str) else fitted(value, hint)


def as_spec(value: Any, hint: Any) -> Any:
    """A spec from itself, from its name, or from its name with some of its fields."""
    if value is None or is_spec(value):
        if is_spec(value):
            check_class(type(value), type(value).__qualname__)
        return value
    if isinstance(value, str):
        return parse(value, hint)
    if not isinstance(value, Mapping) or "spec" not in value:
        raise ValueError(f"expected a spec or its name, got {value!r}")
    rest = {k: v for k, v in value.items() if k not in ("spec", CODE)}
    return changed(parse(value["spec"], hint), rest, "spec.")[0]


def parts(key: str, spec: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """A spec with defaults under `key`, and each of its fields that differs, under their names.

    The third is the kind of those that are specs.
    """
    usual = type(spec)()
    yield key, usual, kind
    yield from _differences(key, spec, usual)


def _differences(key: str, spec: Any, usual: Any) -> Iterator[tuple[str, Any, Any]]:
    for f in fields(spec):
        value, default = getattr(spec, f.name), getattr(usual, f.name)
        name = f"{key}.{f.name}"
        if value == default:
            continue
        if not is_spec(value):
            yield name, value, None
        elif type(value) is type(default):
            yield from _differences(name, value, default)
        else:
            yield from parts(name, value, kind_of(types_of(type(spec))[f.name]))


def flat(key: str, value: Any, hint: Any) -> dict[str, Any]:
    """A setting in JSON-ready form, a spec as its reference and the fields that differ from their
    defaults: `{"model": "ndr", "model.layers": 12}`."""
    if not is_spec(value):
        return {key: _plain_value(value, hint)}
    found = parts(key, value, kind_of(hint))
    return {
        name: reference(type(v), kind) if is_spec(v) else _plain_value(v, None)
        for name, v, kind in found
    }


def described(thing: Any, prefix: str = "") -> Iterator[Setting]:
    """Every field of a config with its docstring, and every field of the specs that it holds."""
    types, docs = types_of(type(thing)), _field_docs(type(thing))
    for f in fields(thing):
        value, meaning = getattr(thing, f.name), docs.get(f.name, "")
        kind, name = kind_of(types[f.name]), f"{prefix}{f.name}"
        if kind is None:
            yield Setting(name, value, meaning)
        else:
            default = reference(type(value), kind) if is_spec(value) else value
            yield Setting(name, default, meaning, tuple(known_specs(kind)))
        if is_spec(value):
            yield from described(value, f"{name}.")


def _field_docs(config: type) -> dict[str, str]:
    """The string that follows each field in the class body, or in that of a class it extends."""
    docs: dict[str, str] = {}
    for one in reversed(config.__mro__[:-1]):
        try:
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        except (OSError, TypeError):  # written where there is no source to read
            continue
        assert isinstance(body, ast.ClassDef)
        for item, following in itertools.pairwise(body.body):
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
            ):
                doc = inspect.cleandoc(str(following.value.value)).replace("\n", " ")
                docs[item.target.id] = doc
    return docs
