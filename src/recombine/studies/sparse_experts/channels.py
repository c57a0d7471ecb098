"""Figures 7.1, F.1 and F.2: how many hidden units of a dense network are active?"""

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    figures,
    grid,
    mean,
    per_seed,
    reference,
)

from . import DOCUMENT
from .language import on_smoke
from .language_trial import Config, trial
from .rows import from_condition

HIDDEN = (390, 780)
"""Hidden units of the networks of preset laptop."""


def draw_channels(results: Results):
    sizes = results.values("model.hidden")
    figure = figures.panels(*(f"{n} hidden units" for n in sizes), x="layer", y="active units")
    for panel, hidden in enumerate(sizes):
        runs = results.where(**{"model.hidden": hidden})
        for color, (name, array) in enumerate(
            (("trained", "active"), ("untrained", "untrained_active"))
        ):
            values = runs.array(array)
            layers = np.arange(1, values.shape[1] + 1)
            figures.add_points(figure, layers, list(values.T), name, color=color, panel=panel)
    return figure


study = Study(
    name="sparse-experts/channels",
    title="Few hidden units of a trained dense network are active",
    source=Source(DOCUMENT, "Figures 7.1, F.1 and F.2"),
    question="How many hidden units of a dense feed-forward network does a token make positive, "
    "before and after training?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(row=("dense",)), depends=on_smoke, cost="10 s on two cores"
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(**{"row": ("dense",), "model.hidden": HIDDEN}),
            depends=from_condition,
            cost="about 5 min on two cores, 3 after language; from 70 s of one core per network",
        ),
        "paper": Preset(
            seeds=1,
            conditions=grid(column=("E8", "WT-S", "WT-B"), row=("dense",)),
            depends=from_condition,
            cost="days on an accelerator per network",
        ),
    },
    claims=(
        Claim(
            "training-makes-sparse",
            "A smaller share of hidden units is active after training than before, by at least "
            "{0:points}.",
            "Section 7.1",
            mean(per_seed("untrained_share") - per_seed("share"), "fall of the active share")
            >= 0.1,
        ),
        Claim(
            "few-channels-are-active",
            "In every layer less than {0:%} of hidden units are active on average.",
            "Figure F.2",
            mean("largest_share") < 0.15,
        ),
        Claim(
            "counts-do-not-grow-with-size",
            "With twice as many hidden units, the number of active ones grows by less than {0:%}.",
            "Figures 7.1 and F.1",
            mean(
                per_seed("active", **{"model.hidden": 780})
                / per_seed("active", **{"model.hidden": 390})
                - 1.0,
                "growth of active units",
            )
            < 0.5,
        ),
    ),
    figures=(
        Figure(
            "channels",
            "Active hidden units by layer",
            "Figures 7.1, F.1 and F.2: the mean over tokens of validation text of the number of "
            "positive hidden units; all seeds, their mean and its 95 % interval.",
            draw_channels,
        ),
    ),
    beside=(
        Beside(
            "largest share of active units in a layer, %",
            reference(
                "sparse-experts",
                artifact="figure-F.2",
                metric="upper bound on percent active channels",
            ),
            lambda results: 100 * results.metric("largest_share"),
        ),
    ),
    notes="The smaller network is that of language: what both ask for is trained once. The paper's "
    "networks have 2,053 and 4,110 hidden units, 12 to 18 layers, and learn 1,000 times as many "
    "tokens as those of preset laptop.",
)
