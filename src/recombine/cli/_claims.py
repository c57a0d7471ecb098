"""`recombine claims`: judges the claims of studies."""

import sys
from typing import Annotated, Any

import typer

from ._options import DEFAULT_STORE, JsonOption, LoadOption, StoreOption, StrictOption, StudyNames
from ._print import exit_if_strict, get_console, is_for_people, print_json, print_rows


def claims(
    names: StudyNames = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
    strict: StrictOption = False,
    files: LoadOption = None,
    of_package: Annotated[
        bool,
        typer.Option("--published", help="Of the results that come with the package, not a store."),
    ] = False,
) -> None:
    """Judge the claims of the studies in the store, at every preset and settings on their own.

    Where output is no terminal, rows have tabs between their columns.
    """
    from recombine.lab import run as lab
    from recombine.lab.errors import UserError
    from recombine.lab.files import only
    from recombine.lab.registry import load, select
    from recombine.lab.results import Results
    from recombine.lab.store import Store
    from recombine.lab.tables import earlier_line

    chosen = select(names) if names else None
    if of_package:
        _published_claims(chosen, as_json, strict)
        return
    named = [name for name in chosen or [] if name.endswith(".py")]
    with Store.open(store) as opened, only([*named, *(files or [])]):
        verdicts: list[Any] = []
        earlier: list[int] = []
        for reference in chosen if chosen is not None else opened.references():
            try:
                study = load(reference)
            except UserError as error:
                if chosen is not None:
                    raise
                print(f"recombine: left out: {error}", file=sys.stderr)
                continue
            several = opened.all_settings(study.name)
            if not several:
                missing = len(study.cases(study.default_preset))
                results = Results(study.name, "", {}, (), missing=missing)
                verdicts += lab.verdicts(study, results)
                earlier += [0] * len(study.claims)
            for settings in several:
                try:
                    results = lab.collect(study, settings, opened)
                except UserError as error:  # of a setting that the study no longer has
                    print(f"recombine: left out: {error}", file=sys.stderr)
                    continue
                verdicts += lab.verdicts(study, results)
                earlier += [results.earlier] * len(study.claims)
                if results.earlier:
                    print(f"recombine: {earlier_line(results)}", file=sys.stderr)
    if as_json:
        told = zip(verdicts, earlier, strict=True)
        print_json({"claims": [vars(v) | {"earlier": n} for v, n in told]})
    else:
        show_verdicts(verdicts)
    exit_if_strict(strict, verdicts)


def show_verdicts(verdicts: list[Any], console: Any = None) -> None:
    """Every claim with its verdict, and how many there are of each; on a console, or as rows."""
    from recombine.lab.study import in_words
    from recombine.lab.verdict_lines import evidence_lines, summaries, verdict_groups

    if console is None and not is_for_people():
        print_rows(
            (v.study, v.claim, v.verdict, v.preset, in_words(v.overrides), v.statement,
             "; ".join(evidence_lines(v)))
            for v in verdicts
        )  # fmt: skip
        return
    console = console or get_console()
    for part in verdict_groups(verdicts):
        console.print(part, highlight=False)
    for line in summaries(verdicts):
        console.print(line, markup=False, highlight=False)


def _published_claims(chosen: list[str] | None, as_json: bool, strict: bool) -> None:
    from recombine.lab import published
    from recombine.lab.errors import UserError
    from recombine.lab.registry import load

    known = published.names()
    for name in chosen or []:
        if name not in known:
            raise UserError(f"no results of {name} come with the package: run it")
    verdicts = [v for name in chosen or known for v in published.judged(load(name))]
    if as_json:
        print_json({"claims": [vars(v) for v in verdicts]})
    else:
        show_verdicts(verdicts)
    exit_if_strict(strict, verdicts)
