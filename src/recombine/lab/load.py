"""Trained networks by study, seed and settings."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .._spec import is_spec
from . import registry
from .checkpoint import Damaged
from .conditions import at
from .errors import UserError, nearest
from .results import Record, Results, _same
from .settings import types_of
from .specs import IN_FILE, file_of, shown
from .store import Store
from .stored_files import ArrayFile
from .study import Study, in_words
from .words import count

_NONE = object()
MOST_LISTED = 8


class _Found(NamedTuple):
    """A kept network, and the trial that it is of."""

    preset: str
    record: Record
    file: ArrayFile


def load(
    study: str,
    *,
    seed: int | None = None,
    store: str | Path | None = None,
    preset: str | None = None,
    name: str = "network",
    **condition: Any,
) -> Any:
    """The trained network of one finished trial of a study.

    ```python
    recombine.load("data-router/table-lookup", seed=0, model="ndr", direction="backward")
    ```

    Exactly one trial has to match. Only the network's settings and numbers are read from the store:
    a class in a Python file of yours is loaded only if the file is named here, as the study or as a
    setting, such as `model="my_network.py:MyNetwork"`.

    **Arguments:**

    - `study`: its name, or a Python file.
    - `seed`: may be left out if there is one.
    - `store`: the folder of results; by default `RECOMBINE_STORE`, or `recombine-store`.
    - `preset`: by default that of the study's last run, with the settings of that run.
    - `name`: of the network, if trials keep several.
    - `condition`: settings that the trial has; `**{"model.layers": 10}` for those of a spec.
    """
    references = registry.select([study])
    if len(references) > 1:
        raise UserError(f"{study} is a family: name one study of {', '.join(references)}")
    recipe = registry.load(references[0])
    folder = Path(store or os.environ.get("RECOMBINE_STORE") or "recombine-store")
    with Store.open(folder) as opened:
        there = list(_kept(recipe, opened, preset, name))
        if not there:
            whose = f"{recipe.name} at preset {preset}" if preset else recipe.name
            raise UserError(f"{folder} has no network {name!r} of {whose}: run the study first")
        found = _matching(there, recipe, condition, seed)
        try:
            return opened.network(found.file, _named_files(references[0], condition)).network
        except (Damaged, OSError) as error:
            raise UserError(f"{found.file.file} cannot be read: {error}") from None


def _kept(study: Study, store: Store, preset: str | None, name: str) -> Iterator[_Found]:
    """The networks of a study's finished trials, of the present code if there are such."""
    from .run import collect

    last = store.latest_settings(study.name)
    for settings in [last] if preset is None else store.settings(study.name):
        if settings is None or preset not in (None, settings.preset):
            continue
        results: Results = collect(study, settings, store)
        for record in results.records:
            if name in (files := store.kept(record.id)):
                yield _Found(settings.preset, record, files[name])


def _matching(
    there: list[_Found], study: Study, condition: dict[str, Any], seed: int | None
) -> _Found:
    """The one network with these settings; a trial may be there at several settings."""
    for setting in condition:
        if all(at(one.record.config, setting, _NONE) is _NONE for one in there):
            known = types_of(study.config)
            raise UserError(f"{study.name} has no setting {setting!r}: {nearest(setting, known)}")
    meant = {
        k: shown(v) if isinstance(v, str) else v for k, v in condition.items()
    }  # a file by its name, wherever it lies
    found = {
        one.record.id: one
        for one in there
        if all(_same(at(one.record.config, k, _NONE), v) for k, v in meant.items())
        and seed in (None, one.record.seed)
    }
    if len(found) == 1:
        return found.popitem()[1]
    asked = in_words(meant | ({} if seed is None else {"seed": seed})) or "no settings"
    if not found:
        raise UserError(f"no network of {study.name} with {asked}; there are {_listed(there)}")
    raise UserError(
        f"{count(len(found), 'network')} of {study.name} with {asked}: say which of"
        f" {_listed(list(found.values()))}"
    )


def _listed(found: list[_Found]) -> str:
    """What there is, in one line."""
    seeds: dict[str, set[int]] = {}
    for one in found:
        label = in_words(one.record.condition)
        seeds.setdefault(label, set()).add(one.record.seed)
    texts = [
        f"{label or 'one condition'} (seed {', '.join(map(str, sorted(of)))})"
        for label, of in seeds.items()
    ]
    more = len(texts) - MOST_LISTED
    return "; ".join(texts[:MOST_LISTED]) + (f"; and {more} more" if more > 0 else "")


def _named_files(reference: str, condition: dict[str, Any]) -> list[str]:
    """The Python files that the user has named."""
    named = [reference] if reference.endswith(".py") else []
    for value in condition.values():
        if isinstance(value, str) and (found := IN_FILE.fullmatch(value)):
            named.append(found["path"])
        elif is_spec(value) and not type(value).__module__.startswith("recombine."):
            named.append(file_of(type(value)))
    return named
