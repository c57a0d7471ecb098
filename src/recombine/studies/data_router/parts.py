"""Table 5.1, its other rows: what are memory, geometric attention, gates and positions worth?"""

from recombine.lab import Claim, Preset, Source, Study, grid

from . import DOCUMENT
from .lookup_results import (
    AS_PUBLISHED,
    SMALL_ENCODER,
    SMALL_LSTM,
    SMOKE,
    as_published,
    generalizes,
    learned,
    longest_first,
    needs_forward,
    on_laptop,
    stays_low,
)
from .lookup_table import table_beside, table_figures
from .lookup_trial import DIRECTIONS, Config, trial

MODELS = ("dnc", "transformer", "geometric", "position-gate")


study = Study(
    name="data-router/parts",
    title="Geometric attention without gates fails; gates with both kinds of positions do not",
    source=Source(DOCUMENT, "Table 5.1, rows DNC, Transformer, + geom. and + abs/rel + gate"),
    question="Do networks with a memory, or with some parts of the neural data router, apply more "
    "functions than in training?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(model=("dnc", "position-gate"), direction=("backward",)),
            settings=SMOKE | SMALL_ENCODER | SMALL_LSTM | {"model.cells": 4, "model.word": 4},
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=longest_first(grid(model=MODELS, direction=DIRECTIONS)),
            depends=on_laptop,
            cost="37 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(model=MODELS, direction=DIRECTIONS),
            depends=as_published,
            settings=AS_PUBLISHED,
            cost="hours on an accelerator; about a day per network on two cores",
        ),
    },
    claims=(
        Claim(
            "mixed-positions-generalize",
            "With gates, and a mixture of absolute and relative positions, at least {0:%} of "
            "longer inputs are right in both directions.",
            "Table 5.1",
            generalizes("position-gate"),
            context=learned("position-gate"),
        ),
        Claim(
            "ungated-transformers-fail",
            "The plain transformer and the one with geometric attention, both without gates, are "
            "right on at most {0:%} of longer inputs, in either direction.",
            "Table 5.1",
            stays_low("transformer", "geometric"),
            context=learned("transformer", "geometric"),
        ),
        Claim(
            "dnc-needs-forward",
            "A differentiable neural computer is right on at least {0:%} of longer inputs forward, "
            "and on less than {1:%} backward.",
            "Table 5.1",
            needs_forward("dnc"),
            context=learned("dnc"),
        ),
    ),
    figures=table_figures(),
    beside=table_beside(MODELS),
    notes="The networks are trained and tested as in table-lookup, on the same tables and items of "
    "the same seeds.",
)
