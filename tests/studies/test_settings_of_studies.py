"""No study takes a setting that makes no sense: it is refused in one line before anything runs."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import pytest

from recombine._ranges import OrInfinite, annotated_types
from recombine._spec import AbstractSpec, is_registered, is_spec, known_specs
from recombine.lab import UserError
from recombine.lab.registry import load, select
from recombine.lab.settings import changed, types_of
from recombine.models import specs

UNBOUNDED = {
    "start", "smallest", "largest",  # logarithms
    "outer_bias", "bias", "mask_bias", "free_logit",
}  # fmt: skip
"""Real numbers that may be negative."""


def numbers(thing: Any, prefix: str = "") -> Iterator[tuple[str, type, Any]]:
    """Every number that a config holds, or a spec in it, with its type and range."""
    types, ranges = types_of(type(thing)), annotated_types(type(thing))
    for f in fields(thing):
        value, hint = getattr(thing, f.name), types[f.name]
        if is_spec(value):
            yield from numbers(value, f"{prefix}{f.name}.")
        for kind in (int, float):
            if kind in (hint, *get_args(hint)):
                yield f"{prefix}{f.name}", kind, ranges[f.name]


def out_of_range(setting: str, kind: type, hint: Any) -> list[str]:
    values = ["-999999999999"] if kind is int else ["nan", "-inf"]
    if kind is float and OrInfinite() not in get_args(hint):
        values.append("inf")
    if setting.rpartition(".")[2] not in UNBOUNDED:
        values.append("-5")
    return values


SPECS = {
    spec
    for kind in AbstractSpec.__subclasses__() if kind.__module__.startswith(specs.__name__)
    for spec in known_specs(kind).values() if is_registered(spec, kind)
}  # fmt: skip


@pytest.mark.parametrize("spec", sorted(SPECS, key=lambda spec: spec.__name__))
def test_numbers_of_specs_out_of_their_range_are_refused(spec):
    for setting, kind, hint in numbers(spec()):
        for value in out_of_range(setting, kind, hint):
            with pytest.raises(ValueError, match=f"model.{setting}="):
                changed(spec(), {setting: value}, "model.")


@pytest.mark.parametrize("name", select([]))
def test_numbers_out_of_their_range_are_refused(name):
    study = load(name)
    tried = 0
    for setting, kind, hint in numbers(study.config()):
        own_type = types_of(study.config)[setting.partition(".")[0]]
        for value in out_of_range(setting, kind, hint):
            if "." not in setting and getattr(own_type, "__origin__", None) is tuple:
                value = ",".join([value] * len(getattr(study.config(), setting)))
            with pytest.raises(UserError, match=r"^[^\n]*\n?$") as refused:
                study.cases("laptop", study.parse([f"{setting}={value}"]))
            # Some are of a spec that no condition of the preset has.
            message = str(refused.value)
            assert f"{setting}=" in message or f"no setting {setting!r}" in message
            tried += 1
    assert tried or not any(numbers(study.config()))
