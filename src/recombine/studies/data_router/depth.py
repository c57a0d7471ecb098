"""Table 5.2: how many layers does the neural data router need?"""

from itertools import pairwise

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Judgement,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    figures,
    grid,
)

from . import DOCUMENT
from .lookup_results import (
    AS_PUBLISHED,
    SMALL_ENCODER,
    SMOKE,
    as_published,
    chance_of,
    draw_by_length,
    longest_first,
    mean,
    on_laptop,
    present,
    published,
)
from .lookup_trial import DIRECTIONS, Config, trial

LAYERS = (10, 8, 6, 4)
PAPER_LAYERS = (14, 12, 10, 8, 6, 4)
SPARE = 2
"""Layers beyond the number of functions that are enough, Section D.3."""
MOST = 0.9
"""Accuracy with enough layers, and of trained lengths with too few for longer ones."""
FEW = 0.6
"""Accuracy on longer inputs with fewer layers than functions, at most."""
NOISE = 0.05
"""By how much accuracy may rise where layers are taken away."""


def by_layers(results: Results, metric: str, direction: str) -> dict[int, float]:
    """A metric's mean over seeds, from the most layers to the fewest."""
    runs = results.where(direction=direction)
    counts = sorted(runs.values("model.layers"), reverse=True)
    return {n: mean(runs, metric, **{"model.layers": n}) for n in counts}


def chosen(results: Results, fits, what: str) -> list[int]:
    """The numbers of layers that fit."""
    found = [n for n in results.values("model.layers") if fits(n)]
    if not found:
        raise Missing(f"no network with {what}")
    return found


def enough(results: Results) -> Judgement:
    _, longest = results.values("longer_lengths")[0]
    layers = chosen(results, lambda n: n >= longest + SPARE, "enough layers")
    found = {
        f"{d}, {n} layers": mean(results, "longer_at_end", **{"direction": d, "model.layers": n})
        for d in DIRECTIONS
        for n in layers
    }
    return Judgement(
        min(found.values()) >= MOST, {f"longer inputs (bound: at least {MOST:g})": found}
    )


def too_few(results: Results) -> Judgement:
    trained, (shortest, _) = results.values("longest")[0], results.values("longer_lengths")[0]
    # The paper's network with 8 layers on 9 and 10 functions, and ours with 6 on 7 and 8.
    layers = max(chosen(results, lambda n: trained < n < shortest, "too few layers"))
    found = {
        metric: {d: by_layers(results, metric, d)[layers] for d in DIRECTIONS}
        for metric in ("longer_at_end", "iid")
    }
    evidence = {
        "layers": layers,
        f"longer inputs (bound: at most {FEW:g})": found["longer_at_end"],
        f"IID (bound: at least {MOST:g})": found["iid"],
    }
    fails = max(found["longer_at_end"].values()) <= FEW
    return Judgement(fails and min(found["iid"].values()) >= MOST, evidence)


def falls(results: Results) -> Judgement:
    found = {d: by_layers(results, "longer_at_end", d) for d in DIRECTIONS}
    rises = max(
        fewer - more for by_number in found.values() for more, fewer in pairwise(by_number.values())
    )
    evidence = {
        "longer inputs, by layers": found,
        f"largest rise where layers are taken away (bound: {NOISE:g})": rises,
    }
    lower = all(f[min(f)] < f[max(f)] for f in found.values())
    return Judgement(lower and rises <= NOISE, evidence)


def draw_layers(results: Results):
    directions = present(results, "direction", DIRECTIONS)
    figure = figures.panels(*directions, x="layers", y="accuracy", shared_y=True)
    for panel, direction in enumerate(directions):
        runs = results.where(direction=direction)
        layers = runs.values("model.layers")
        for color, (name, metric) in enumerate(
            (("IID", "iid"), ("longer inputs", "longer_at_end"))
        ):
            values = [runs.metric(metric, **{"model.layers": n}) for n in layers]
            figures.add_points(figure, layers, values, name, color=color, panel=panel)
        _, longest = results.values("longer_lengths")[0]
        figures.add_level(figure, longest, "functions", panel=panel, axis="x")
        figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    return figure


def beside(layers: int, direction: str, metric: str) -> Beside:
    ours = {"iid": "iid", "longer": "longer_at_end"}[metric]
    spare = layers - 10
    words = {"iid": "IID", "longer": "longer"}[metric]
    return Beside(
        f"{direction}, {words}, {spare:+d} layers beyond the longest test",
        published("table-5.2", "ndr", f"{direction}; n_layers={layers}", metric),
        lambda results: results.where(
            **{"model.layers": results.values("longer_lengths")[0][1] + spare}
        ).metric(ours, model="ndr", direction=direction),
    )


def sweep(layers: tuple[int, ...], directions: tuple[str, ...] = DIRECTIONS) -> tuple[dict, ...]:
    """NDR with every number of layers in every direction."""
    return grid(**{"model": ("ndr",), "model.layers": layers, "direction": directions})


study = Study(
    name="data-router/depth",
    title="A network needs as many layers as functions are applied, and a few more",
    source=Source(DOCUMENT, "Table 5.2"),
    question="How does the accuracy of the neural data router on longer inputs depend on the "
    "number of its layers?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=sweep((2,), ("backward",)),
            settings=SMOKE | SMALL_ENCODER,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=longest_first(sweep(LAYERS)),
            depends=on_laptop,
            cost="40 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=sweep(PAPER_LAYERS),
            depends=as_published,
            settings=AS_PUBLISHED,
            cost="hours on an accelerator; about a day per network on two cores",
        ),
    },
    claims=(
        Claim(
            "enough-layers",
            "With two layers more than functions in the longest input, at least 90 % of longer "
            "inputs are right in both directions.",
            "Table 5.2",
            enough,
        ),
        Claim(
            "too-few-layers",
            "With more layers than functions in training, but fewer than in any test, at least "
            "90 % of inputs as in training are right, and at most 60 % of longer ones.",
            "Table 5.2",
            too_few,
        ),
        Claim(
            "falls-with-layers",
            "In both directions accuracy on longer inputs falls as layers are taken away, with no "
            "rise of more than 5 points.",
            "Table 5.2",
            falls,
        ),
    ),
    figures=(
        Figure(
            "layers",
            "Accuracy against the number of layers",
            "Table 5.2: all seeds, their mean and its 95 % interval, at the end of training.",
            draw_layers,
        ),
        Figure(
            "by-length",
            "Accuracy by the number of functions",
            "One line per number of layers; networks are those that are best on 6 functions.",
            lambda results: draw_by_length(results, "model.layers"),
        ),
    ),
    beside=tuple(
        beside(layers, direction, metric)
        for metric in ("iid", "longer")
        for layers in PAPER_LAYERS
        for direction in DIRECTIONS
    ),
    notes="As in the paper, networks are not chosen on a set of their own here: accuracies are of "
    "the end of training, but for those by length. The paper tests 9 and 10 functions with 14 to "
    "4 layers, preset laptop 7 and 8 functions with 10 to 4 layers; numbers are set side by side "
    "where the longest test has as many functions more or fewer than there are layers.",
)
