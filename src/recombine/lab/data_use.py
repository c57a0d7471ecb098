"""Which data sets studies read: the one that the setting `data` names, or a spec of its name."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from recombine import data

from .._folders import data_folder
from .registry import load, select
from .study import Study, Trial


def require_data(trials: Iterable[Trial]) -> None:
    """Refuse trials whose data set is not cached, with the command that gets it."""
    for name in dict.fromkeys(name for trial in trials for name in _named(trial.config)):
        if name in data.DATA_SETS:
            data.require(name)


def _named(config: Mapping[str, Any]) -> list[str]:
    """What may be the name of a data set: the setting `data`, and specs of a data set's name."""
    specs = (value.get("spec") for value in config.values() if isinstance(value, dict))
    return [str(name) for name in (config.get("data"), *specs)]


def describe_data() -> list[dict[str, Any]]:
    """Every data set, whether it is cached, and which studies can read it."""
    studies = [load(name) for name in select([])]
    return [
        {
            "name": one.name,
            "title": one.title,
            "bytes": one.size,
            "licence": one.licence,
            "cached": data.is_cached(one.name),
            "folder": str(data_folder(one.name)) if one.files else None,
            "sources": [str(source) for source in one.sources],
            "studies": [use for study in studies if (use := _use(study, one.name))],
        }
        for one in data.DATA_SETS.values()
    ]


def _use(study: Study, name: str) -> dict[str, Any] | None:
    """The setting with which a study reads a data set, and the presets that have it, if any."""
    kind = get_type_hints(study.config).get("data")
    if get_origin(kind) is not Literal or name not in get_args(kind):
        return None
    in_order = [
        preset
        for preset in study.presets
        if any(case.config["data"] == name for case in study.cases(preset))
    ]
    return {"study": study.name, "set": f"data={name}", "presets": in_order}
