"""Section 1.2: how many of all combinations a training set has, and what steps save."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from recombine import tasks
from recombine._ranges import Count
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    all_of,
    exact,
    figures,
    grid,
)

from . import DOCUMENT


class Coverage(NamedTuple):
    """Different items of every size, in training and at all."""

    sizes: np.ndarray
    covered: np.ndarray
    total: np.ndarray
    miscounted: int = 0
    """Items by which totals differ from a list of all items of one and two functions."""


@dataclass(frozen=True)
class Config:
    """Settings of the study of coverage."""

    data: Literal["table-lookup", "ctlpp", "scan-length", "scan-jump"] = "table-lookup"
    """The training set."""
    values: Count = 5
    """Values of a number that is added, M."""
    operands: Count = 4
    """Numbers that are added, as many as in Figure 1.3."""

    def __post_init__(self) -> None:
        if self.values**self.operands > 10**7:
            raise ValueError(
                f"values={self.values} with operands={self.operands} make a table of more than ten "
                "million entries; use fewer"
            )


def lookup_coverage(task, train) -> Coverage:
    """Coverage by the number of functions, k: of m symbols and n functions there are m n^k items.

    Functions that are never composed count as neither.
    """
    symbols = len(task.lookup.symbols)
    composed = len(task.lookup.tables) - getattr(task, "alone", 0)
    tokens = np.unique(np.asarray(train.tokens), axis=0)
    kept = tokens[(tokens <= symbols + composed).all(axis=1)]
    counts = (kept > 0).sum(axis=1) - 1
    sizes = np.arange(1, counts.max() + 2)
    covered = np.bincount(counts, minlength=len(sizes) + 1)[1:]
    total = symbols * composed**sizes
    listed = [all_items(task.lookup, composed, size) for size in (1, 2)]
    return Coverage(sizes, covered, total, int(np.abs(np.array(listed) - total[:2]).sum()))


def all_items(lookup: "tasks.LookupTables", functions: int, size: int) -> int:
    """How many different sequences there are of `size` functions, by writing all of them."""
    places = np.indices((len(lookup.symbols), *(functions,) * size)).reshape(1 + size, -1)
    items = lookup.write(places[0], places[1:].T, np.full(places.shape[1], size))
    return len(np.unique(items.tokens, axis=0))


def table_lookup() -> Coverage:
    task = tasks.TableLookup()
    return lookup_coverage(task, task.sets()["train"])


def ctlpp() -> Coverage:
    task = tasks.TableLookupPatterns.alternating()
    return lookup_coverage(task, task.sets()["train"])


def scan(split: "tasks.ScanSplit") -> Coverage:
    """Coverage by the number of words in a command."""
    words = np.array([len(command.split()) for command in tasks.scan_commands()])
    sizes = np.arange(1, words.max() + 1)
    covered, total = (
        np.bincount(words[chosen], minlength=len(sizes) + 1)[1:]
        for chosen in (split.train > 0, slice(None))
    )
    return Coverage(sizes, covered, total)


COVERAGE: dict[str, Callable[[], Coverage]] = {
    "table-lookup": table_lookup,
    "ctlpp": ctlpp,
    "scan-length": lambda: scan(tasks.length_split()),
    "scan-jump": lambda: scan(tasks.add_primitive_split("jump")),
}


def trial(config: Config, key, recorder: Recorder) -> None:
    """Count; then add numbers in one step and in many."""
    found = COVERAGE[config.data]()
    there = found.total > 0
    sizes, covered, total = (part[there] for part in found[:3])
    recorder.curve("covered", sizes, covered)
    recorder.curve("total", sizes, total)
    recorder.metric("covered", covered.sum())
    recorder.metric("total", total[covered > 0].sum())
    recorder.metric("coverage", covered.sum() / total[covered > 0].sum())
    recorder.metric("miscounted", found.miscounted)
    fused, stepwise = added(config.values, config.operands)
    recorder.metric("fused_entries", fused.size)
    recorder.metric("stepwise_entries", config.values**2)
    recorder.metric("wrong_sums", (fused != stepwise).sum())


def added(values: int, operands: int) -> tuple[np.ndarray, np.ndarray]:
    """All sums modulo M: from one table of all operands, and from a table of two, step by step."""
    places = np.indices((values,) * operands)
    pairs = np.add.outer(np.arange(values), np.arange(values)) % values
    stepwise = places[0]
    for operand in places[1:]:
        stepwise = pairs[stepwise, operand]
    return places.sum(axis=0) % values, stepwise


def draw(results: Results):
    """Items in training beside all that there are."""
    names = results.values("data")
    figure = figures.panels(*names, x="functions or words", y="different items", log_y=True)
    for panel, name in enumerate(names):
        for color, curve in enumerate(("total", "covered")):
            sizes, counts = results.curve(curve, data=name)
            some = counts[0] > 0
            figures.add_curve(figure, sizes[some], counts[0][some], curve, color=color, panel=panel)
    return figure


ALL, LOOKUPS = tuple(COVERAGE), ("table-lookup", "ctlpp")


def miscounted(data: str, results: Results) -> np.ndarray:
    """Items of a data set that are missing or too many."""
    return results.metric("miscounted", data=data)


study = Study(
    name="memory/coverage",
    title="Training sets hold ever fewer of all combinations, and steps need a small table",
    source=Source(DOCUMENT, "Section 1.2, Figure 1.3"),
    question="How many of all combinations of its parts does a training set have?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(data=("scan-jump",)),
            settings={"values": 2, "operands": 3},
            cost="seconds",
        ),
        "laptop": Preset(seeds=3, conditions=grid(data=ALL), cost="30 s of processor time"),
        "paper": Preset(
            seeds=1,
            conditions=grid(data=ALL),
            settings={"values": 10},
            cost="15 s of processor time",
        ),
    },
    claims=(
        Claim(
            "items-grow-exponentially",
            "There are m n^k items of k of n functions on m symbols: of one and two functions, {0} "
            "are missing or too many.",
            "Section 1.2",
            all_of(
                exact(partial(miscounted, name), f"miscounted, {name}").equals(0)
                for name in LOOKUPS
            ),
            seeds=1,
        ),
        Claim(
            "steps-add-as-one-table-does",
            "A table of two numbers, applied again and again, gives all sums of the table of all "
            "numbers: {0} are wrong.",
            "Figure 1.3",
            exact(lambda r: r.metric("wrong_sums"), "wrong sums").equals(0),
            seeds=1,
        ),
    ),
    figures=(
        Figure(
            "coverage",
            "Items in training and at all",
            "Different items by the number of functions, or of words in a command.",
            draw,
        ),
    ),
)
