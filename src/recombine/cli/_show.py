"""`recombine show`: one study in full."""

from typing import Annotated, Any

import typer

from ._options import JsonOption
from ._print import get_console, print_json
from ._studies import describe


def show(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study, or a family.")],
    as_json: JsonOption = False,
) -> None:
    """Show one study in full: conditions, settings, claims, the paper's numbers."""
    from recombine.lab.registry import load, select

    found = [load(name) for name in select([study])]
    if as_json:
        documents = [_describe_in_full(one) for one in found]
        print_json(documents[0] if len(found) == 1 else {"studies": documents})
        return
    for one in found:
        _show(one)


def _describe_in_full(study: Any) -> dict[str, Any]:
    return describe(study) | {
        "conditions": {n: [case.condition for case in study.cases(n)] for n in study.presets},
        "depends": {
            n: [{"condition": case.condition, "settings": case.depends} for case in study.cases(n)]
            for n, preset in study.presets.items()
            if preset.depends is not None
        },
        "settings": [setting._asdict() for setting in study.settings()],
        "paper": [{"quantity": b.quantity, **vars(b.paper)} for b in study.beside],
        "notes": study.notes,
    }


def _show(study: Any) -> None:
    from rich.markdown import Markdown
    from rich.markup import escape
    from rich.table import Table

    from recombine.lab.tables import axes_text, depends_table, settings_table

    console = get_console()
    title, question = escape(study.title), escape(study.question)
    console.print(f"[bold]{study.name}[/]  {title}\n{question}", highlight=False)
    source = escape(f"{study.source.document}, {study.source.where}")
    console.print(f"[dim]{source}[/]\n", highlight=False)
    presets = Table(title="presets", title_justify="left")
    for column in ("preset", "cost", "seeds", "trials", "conditions"):
        presets.add_column(column)
    for name, preset in study.presets.items():
        trials = str(len(study.cases(name)) * preset.seeds)
        presets.add_row(name, preset.cost, str(preset.seeds), trials, axes_text(study.cases(name)))
    console.print(presets)
    for name, preset in study.presets.items():
        if preset.depends is not None:
            console.print(depends_table(name, study.cases(name)))
    console.print(settings_table(study.settings()))
    claims = Table(title="claims", title_justify="left")
    for column in ("claim", "statement", "where"):
        claims.add_column(column)
    for claim in study.claims:
        claims.add_row(claim.name, escape(claim.statement), escape(claim.where))
    console.print(claims)
    if study.beside:
        numbers = Table(title="the paper's numbers", title_justify="left")
        for column in ("quantity", "value", "where", "note"):
            numbers.add_column(column)
        for row in study.beside:
            paper = row.paper
            words = map(escape, (row.quantity, f"{paper.value:.6g}", paper.artifact, paper.note))
            numbers.add_row(*words)
        console.print(numbers)
    if study.notes:
        console.print(Markdown(study.notes))
