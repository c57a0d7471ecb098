"""Which settings the conditions of a preset have, beside those that make them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .._spec import is_spec
from .conditions import Case
from .settings import flat, from_plain, types_of
from .study import Study, in_words


@dataclass(frozen=True)
class ConditionSettings:
    """Settings that differ from their defaults."""

    shared: dict[str, Any]
    """Those of every condition."""
    groups: list[tuple[list[str], dict[str, Any]]]
    """The others, with the conditions that have them, in words."""


def condition_settings(study: Study, preset: str) -> ConditionSettings:
    """What the conditions of a preset have, and which of it depends on the condition."""
    cases = study.cases(preset)
    found = [(case, _changes(study, case)) for case in cases]
    first = found[0][1]
    shared = {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for _, other in found)
    }
    groups: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for case, changes in found:
        own = {name: value for name, value in changes.items() if name not in shared}
        groups.setdefault(in_words(own), ([], own))[0].append(in_words(case.condition) or "all")
    depends = len(groups) > 1 or any(own for _, own in groups.values())
    return ConditionSettings(shared, list(groups.values()) if depends else [])


def _changes(study: Study, case: Case) -> Mapping[str, Any]:
    """What a case has that is not its default, without what makes it this condition."""
    made, usual, types = (
        from_plain(study.config, case.config),
        study.config(),
        types_of(study.config),
    )
    found: dict[str, Any] = {}
    for field in fields(made):
        value, default = getattr(made, field.name), getattr(usual, field.name)
        if is_spec(value):
            parts = flat(field.name, value, types[field.name])
            if type(value) is type(default):
                del parts[field.name]
            found |= parts
        elif value != default:
            found |= flat(field.name, value, types[field.name])
    return {name: value for name, value in found.items() if name not in case.condition}
