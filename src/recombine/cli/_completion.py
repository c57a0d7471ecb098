"""Tab completion of studies, presets, settings and data sets.

The shell starts the program for every completion, so this loads only what a completion needs. A
mistake in the words before makes no suggestion, and no message.
"""

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from typing import Any, get_args

import typer

Suggestion = tuple[str, str]
"""What may be written, and what it means."""
ASKED = "_RECOMBINE_COMPLETE"
"""The environment variable with which a shell asks for a completion."""
Complete = Callable[[typer.Context, str], list[Suggestion]]


def _quietly(suggest: Callable[[typer.Context, str], Iterator[Suggestion]]) -> Complete:
    def complete(ctx: typer.Context, incomplete: str) -> list[Suggestion]:
        from recombine.lab.errors import UserError

        try:
            return list(suggest(ctx, incomplete))
        except (UserError, ValueError):
            return []

    return complete


@_quietly
def complete_study(ctx: typer.Context, incomplete: str) -> Iterator[Suggestion]:
    """Families and studies; what comes after the family where that is how the word begins."""
    from recombine.lab.registry import families, listed

    names = [*families(), *listed()]
    if not any(name.startswith(incomplete) for name in names):
        names = [own for name in listed() if (own := name.partition("/")[2])]
    elif "/" not in incomplete:
        whole = [name for name in families() if name.startswith(incomplete)]
        names = names if len(whole) == 1 else whole
    for name in dict.fromkeys(names):
        yield name, ""


@_quietly
def complete_preset(ctx: typer.Context, incomplete: str) -> Iterator[Suggestion]:
    from recombine.lab.study import PRESETS

    costs: dict[str, str] = {}
    for study in _studies(ctx):
        costs |= {name: preset.cost for name, preset in study.presets.items() if name not in costs}
    for name in costs or PRESETS:
        yield name, costs.get(name, "")


@_quietly
def complete_setting(ctx: typer.Context, incomplete: str) -> Iterator[Suggestion]:
    """Settings of the studies; their values where one setting alone is meant."""
    from recombine.lab.specs import shown

    name, equals, _ = incomplete.partition("=")
    settings: dict[str, Any] = {}
    for study in _studies(ctx):
        for setting in _settings(study, ctx):
            settings.setdefault(setting.name, setting)
    wanted = [s for n, s in settings.items() if (n == name if equals else n.startswith(name))]
    if len(wanted) > 1:
        for setting in wanted:
            yield f"{setting.name}=", setting.meaning
    for setting in wanted if len(wanted) == 1 else []:
        for value in setting.choices or _values(setting, _studies(ctx)):
            yield f"{setting.name}={shown(value)}", setting.meaning


@_quietly
def complete_data(ctx: typer.Context, incomplete: str) -> Iterator[Suggestion]:
    from recombine.data import DATA_SETS

    for one in DATA_SETS.values():
        yield one.name, one.title


@_quietly
def complete_engine(ctx: typer.Context, incomplete: str) -> Iterator[Suggestion]:
    yield "local", "processes on this machine"
    yield "ray", "one or several machines"


def _studies(ctx: typer.Context) -> list[Any]:
    """The studies that were named before."""
    from recombine.lab.registry import load, select

    # Before an option that still wants its value, arguments are not yet told apart.
    names = ctx.params.get("names") or [word for word in ctx.args if not word.startswith("-")]
    return [load(name) for name in select(list(names))] if names else []


def _settings(study: Any, ctx: typer.Context) -> list[Any]:
    """The settings of a study, with those of the specs that were chosen before."""
    from recombine.lab.settings import changed, described

    config = study.config()
    chosen = [text for text in ctx.params.get("settings") or [] if "=" in text]
    with contextlib.suppress(Exception):  # one that does not fit yet
        config = changed(config, study.parse(chosen, study.default_preset))[0]
    return list(described(config))


def _values(setting: Any, studies: list[Any]) -> list[Any]:
    """The values that a setting can have, if there are few; otherwise its default."""
    from recombine.lab.settings import types_of
    from recombine.lab.study import setting_text

    for study in studies:
        hint = types_of(study.config).get(setting.name)
        if hint is bool:
            return ["true", "false"]
        if hint is not None and str(getattr(hint, "__origin__", "")) == "typing.Literal":
            return list(get_args(hint))
    return [setting_text(setting.default)]


@contextlib.contextmanager
def words_of_bash() -> Iterator[None]:
    """Bash takes `name=value` for three words: they are one here, and what comes before the last
    `=` is left out of the answer, which bash puts after it."""
    if os.environ.get(ASKED) != "complete_bash":
        yield
        return
    words, place = joined(os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"]))
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words), str(place)
    current = words[place] if place < len(words) else ""
    before = current[: current.rfind("=") + 1]
    value = before.partition("=")[2]  # after an option: --set=model=n
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            yield
    finally:
        for line in said.getvalue().splitlines():
            print(line.removeprefix(before).removeprefix(value))


def joined(words: list[str], place: int) -> tuple[list[str], int]:
    """Words of which those around `=` are one, and where the word at `place` is now."""
    found: list[str] = []
    places: list[int] = []
    follows = False
    for word in words:
        if found and (word == "=" or follows):
            found[-1] += word
        else:
            found.append(word)
        follows = word == "="
        places.append(len(found) - 1)
    return found, places[place] if place < len(places) else len(found)
