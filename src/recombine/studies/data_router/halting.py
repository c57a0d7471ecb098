"""Table D.2 and Figure D.1: does adaptive computation time stand in for copy gates?"""

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Judgement,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    figures,
    grid,
    paired_difference,
)

from . import DOCUMENT
from .lookup_results import (
    AS_PUBLISHED,
    MEASURES,
    ON_LAPTOP,
    SMOKE,
    UNGATED_SETTINGS,
    chance_of,
    mean,
    present,
    published,
)
from .lookup_trial import DIRECTIONS, Config, items_of, learn

HALTING = ("none", "A", "U")
MODELS = ("Transformer", "+ rel", "+ geom.")
RELATIVE = "+ rel"
AHEAD = 0.2
"""By how much accuracy on longer inputs is higher forward with variant A, at least."""
HALF = 0.5
"""Accuracy backward, at most."""
PAPER_NAMES = {"+ geom.": "+ geo"}
"""Rows of Table D.2 that are called otherwise here."""
PAPER_ACT = {"A": "A (Graves 2016)", "U": "U (Dehghani et al. 2019)"}


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn; then count the steps of the column that takes longest, by length."""
    import equinox as eqx

    learned = learn(config, key, recorder)
    if config.halting == "none":
        return
    items = items_of(learned, config.evaluated, (1, config.longer_lengths[1]))
    _, extras = eqx.filter_jit(type(learned.model).ponder)(
        learned.model, items.tokens, items.lengths
    )
    # Two of the tokens frame an input and one is its symbol.
    functions = np.asarray(items.lengths) - 3
    steps = np.asarray(extras["steps"]).max(axis=1)
    lengths = np.unique(functions)
    means = [steps[functions == n].mean() for n in lengths]
    recorder.curve("steps_by_length", lengths, means)
    recorder.metric("steps", steps.mean())


def longer(results: Results, halting: str, direction: str) -> np.ndarray:
    """Accuracy of the transformer with relative positions on longer inputs, one a seed."""
    return results.metric("longer", model=RELATIVE, halting=halting, direction=direction)


def grows(results: Results) -> Judgement:
    lengths, steps = results.curve(
        "steps_by_length", model=RELATIVE, halting="A", direction="forward"
    )
    means = steps.mean(axis=0)
    evidence = {
        "mean steps by functions (bound: more for the most than for one)": dict(
            zip(lengths.astype(int).tolist(), means, strict=True)
        ),
        "by seed, most functions less one": steps[:, -1] - steps[:, 0],
    }
    return Judgement(bool(means[-1] > means[0]), evidence)


def helps_forward(results: Results) -> Judgement:
    ahead = paired_difference(longer(results, "A", "forward"), longer(results, "none", "forward"))
    evidence = {
        f"variant A less no halting, forward (bound: at least {AHEAD:g})": ahead,
        "IID": {
            h: results.metric("iid", model=RELATIVE, halting=h, direction="forward").mean()
            for h in HALTING
        },
    }
    return Judgement(ahead["paired difference"] >= AHEAD, evidence)


def not_backward(results: Results) -> Judgement:
    found = {
        f"{m}, halting {h}": mean(results, "longer", model=m, halting=h, direction="backward")
        for m in present(results, "model", MODELS)
        for h in HALTING
    }
    return Judgement(
        max(found.values()) <= HALF, {f"longer inputs, backward (bound: at most {HALF:g})": found}
    )


def draw_steps(results: Results):
    halts = results.where(halting=present(results, "halting", ("A", "U"))[0])
    directions = present(halts, "direction", DIRECTIONS)
    figure = figures.panels(
        *directions, x="functions", y="steps of the slowest column", shared_y=True
    )
    for panel, direction in enumerate(directions):
        for color, halting in enumerate(present(results, "halting", ("A", "U"))):
            lengths, steps = results.curve(
                "steps_by_length", model=RELATIVE, halting=halting, direction=direction
            )
            name = f"variant {halting}"
            figures.add_points(figure, lengths, list(steps.T), name, color=color, panel=panel)
        figures.add_level(figure, results.values("layers")[-1], "the most", panel=panel)
    return figure


def draw_accuracy(results: Results):
    models, directions = (
        present(results, "model", MODELS),
        present(results, "direction", DIRECTIONS),
    )
    places = [(model, direction) for model in models for direction in directions]
    titles = [f"{model}, {direction}" for model, direction in places]
    figure = figures.panels(
        *titles, x="halting", y="accuracy", columns=len(directions), shared_y=True
    )
    for panel, (model, direction) in enumerate(places):
        runs = results.where(direction=direction, model=model)
        variants = present(runs, "halting", HALTING)
        for color, (metric, name) in enumerate(MEASURES.items()):
            values = [runs.metric(metric, halting=h) for h in variants]
            figures.add_points(figure, variants, values, name, color=color, panel=panel, line=False)
        figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    return figure


def beside(model: str, halting: str, direction: str, metric: str) -> Beside:
    setting = f"ACT={'none' if halting == 'none' else PAPER_ACT[halting]}; {direction}"
    if metric == "longer":
        setting += "; 30k steps" if halting == "none" else "; 60k steps"
    return Beside(
        f"{model}, halting {halting}, {direction}, {MEASURES[metric]}",
        published("table-D.2", PAPER_NAMES.get(model, model), setting, metric),
        lambda results: results.metric(metric, model=model, halting=halting, direction=direction),
    )


PAPER = tuple(
    condition
    | UNGATED_SETTINGS
    | ({} if condition["halting"] == "none" else {"layers": 14, "steps": 60_000})
    for condition in grid(model=MODELS, halting=HALTING, direction=DIRECTIONS)
)

study = Study(
    name="data-router/halting",
    title="Columns that halt by themselves generalize forward, and not backward",
    source=Source(DOCUMENT, "Table D.2, Figure D.1"),
    question="Does a transformer whose columns decide how long they compute apply more functions "
    "than in training?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(model=(RELATIVE,), halting=("A",), direction=("forward",)),
            settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(model=(RELATIVE,), halting=HALTING, direction=DIRECTIONS),
            settings=ON_LAPTOP[RELATIVE],
            cost="48 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=PAPER,
            settings=AS_PUBLISHED,
            cost="hours on an accelerator; more than a day a network on two cores",
        ),
    },
    claims=(
        Claim(
            "steps-grow",
            "Forward, with variant A and relative positions, the slowest column takes more steps "
            "for the longest inputs than for one function, on average.",
            "Figure D.1",
            grows,
        ),
        Claim(
            "halting-helps-forward",
            "Forward, variant A raises the accuracy of the transformer with relative positions on "
            "longer inputs by at least 20 points.",
            "Table D.2",
            helps_forward,
        ),
        Claim(
            "halting-fails-backward",
            "Backward, at most half of the longer inputs are right with any variant.",
            "Table D.2",
            not_backward,
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
