"""`recombine run`: runs studies."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ._claims import show_verdicts
from ._completion import complete_engine, complete_preset, complete_setting, complete_study
from ._options import DEFAULT_STORE, StoreOption, StrictOption
from ._print import exit_if_strict, get_console


def run(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY...",
            help="Studies, families, any part of a name that means one, or Python files.",
            autocompletion=complete_study,
        ),
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            help="smoke, laptop or paper; default: laptop, or what a study of yours has instead.",
            autocompletion=complete_preset,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds, instead of the preset's.")
    ] = None,
    seed_offset: Annotated[int, typer.Option(help="The first seed.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change a setting; may be repeated.",
            autocompletion=complete_setting,
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    engine: Annotated[
        str,
        typer.Option(
            help="What runs trials: local, or ray for several machines.",
            autocompletion=complete_engine,
        ),
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
    from recombine.lab.tables import earlier_line, gave_up_lines, outlook_lines
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
    console = get_console()
    started = time.monotonic()
    rounds = lab.ROUNDS if until_decided else 0
    word = _studies(len(plans))
    sizes = " and ".join(dict.fromkeys(p.settings.preset for p in plans))
    verdicts: dict[str, list[Any]] = {}
    failed = 0
    with Store.create(store) as opened:
        for number in range(rounds + 1):
            outlooks = lab.look_ahead(plans, opened, keep_earlier)
            total = len({t.id for p in plans for t in (*p.needed.values(), *p.trials)})
            skipped = total - sum(len(outlook.todo) for outlook in outlooks)
            console.print(
                f"{word} at preset {sizes}: {count(total, 'trial')}"
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
                _show_results(console, p.study, results, len(plans))
            if last:
                break
            plans = [wanted for wanted in more if wanted is not None]
            word = f"more seeds for {_studies(len(plans))}"
    found = [verdict for judged in verdicts.values() for verdict in judged]
    show_verdicts(found, console)
    if until_decided:
        for line in gave_up_lines(found):
            console.print(line, markup=False, highlight=False)
    took = duration(time.monotonic() - started)
    console.print(f"done in {took}; results are in {store}", markup=False, highlight=False)
    console.print(f"next: {_next(store)}", markup=False, highlight=False, soft_wrap=True)
    if failed:
        get_console(stderr=True).print(
            f"recombine: {count(failed, 'trial')} failed; the reasons are above", style="red"
        )
        raise typer.Exit(1)
    exit_if_strict(strict, found)


def _studies(number: int) -> str:
    return "1 study" if number == 1 else f"{number} studies"


def _show_results(console: Any, study: Any, results: Any, studies: int) -> None:
    """What was measured, and our numbers beside the paper's."""
    from recombine.lab.measured import MOST_ROWS, measured_tables
    from recombine.lab.tables import BESIDE_LEGEND, beside_table

    for part in measured_tables(results, console.width, max(MOST_ROWS // studies, 8)):
        console.print(part, highlight=False)
    beside = beside_table(study, results, console.width)
    if beside is not None:
        console.print("", beside, BESIDE_LEGEND, sep="\n", highlight=False)
    console.print()


def _next(store: Path) -> str:
    """The command that shows what was found."""
    import shlex

    where = "" if store == DEFAULT_STORE else f" --store {shlex.quote(str(store))}"
    return f"recombine report{where} --open"
