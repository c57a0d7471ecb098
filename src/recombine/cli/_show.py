"""`recombine show`: one study in full."""

from typing import Annotated, Any

import typer

from ._completion import complete_study
from ._options import JsonOption
from ._print import get_console, print_json
from ._studies import describe


def show(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY...",
            help="Studies, families, any part of a name that means one, or Python files.",
            autocompletion=complete_study,
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Show one study in full: conditions, settings, claims, the paper's numbers."""
    from recombine.lab.registry import load, select

    found = [load(name) for name in select(names)]
    if as_json:
        documents = [_describe_in_full(one) for one in found]
        print_json(documents[0] if len(found) == 1 else {"studies": documents})
        return
    for one in found:
        _show(one)


def _describe_in_full(study: Any) -> dict[str, Any]:
    from recombine.lab.condition_settings import condition_settings
    from recombine.lab.study_code import code_places

    paper = [{"quantity": b.quantity, **vars(b.paper)} for b in study.beside]
    for row in paper:
        row.pop("line")  # of a document that readers do not have
    return describe(study) | {
        "conditions": {n: [case.condition for case in study.cases(n)] for n in study.presets},
        "depends": {
            n: [{"condition": case.condition, "settings": case.depends} for case in study.cases(n)]
            for n, preset in study.presets.items()
            if preset.depends is not None
        },
        "changed": {
            name: {
                "shared": found.shared,
                "groups": [{"conditions": c, "settings": s} for c, s in found.groups],
            }
            for name in study.presets
            for found in [condition_settings(study, name)]
        },
        "settings": [setting._asdict() for setting in study.settings()],
        "paper": paper,
        "code": [place._asdict() for place in code_places(study)],
        "notes": study.notes,
    }  # fmt: skip


def _show(study: Any) -> None:
    from rich.markdown import Markdown
    from rich.markup import escape

    from recombine.lab.study_tables import study_tables

    console = get_console()
    console.print(f"[bold]{escape(study.name)}[/]  {escape(study.title)}", highlight=False)
    console.print(escape(study.question), highlight=False)
    source = escape(f"{study.source.document}, {study.source.where}")
    console.print(f"[dim]{source}[/]\n", highlight=False)
    for table in study_tables(study):
        console.print(table, highlight=False)
        console.print()
    if study.notes:
        console.print(Markdown(study.notes))
