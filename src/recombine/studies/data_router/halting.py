"""Table D.2 and Figure D.1: does adaptive computation time stand in for copy gates?"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Recorder,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    figures,
    for_all,
    mean,
    paired,
    per_seed,
)

from . import DOCUMENT
from .lookup_results import (
    AS_PUBLISHED,
    HALF,
    MEASURES,
    SMALL_ENCODER,
    SMOKE,
    as_published,
    chance_of,
    present,
    published,
    sizes_on_laptop,
)
from .lookup_trial import DIRECTIONS, Config, items_of, needed, trained
from .paper import networks, title

HALTING: dict[str, dict[str, Any]] = {
    "none": {"model.halting": None},
    "A": {"model.halting": "adaptive-time", "model.halting.decaying": False},
    "U": {"model.halting": "adaptive-time", "model.halting.decaying": True},
}
"""No halting, and the variants of Graves (A) and of Dehghani et al. (U)."""
MODELS = ("transformer", "relative", "geometric")
RELATIVE = "relative"
FORWARD = {"model": RELATIVE, "direction": "forward"}
PAPER_ACT = {"A": "A (Graves 2016)", "U": "U (Dehghani et al. 2019)"}


def trial(config: Config, key, recorder: Recorder) -> None:
    """Count the steps that the column of a trained network takes that takes longest, by length."""
    import equinox as eqx

    learned = trained(config, key, recorder)
    if getattr(config.model, "halting", None) is None:
        return
    items = items_of(learned, config.evaluated, (1, config.longer_lengths[1]))
    _, extras = eqx.filter_jit(type(learned.model).ponder)(
        learned.model, items.tokens, items.lengths
    )
    functions = learned.functions(items.lengths)
    steps = np.asarray(extras["steps"]).max(axis=1)
    lengths = np.unique(functions)
    means = [steps[functions == n].mean() for n in lengths]
    recorder.curve("steps_by_length", lengths, means)
    recorder.metric("steps", steps.mean())


def halted(results: Results, halting: str, **fields: Any) -> Results:
    """The runs of a variant."""
    return results.where(**HALTING[halting], **fields)


def variants_of(results: Results, among: Iterable[str] = HALTING) -> list[str]:
    """The variants that there are, in order."""
    found = []
    for halting in among:
        with suppress(Missing):
            halted(results, halting)
            found.append(halting)
    return found


def steps_gained(results: Results) -> np.ndarray:
    """Steps of the slowest column for the longest inputs, minus those for one function."""
    _, steps = results.curve("steps_by_length")
    return steps[:, -1] - steps[:, 0]


def stays_low_backward(model: str) -> Statement:
    """Backward, a network is right on at most half of longer inputs with any variant."""
    return all_of(
        mean("longer", model=model, direction="backward", **halting) <= HALF
        for halting in HALTING.values()
    )


def draw_steps(results: Results):
    runs = results.where(**{"model.halting": "adaptive-time"})
    places = [(m, d) for m in networks(runs) for d in present(runs, "direction", DIRECTIONS)]
    titles = [f"{title(model)}, {direction}" for model, direction in places]
    figure = figures.panels(*titles, x="functions", y="steps of the slowest column", shared_y=True)
    for panel, (model, direction) in enumerate(places):
        of_place = runs.where(model=model, direction=direction)
        for color, halting in enumerate(variants_of(of_place, ("A", "U"))):
            lengths, steps = halted(of_place, halting).curve("steps_by_length")
            name = f"variant {halting}"
            figures.add_points(figure, lengths, list(steps.T), name, color=color, panel=panel)
        figures.add_level(figure, of_place.values("model.layers")[-1], "the most", panel=panel)
    return figure


def draw_accuracy(results: Results):
    models, directions = networks(results), present(results, "direction", DIRECTIONS)
    places = [(model, direction) for model in models for direction in directions]
    titles = [f"{title(model)}, {direction}" for model, direction in places]
    figure = figures.panels(
        *titles, x="halting", y="accuracy", columns=len(directions), shared_y=True
    )
    for panel, (model, direction) in enumerate(places):
        runs = results.where(direction=direction, model=model)
        # A network that cannot halt has no setting for it.
        found = {h: halted(runs, h) for h in variants_of(runs)} or {"none": runs}
        for color, (metric, name) in enumerate(MEASURES.items()):
            values = [of_variant.metric(metric) for of_variant in found.values()]
            names = list(found)
            figures.add_points(figure, names, values, name, color=color, panel=panel, line=False)
        figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    return figure


def beside(model: str, halting: str, direction: str, metric: str) -> Beside:
    setting = f"ACT={'none' if halting == 'none' else PAPER_ACT[halting]}; {direction}"
    if metric == "longer":
        setting += "; 30k steps" if halting == "none" else "; 60k steps"
    return Beside(
        f"{title(model)}, halting {halting}, {direction}, {MEASURES[metric]}",
        published("table-D.2", model, setting, metric),
        lambda results: halted(results, halting, model=model, direction=direction).metric(metric),
    )


def sweep(
    models: tuple[str, ...],
    variants: Iterable[str] = HALTING,
    directions: tuple[str, ...] = DIRECTIONS,
) -> tuple[dict[str, Any], ...]:
    """Networks with every variant in every direction."""
    return tuple(
        {"model": model, **HALTING[halting], "direction": direction}
        for model in models
        for halting in variants
        for direction in directions
    )


def halts_as_published(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset paper: networks that halt are deeper."""
    halts = condition.get("model.halting") not in (None, "none")
    deeper = {"model.layers": 14, "steps": 60_000} if halts else {}
    return as_published(condition) | deeper


study = Study(
    name="data-router/halting",
    title="Columns that halt by themselves generalize forward, and not backward",
    source=Source(DOCUMENT, "Table D.2, Figure D.1"),
    question="Does a transformer whose columns decide how long they compute apply more functions "
    "than in training?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=sweep((RELATIVE,), ("A",), ("forward",)),
            settings=SMOKE | SMALL_ENCODER,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=sweep((RELATIVE,)),
            depends=sizes_on_laptop,
            cost="48 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=sweep(MODELS),
            depends=halts_as_published,
            settings=AS_PUBLISHED,
            cost="hours on an accelerator; more than a day per network on two cores",
        ),
    },
    claims=(
        Claim(
            "steps-grow",
            "Forward, with variant A and relative positions, the slowest column takes more steps "
            "for the longest inputs than for one function, on average.",
            "Figure D.1",
            mean(steps_gained, **HALTING["A"], **FORWARD) > 0,
        ),
        Claim(
            "halting-helps-forward",
            "Forward, variant A raises the accuracy of the transformer with relative positions on "
            "longer inputs by at least {0:points}.",
            "Table D.2",
            paired("longer", HALTING["A"], HALTING["none"], **FORWARD) >= 0.2,
            context={
                f"IID, halting {h}": per_seed("iid", **HALTING[h], **FORWARD) for h in HALTING
            },
        ),
        Claim(
            "halting-fails-backward",
            "Backward, at most {0:%} of longer inputs are right with any variant.",
            "Table D.2",
            for_all("model", stays_low_backward, among=MODELS),
        ),
    ),
    figures=(
        Figure(
            "steps",
            "Steps by the number of functions",
            "Figure D.1: all seeds, their mean and its 95 % interval.",
            draw_steps,
        ),
        Figure(
            "accuracy",
            "Accuracy of every variant",
            "Table D.2: all seeds, their mean and its 95 % interval.",
            draw_accuracy,
        ),
    ),
    beside=tuple(
        beside(model, halting, direction, metric)
        for model in MODELS
        for metric in MEASURES
        for halting in HALTING
        for direction in DIRECTIONS
    ),
    notes="Variant A is that of Graves, U that of Dehghani et al. Preset laptop has the "
    "transformer with relative positions; preset paper also the plain one and the one with "
    "geometric attention.",
)
