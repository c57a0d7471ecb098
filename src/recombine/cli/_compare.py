"""`recombine compare`: a user's network beside those of the package, on a suite of tasks."""

from pathlib import Path
from typing import Annotated

import typer

from ._options import DEFAULT_STORE, JsonOption, StoreOption
from ._print import get_console, print_json

FAMILY = "compare"


def compare(
    network: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py[:NAME]",
            help="A Python file with a spec (a frozen dataclass with `build`) or a function"
            " `build(words, classes, key)`; or the name of a network of the package.",
        ),
    ],
    on: Annotated[str, typer.Option("--on", help="The suite: sequences, seq2seq or images.")] = (
        "sequences"
    ),
    budget: Annotated[
        str, typer.Option(help="The time for everything: 30m, 90s, 2h. Steps follow from it.")
    ] = "30m",
    beside: Annotated[
        str | None,
        typer.Option(help="Networks to stand beside it, with commas; default: those of the suite."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 3,
    steps: Annotated[
        int | None, typer.Option(help="Updates of every network, instead of a budget.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated."),
    ] = None,
    preset: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "laptop",
    store: StoreOption = DEFAULT_STORE,
    workers: Annotated[
        int | None, typer.Option(help="Processes of one thread each; default: one per core.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a network on a suite of tasks beside others: same items, batches, updates and seeds."""
    from recombine.lab import run as lab
    from recombine.lab.budget import fit, seconds_of
    from recombine.lab.engine import LocalEngine
    from recombine.lab.errors import UserError, nearest
    from recombine.lab.progress import RunProgress
    from recombine.lab.registry import listed, load
    from recombine.lab.specs import in_file
    from recombine.lab.store import Store
    from recombine.lab.suites import document_of, suite_table, values_of
    from recombine.lab.tables import beside_table
    from recombine.lab.words import count, duration

    suites = [n.partition("/")[2] for n in listed() if n.startswith(f"{FAMILY}/")]
    if on not in suites:
        raise UserError(f"no suite {on!r}: {nearest(on, suites)}")
    if seeds < 1:
        raise UserError(f"--seeds {seeds}: at least one seed is needed")
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: at least one worker is needed")
    limit = seconds_of(budget)
    if network.endswith(".py"):
        network = in_file(Path(network).expanduser())
    study = load(f"{FAMILY}/{on}")
    others = beside.split(",") if beside else values_of(study, preset, "model")
    models = ",".join(dict.fromkeys([network, *(name.strip() for name in others)]))
    assignments = [f"model={models}", *(settings or [])]
    engine = LocalEngine(workers)
    console = get_console(stderr=as_json)
    if steps is None:
        (once,) = lab.plan([study.name], preset, seeds=1, assignments=assignments)
        with console.status("timing a few steps of every network and task"):
            found = fit(study.name, once.trials, limit, seeds=seeds, workers=engine.workers)
        steps = found.steps
        console.print(
            f"timed {count(found.timed, 'trial')}: {steps} updates for every network are expected"
            f" to take {duration(found.seconds)}",
            highlight=False,
        )
    plans = lab.plan(
        [study.name], preset, seeds=seeds, assignments=[*assignments, f"steps={steps}"]
    )
    with Store.create(store) as opened:
        (outlook,) = lab.look_ahead(plans, opened)
        done = len(plans[0].trials) - len(outlook.todo)
        try:
            with RunProgress(len(outlook.todo), done, console) as progress:
                failed = lab.execute(plans, opened, engine, progress)
        except KeyboardInterrupt:
            console.print("stopped; run the same command again to resume", style="yellow")
            raise typer.Exit(130) from None
        results, _ = lab.conclude(plans[0], opened)
        if as_json:
            print_json(document_of(study, results))
        else:
            console.print(suite_table(study, results))
            numbers = beside_table(study, results, console.width)
            if numbers is not None:
                console.print(numbers)
            console.print(
                f"results are in {store}; `recombine report --store {store}` draws them",
                markup=False, highlight=False,
            )  # fmt: skip
    if failed:
        get_console(stderr=True).print(
            f"recombine: {count(failed, 'trial')} failed; the reasons are above", style="red"
        )
        raise typer.Exit(1)
