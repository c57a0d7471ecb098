"""Table D.1: does it matter which column a transformer is read from?"""

from typing import Any

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    paired,
    per_seed,
)

from . import DOCUMENT
from .lookup_results import (
    AS_PUBLISHED,
    SMALL_ENCODER,
    SMOKE,
    as_published,
    chance_of,
    longest_first,
    on_laptop,
    present,
    published,
)
from .lookup_trial import DIRECTIONS, Config, trial
from .paper import networks, title

READOUTS = ("first", "last")
MODELS = ("transformer", "relative", "relative-gate")
GATED = "relative-gate"
FORWARD, BACKWARD = {"direction": "forward"}, {"direction": "backward"}


def reading(results: Results, column: str) -> Results:
    """The runs whose answer is read from the first or the last column."""
    return results.where(**{"model.reads": column})


def read_from(column: str) -> dict[str, Any]:
    """The condition that the gated network is read from a column."""
    return {"model": GATED, "model.reads": column}


def draw_readouts(results: Results):
    models = [m for m in networks(results) if columns_of(results.where(model=m))]
    figure = figures.panels(*map(title, models), x="", y="accuracy", shared_y=True)
    for panel, model in enumerate(models):
        runs = results.where(model=model)
        found = {
            f"{column}, {direction}": reading(runs, column).where(direction=direction)
            for column in columns_of(runs)
            for direction in present(reading(runs, column), "direction", DIRECTIONS)
        }
        for color, (name, metric) in enumerate((("IID", "iid"), ("longer inputs", "longer"))):
            values = [of_pair.metric(metric) for of_pair in found.values()]
            names = list(found)
            figures.add_points(figure, names, values, name, color=color, panel=panel, line=False)
        figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    return figure


def columns_of(runs: Results) -> list[str]:
    """The columns that are read; networks that are not read from a column have none."""
    try:
        return present(runs, "model.reads", READOUTS)
    except Missing:
        return []


def beside(model: str, readout: str, direction: str, metric: str) -> Beside:
    words = {"iid": "IID", "longer": "longer"}[metric]
    return Beside(
        f"{title(model)}, {readout} column, {direction}, {words}",
        published("table-D.1", model, f"{direction}; readout={readout} column", metric),
        lambda results: reading(results, readout).metric(metric, model=model, direction=direction),
    )


def sweep(
    models: tuple[str, ...],
    columns: tuple[str, ...] = READOUTS,
    directions: tuple[str, ...] = DIRECTIONS,
) -> tuple[dict, ...]:
    """Networks that are read from every column in every direction."""
    return grid(**{"model": models, "model.reads": columns, "direction": directions})


study = Study(
    name="data-router/readout",
    title="Relative positions route data towards the column that is read",
    source=Source(DOCUMENT, "Table D.1"),
    question="Does the direction in which a gated transformer generalizes turn round with the "
    "column that it is read from?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=sweep((GATED,), ("first",), ("backward",)),
            settings=SMOKE | SMALL_ENCODER,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=longest_first(sweep((GATED,))),
            depends=on_laptop,
            cost="17 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=sweep(MODELS),
            depends=as_published,
            settings=AS_PUBLISHED,
            cost="hours on an accelerator; about a day per network on two cores",
        ),
    },
    claims=(
        Claim(
            "direction-turns-round",
            "With relative positions and copy gates, accuracy on longer inputs is at least "
            "{0:points} higher forward than backward if the last column is read, and at least "
            "{0:points} lower if the first is.",
            "Table D.1",
            all_of(
                paired("longer", FORWARD, BACKWARD, **read_from("last")) >= 0.2,
                paired("longer", BACKWARD, FORWARD, **read_from("first")) >= 0.2,
            ),
            context={"IID": per_seed("iid", model=GATED)},
        ),
    ),
    figures=(
        Figure(
            "readouts",
            "Accuracy by column and direction",
            "Table D.1: all seeds, their mean and its 95 % interval.",
            draw_readouts,
        ),
    ),
    beside=tuple(
        beside(model, readout, direction, metric)
        for model in MODELS
        for metric in ("iid", "longer")
        for readout in READOUTS
        for direction in DIRECTIONS
    ),
    notes="Preset laptop has the network of the table on which the column matters; preset paper "
    "has the three of the table. Accuracies of the smaller task are not held against the paper's.",
)
