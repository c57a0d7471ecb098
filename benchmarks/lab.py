"""What the lab itself costs: trials that do nothing, from plan to verdict.

    make bench

The parent's processor time per trial must not depend on how many trials there are. A trial's time
on the clock is that of a worker, which loads the study's file and makes a key.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from recombine.lab import run
from recombine.lab.engine import ENGINES
from recombine.lab.progress import RunProgress
from recombine.lab.registry import load
from recombine.lab.store import Store

SIZES = (1_000, 3_000, 10_000)
SHAPES = 20

STUDY = f"""
from dataclasses import dataclass

from recombine.lab import Preset, Source, Study, grid


@dataclass(frozen=True)
class Config:
    width: int = 0
    rate: float = 0.1


def trial(config, key, run):
    run.metric("nothing", config.width)


preset = Preset(seeds=1, conditions=grid(width=tuple(range({SHAPES}))))
study = Study(
    name="benchmarks/nothing",
    title="Nothing",
    source=Source("Nobody", "nowhere"),
    question="What does nothing cost?",
    config=Config,
    trial=trial,
    presets={{"smoke": preset, "laptop": preset, "paper": preset}},
)
"""


def cost(study: Path, trials: int, engine: str) -> tuple[float, float, float]:
    """Seconds of the parent's processor for planning and for the rest, and on the clock."""
    started, begun = time.perf_counter(), time.process_time()
    plans = run.plan([str(study)], seeds=trials // SHAPES)
    planned = time.process_time() - begun
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "store") as store:
        # Bars are drawn as on a terminal, which is a part of the cost.
        with open(os.devnull, "w") as void:
            console = Console(file=void, force_terminal=True)
            with RunProgress(trials, 0, console) as progress:
                failed = run.execute(plans, store, ENGINES[engine](), progress)
        results, _ = run.conclude(plans[0], store)
        assert failed == 0
        assert len(results.records) == trials
    processor = time.process_time() - begun
    return planned, processor - planned, time.perf_counter() - started


def main(engines: Sequence[str] = tuple(ENGINES), sizes: Sequence[int] = SIZES) -> None:
    table = Table("engine", "trials", title="Trials of no work, per trial", title_justify="left")
    for column in ("planning, ms of the parent's processor", "the rest", "ms on the clock"):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "nothing.py"
        study.write_text(STUDY)
        load(str(study))
        for engine in engines:
            for trials in sizes:
                each = [f"{1000 * s / trials:.2f}" for s in cost(study, trials, engine)]
                table.add_row(engine, f"{trials:,}", *each)
    Console().print(table)


if __name__ == "__main__":
    main(sizes=[int(size) for size in sys.argv[1:]] or SIZES)
