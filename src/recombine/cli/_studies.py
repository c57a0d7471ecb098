"""`recombine studies`: every study in a line."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import DEFAULT_STORE, JsonOption, StoreOption
from ._print import get_console, is_for_people, print_json, print_rows


def studies(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS...", help="Only studies whose name, question or paper has all of these."
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """List studies: what each asks, its cost, and how its claims were judged last.

    Where output is no terminal, rows have tabs between their columns, and nothing is shortened.
    """
    from recombine.lab.errors import UserError
    from recombine.lab.overview import overview, speaks_of
    from recombine.lab.registry import load, select

    found = [load(name) for name in select([])]
    for word in words or []:
        found = [study for study in found if speaks_of(study, word)]
    if not found:
        wanted = " and ".join(map(repr, words or []))
        raise UserError(f"no study has {wanted} in its name, question or paper")
    if as_json:
        print_json({"studies": [describe(study) for study in found]})
        return
    rows = overview(found, _store(store))
    if is_for_people():
        from recombine.lab.study_lines import study_lines

        console = get_console()
        for line in study_lines(rows, console.width, console.encoding):
            console.print(line, no_wrap=True, overflow="ellipsis", highlight=False)
    else:
        print_rows(map(_cells, rows))


def _store(folder: Path) -> Any:
    """The store, if there is one that can be read."""
    from recombine.lab.errors import UserError
    from recombine.lab.store import Store

    if not (folder / "store.sqlite").exists():
        return None
    try:
        return Store.open(folder)
    except UserError as error:
        print(f"recombine: without the store: {error}", file=sys.stderr)
        return None


def _cells(row: Any) -> list[object]:
    from recombine.lab.study import PRESETS

    study = row.study
    costs = [study.presets[p].cost if p in study.presets else "" for p in PRESETS]
    paper = f"{study.source.document}, {study.source.where}"
    counts = row.counts.values()
    return [study.name, study.question, paper, *costs, len(study.claims), *counts, row.judged]


def describe(study: Any) -> dict[str, Any]:
    return {
        "name": study.name,
        "title": study.title,
        "source": f"{study.source.document}, {study.source.where}",
        "question": study.question,
        "presets": {
            name: {
                "cost": preset.cost,
                "seeds": preset.seeds,
                "conditions": len(preset.conditions),
                "trials": len(study.cases(name)) * preset.seeds,
            }
            for name, preset in study.presets.items()
        },
        "claims": [
            {"claim": c.name, "statement": c.statement, "where": c.where} for c in study.claims
        ],
    }
