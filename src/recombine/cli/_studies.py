"""`recombine studies`: every study."""

from typing import Any

from ._options import JsonOption
from ._print import get_console, print_json


def studies(as_json: JsonOption = False) -> None:
    """List every study: its question, source, cost at each preset, and claims."""
    from recombine.lab.registry import load, select
    from recombine.lab.study import PRESETS

    found = [load(name) for name in select([])]
    if as_json:
        print_json({"studies": [describe(study) for study in found]})
        return
    from rich.table import Table

    table = Table(title="studies", title_justify="left", show_lines=True)
    for column in ("study", "question", "source"):
        table.add_column(column, ratio=None if column == "study" else 2)
    for preset in PRESETS:
        table.add_column(preset, ratio=1)
    table.add_column("claims", justify="right")
    for study in found:
        costs = [study.presets[p].cost for p in PRESETS]
        claims = str(len(study.claims))
        table.add_row(study.name, study.question, study.source.where, *costs, claims)
    get_console().print(table)


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
