"""Table 5.1, its other rows: what are memory, geometric attention, gates and positions worth?"""

from recombine.lab import Claim, Judgement, Preset, Results, Source, Study, grid

from . import DOCUMENT
from .lookup_results import (
    ALMOST_ALL,
    AS_PUBLISHED,
    HALF,
    SMALL_ENCODER,
    SMALL_LSTM,
    SMOKE,
    as_published,
    at_least,
    at_most,
    forward_only,
    longest_first,
    on_laptop,
)
from .lookup_table import table_beside, table_figures
from .lookup_trial import DIRECTIONS, Config, trial

MODELS = ("dnc", "transformer", "geometric", "position-gate")


def mixed_positions_generalize(results: Results) -> Judgement:
    return at_least(results, "position-gate", ALMOST_ALL)


def ungated_fail(results: Results) -> Judgement:
    return at_most(results, ("transformer", "geometric"), HALF)


def one_way_dnc(results: Results) -> Judgement:
    return forward_only(results, "dnc")


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
            "With gates, and a mixture of absolute and relative positions, at least 95 % of longer "
            "inputs are right in both directions.",
            "Table 5.1",
            mixed_positions_generalize,
        ),
        Claim(
            "ungated-transformers-fail",
            "The plain transformer and the one with geometric attention, both without gates, are "
            "right on at most half of the longer inputs, in either direction.",
            "Table 5.1",
            ungated_fail,
        ),
        Claim(
            "dnc-needs-forward",
            "A differentiable neural computer is right on at least 95 % of longer inputs forward, "
            "and on less than half backward.",
            "Table 5.1",
            one_way_dnc,
        ),
    ),
    figures=table_figures(),
    beside=table_beside(MODELS),
    notes="The networks are trained and tested as in table-lookup, on the same tables and items of "
    "the same seeds.",
)
