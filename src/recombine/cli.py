"""The command line: parses, calls the lab, prints."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from recombine import __version__

app = typer.Typer(
    name="recombine",
    help="A workbench for compositional generalization: run published studies, check their claims.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

data_app = typer.Typer(
    name="data",
    help="Real data sets: list and download them.",
    no_args_is_help=True,
)
app.add_typer(data_app)

StudyNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="STUDY...", help="Studies, families, or Python files that define one."),
]
StoreOption = Annotated[
    Path,
    typer.Option("--store", envvar="RECOMBINE_STORE", help="The folder that holds results."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")]
LoadOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--load",
        metavar="FILE",
        help="A Python file that may be run, with a study or a network that the store names;"
        " may be repeated.",
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with code 1 if a claim fails.")]
# The base of all usage errors; typer does not export it, and brings a click of its own.
CLICK_EXCEPTION: Any = typer.BadParameter.__mro__[2]
DEFAULT_STORE = Path("recombine-store")


def _version(asked: bool) -> None:
    if asked:
        print(f"recombine {__version__}")
        raise typer.Exit


@app.callback()
def _recombine(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _console(stderr: bool = False):
    from rich.console import Console

    # Outside of a terminal there is no width to fit into; the usual 80 columns would cut tables.
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 140
    return Console(stderr=stderr, width=width)


def _print_json(document: Any) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


@app.command()
def studies(as_json: JsonOption = False) -> None:
    """List every study: its question, source, cost at each preset, and claims."""
    from recombine.lab.registry import load, select
    from recombine.lab.study import PRESETS

    found = [load(name) for name in select([])]
    if as_json:
        _print_json({"studies": [_describe(study) for study in found]})
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
    _console().print(table)


def _describe(study: Any) -> dict[str, Any]:
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


@app.command()
def show(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study, or a family.")],
    as_json: JsonOption = False,
) -> None:
    """Show one study in full: conditions, settings, claims, the paper's numbers."""
    from recombine.lab.registry import load, select

    found = [load(name) for name in select([study])]
    if as_json:
        documents = [_describe_in_full(one) for one in found]
        _print_json(documents[0] if len(found) == 1 else {"studies": documents})
        return
    for one in found:
        _show(one)


def _describe_in_full(study: Any) -> dict[str, Any]:
    return _describe(study) | {
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

    console = _console()
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


@app.command()
def run(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY...", help="Studies, families, or Python files that define one."
        ),
    ],
    preset: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "laptop",
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds, instead of the preset's.")
    ] = None,
    seed_offset: Annotated[int, typer.Option(help="The first seed.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    engine: Annotated[
        str, typer.Option(help="What runs trials: local, or ray for several machines.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="auto|HOST:PORT",
            help="With --engine ray: the cluster; default: one of this machine alone.",
        ),
    ] = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --engine ray: a folder that all machines have, if checkpoints go there.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes of one thread each; default: one per core.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds that a trial may take before it is ended; default: no limit."),
    ] = None,
    keep_earlier: Annotated[
        bool,
        typer.Option("--keep-earlier", help="Use results of earlier code; do not run it again."),
    ] = False,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Add seeds until claims are decided, in at most three rounds.",
        ),
    ] = False,
    strict: StrictOption = False,
) -> None:
    """Run studies: finished trials are skipped, interrupted ones resume from their checkpoint."""
    import time

    from recombine.lab import run as lab
    from recombine.lab.engine import ENGINES
    from recombine.lab.errors import UserError, nearest
    from recombine.lab.progress import RunProgress
    from recombine.lab.registry import select
    from recombine.lab.store import Store
    from recombine.lab.tables import (
        beside_table,
        earlier_line,
        gave_up_lines,
        outlook_lines,
        verdict_table,
    )
    from recombine.lab.words import count, duration

    if engine not in ENGINES:
        raise UserError(f"no engine {engine!r}: {nearest(engine, ENGINES)}")
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: at least one worker is needed")
    if time_limit is not None and not time_limit > 0:
        raise UserError(f"--time-limit {time_limit:g}: give a number of seconds above 0")
    where = {"address": address, "checkpoints": checkpoints} if engine == "ray" else {}
    if not where and (address or checkpoints):
        option = "--address" if address else "--checkpoints"
        raise UserError(f"{option} is for a cluster: add --engine ray")
    runner = ENGINES[engine](workers, time_limit, **where)
    plans = lab.plan(
        select(names), preset, seeds=seeds, seed_offset=seed_offset, assignments=settings or []
    )
    console = _console()
    started = time.monotonic()
    rounds = lab.ROUNDS if until_decided else 0
    word = "1 study" if len(plans) == 1 else f"{len(plans)} studies"
    verdicts: dict[str, list[Any]] = {}
    failed = 0
    with Store.create(store) as opened:
        for number in range(rounds + 1):
            outlooks = lab.look_ahead(plans, opened, keep_earlier)
            total = len({t.id for p in plans for t in (*p.needed.values(), *p.trials)})
            skipped = total - sum(len(outlook.todo) for outlook in outlooks)
            console.print(
                f"{word} at preset {preset}: {count(total, 'trial')}"
                + (f", {skipped} of them done before" if skipped else ""),
                highlight=False,
            )
            for line in (line for outlook in outlooks for line in outlook_lines(outlook)):
                console.print(line, markup=False, highlight=False)
            try:
                with RunProgress(total - skipped, skipped, console) as progress:
                    failed += lab.execute(
                        plans, opened, runner, progress,
                        keep_earlier=keep_earlier, looks=rounds + 1,
                    )  # fmt: skip
            except KeyboardInterrupt:
                console.print("stopped; run the same command again to resume", style="yellow")
                raise typer.Exit(130) from None
            concluded = {p.study.name: lab.conclude(p, opened) for p in plans}
            verdicts |= {name: judged for name, (_, judged) in concluded.items()}
            more = [lab.more_seeds(p, verdicts[p.study.name]) for p in plans]
            last = number == rounds or not any(more)
            for p, wanted in zip(plans, more, strict=True):
                results, _ = concluded[p.study.name]
                if wanted is not None and not last:
                    continue
                if results.earlier:
                    console.print(earlier_line(results), markup=False, highlight=False)
                if p.study.beside:
                    console.print(beside_table(p.study, results))
            if last:
                break
            plans = [wanted for wanted in more if wanted is not None]
            word = f"more seeds for {'1 study' if len(plans) == 1 else f'{len(plans)} studies'}"
    found = [verdict for judged in verdicts.values() for verdict in judged]
    if found:
        console.print(verdict_table(found))
    _summary(console, found)
    if until_decided:
        for line in gave_up_lines(found):
            console.print(line, markup=False, highlight=False)
    took = duration(time.monotonic() - started)
    console.print(f"done in {took}; results are in {store}", markup=False, highlight=False)
    if failed:
        _console(stderr=True).print(
            f"recombine: {count(failed, 'trial')} failed; the reasons are above", style="red"
        )
        raise typer.Exit(1)
    _exit_if_strict(strict, found)


def _summary(console: Any, verdicts: list[Any]) -> None:
    words = {"holds": "hold", "fails": "fail", "undecided": "undecided"}
    counts = {word: sum(v.verdict == word for v in verdicts) for word in words}
    text = ", ".join(f"{n} {w if n == 1 else words[w]}" for w, n in counts.items() if n)
    if text:
        console.print(f"claims: {text}", highlight=False)


def _exit_if_strict(strict: bool, verdicts: list[Any]) -> None:
    if strict and any(v.verdict == "fails" for v in verdicts):
        raise typer.Exit(1)


@app.command()
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
    """Judge the claims of the studies in the store, at every preset and settings on their own."""
    from recombine.lab import run as lab
    from recombine.lab.errors import UserError
    from recombine.lab.files import only
    from recombine.lab.registry import load, select
    from recombine.lab.results import Results
    from recombine.lab.store import Store
    from recombine.lab.tables import earlier_line, verdict_table

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
                results = Results(study.name, "", {}, (), missing=len(study.cases("laptop")))
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
        _print_json({"claims": [vars(v) | {"earlier": n} for v, n in told]})
    else:
        console = _console()
        console.print(verdict_table(verdicts))
        _summary(console, verdicts)
    _exit_if_strict(strict, verdicts)


def _published_claims(chosen: list[str] | None, as_json: bool, strict: bool) -> None:
    from recombine.lab import published
    from recombine.lab.errors import UserError
    from recombine.lab.registry import load
    from recombine.lab.tables import verdict_table

    known = published.names()
    for name in chosen or []:
        if name not in known:
            raise UserError(f"no results of {name} come with the package: run it")
    verdicts = [v for name in chosen or known for v in published.judged(load(name))]
    if as_json:
        _print_json({"claims": [vars(v) for v in verdicts]})
    else:
        console = _console()
        console.print(verdict_table(verdicts))
        _summary(console, verdicts)
    _exit_if_strict(strict, verdicts)


@app.command()
def report(
    store: StoreOption = DEFAULT_STORE,
    out: Annotated[Path, typer.Option(help="The folder for the site.")] = Path("recombine-report"),
    files: LoadOption = None,
) -> None:
    """Write a self-contained HTML site of everything in the store, with interactive figures."""
    from recombine.lab.report import write_report
    from recombine.lab.store import Store

    left_out: list[str] = []

    def note(reference: str, reason: str) -> None:
        left_out.append(reference)
        print(f"recombine: not shown: {reference}: {reason}", file=sys.stderr)

    with Store.open(store) as opened:
        index = write_report(opened, out, note, files or [])
    print(f"report: {index}")
    if left_out:
        raise typer.Exit(1)


@app.command()
def export(
    to: Annotated[
        Path | None, typer.Option("--to", help="A .parquet or .csv file for all measurements.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the results of studies at preset laptop, as the package has them."
        ),
    ] = None,
    networks: Annotated[
        Path | None, typer.Option("--networks", help="A folder for all trained networks.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write measurements to one table, one row per measurement, or trained networks to a folder."""
    from recombine.lab.errors import UserError
    from recombine.lab.export import export_measurements, export_networks
    from recombine.lab.registry import listed
    from recombine.lab.store import Store
    from recombine.lab.words import count

    if to is None and results is None and networks is None:
        raise UserError("nothing to write: give --to FILE, --results DIR or --networks DIR")
    with Store.open(store) as opened:
        if to is not None:
            rows = export_measurements(opened, to)
            print(f"{rows} measurements: {to}")
        if results is not None:
            from recombine.lab.published import publish

            written = 0
            for path in publish(opened, results, list(listed())):
                written += 1
                print(path)
            print(f"{written} studies with whole results at preset laptop: {results}")
        if networks is not None:
            exported = count(export_networks(opened, networks), "network")
            print(f"{exported}: {networks / 'index.json'}")


@data_app.command("list")
def list_data(as_json: JsonOption = False) -> None:
    """List every data set: title, size, licence, whether it is cached, which studies read it."""
    from recombine.lab.data_use import describe_data

    found = describe_data()
    if as_json:
        _print_json({"data": found})
        return
    from recombine.lab.tables import data_table

    _console().print(data_table(found))


@data_app.command("get")
def get_data(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Data sets.")],
    given: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A file, archive or folder to take it from."),
    ] = None,
) -> None:
    """Download data sets into the cache and verify them; cached ones are not downloaded again."""
    import time

    from recombine.data import data_set, get
    from recombine.lab.data_progress import DataProgress

    chosen = [data_set(name) for name in names]  # all are refused if one is misspelt
    if given is not None and len(chosen) != 1:
        from recombine.lab.errors import UserError

        raise UserError(f"--from has the files of one data set, not of {len(chosen)}")
    console = _console(stderr=True)
    for one in chosen:
        started = time.monotonic()
        with DataProgress(one.name, console) as progress:
            got = get(one.name, progress, given=given)
        for reason in got.passed_over:
            print(f"{one.name}: passed over {reason}")
        took = f", from {got.source} in {time.monotonic() - started:.1f} s" if got.source else ""
        place = f"{one.megabytes} in {got.folder}" if one.files else "comes with the package"
        print(f"{one.name}: {place}{took}")


def main() -> None:
    """The program `recombine`. A user's mistake is one line on standard error and exit code 2."""
    import sqlite3

    from recombine.lab.errors import UserError

    try:
        code = app(standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except CLICK_EXCEPTION as error:
        if message := " ".join(error.format_message().split()):  # empty after --help
            print(f"recombine: {message}", file=sys.stderr)
        code = 2
    except UserError as error:
        print(f"recombine: {error}", file=sys.stderr)
        code = 2
    except sqlite3.DatabaseError as error:
        print(f"recombine: the store cannot be used ({error})", file=sys.stderr)
        code = 2
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    main()
