"""Figures 4B and A8: held-out preferences by connectedness of the support, and by size."""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

from recombine.lab import (
    Claim,
    Figure,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    paired,
    per_seed,
    statistic,
)
from recombine.lab.vocabulary import Statistic

from ..meta_models import (
    EMBEDDING,
    HYPERNETWORKS,
    LINEAR,
    WIDTH,
    draw_models,
    present,
    sized,
    title_of,
)
from . import DOCUMENT
from .trial import (
    LAPTOP_SETTINGS,
    PAPER_SETTINGS,
    SMOKE_SETTINGS,
    Config,
    mini_preset,
    paper_preset,
    trial,
)

SUPPORTS = ("connected", "disconnected")
LOSS = "loss on held-out combinations"


def supports(*models: str):
    """The trials of Figure 4B: both supports, with at most two modules per task."""
    return grid(support=SUPPORTS, K=(2,), model=models)


def sizes(models: Sequence[str], widths: Sequence[int], embeddings: Sequence[int], **axes):
    """The trials of Figure A8: hypernetworks of several sizes, with compositional support."""
    size = {WIDTH: widths, EMBEDDING: embeddings}
    return grid(support=("compositional",), model=models, **size, **axes)


def best_rate(results: Results, model: str, width: int, embedding: int) -> Results:
    """The trials of one size, with the learning rate that is best on held-out combinations."""
    size: dict[str, Any] = {WIDTH: width, EMBEDDING: embedding}
    runs = results.where(support="compositional", model=model, **size)
    rates = [runs.where(outer_rate=rate) for rate in runs.values("outer_rate")]
    return min(rates, key=lambda r: r.metric("ood_loss").mean())


def loss_ratio(results: Results, model: str, axis: str) -> float:
    """Mean loss at the largest width or embedding over that at the smallest, averaged over the
    other size."""
    runs = results.where(support="compositional", model=model)
    ends = min(runs.values(axis)), max(runs.values(axis))
    loss = dict.fromkeys(ends, 0.0)
    for width, embedding in itertools.product(runs.values(WIDTH), runs.values(EMBEDDING)):
        place = width if axis == WIDTH else embedding
        if place in loss:
            best = best_rate(results, model, width, embedding)
            loss[place] += float(best.metric("ood_loss").mean())
    small, large = ends
    return loss[large] / loss[small]


def of_size(model: str, axis: str) -> Statistic:
    """The ratio of losses of one model along one of its sizes."""
    label = f"loss at the largest over the smallest {axis.removeprefix('model.')}, {model}"
    return statistic(partial(loss_ratio, model=model, axis=axis), label)


def draw_loss(results: Results):
    figure = draw_models(
        results, "ood_loss", {f"{s} support": {"support": s} for s in SUPPORTS}, LOSS
    )
    for panel, support in enumerate(SUPPORTS):
        level = float(results.metric("ood_mean_loss", support=support).mean())
        figures.add_level(figure, level, "predicting the mean", panel=panel)
    return figure


def draw_sizes(results: Results):
    runs = results.where(support="compositional")
    shown = present(sized(runs), HYPERNETWORKS)
    figure = figures.panels(*(title_of(m) for m in shown), x="width", y=LOSS, log_x=True)
    for panel, model in enumerate(shown):
        of_model = runs.where(model=model)
        for color, size in enumerate(of_model.values(EMBEDDING)):
            widths = of_model.values(WIDTH)
            of_width = [best_rate(runs, model, w, size) for w in widths]
            figures.add_points(
                figure, widths, [r.metric("ood_loss") for r in of_width], f"embedding of {size}",
                color=color, panel=panel,
            )  # fmt: skip
    return figure


study = Study(
    name="preferences/connected",
    title="Preferences that training does not connect do not combine",
    source=Source(DOCUMENT, "Figures 4B and A8"),
    question="Do hypernetworks generalize worse to held-out combinations of preferences when "
    "training combines them in two separate groups only, or when they are larger than need be?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=(*supports(LINEAR), *sizes([LINEAR], [8], [4])),
            settings=SMOKE_SETTINGS,
            cost="1 min on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=(
                *supports(*HYPERNETWORKS),
                *sizes(HYPERNETWORKS, [16, 64], [8, 32], steps=[500]),
            ),
            settings=LAPTOP_SETTINGS,
            cost="20 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=(
                *supports(*HYPERNETWORKS),
                *sizes(
                    HYPERNETWORKS,
                    [32, 64, 128],
                    [16, 32, 64, 128],
                    outer_rate=[0.0001, 0.0003, 0.001],
                ),
            ),
            settings=PAPER_SETTINGS,
            cost="months on an accelerator",
        ),
    },
    claims=(
        Claim(
            "disconnecting-hurts",
            "Both hypernetworks have a higher loss on the same held-out combinations with "
            "disconnected than with connected support.",
            "Figure 4B",
            all_of(
                paired("ood_loss", {"support": "connected"}, {"support": "disconnected"}, model=m)
                < 0
                for m in HYPERNETWORKS
            ),
            context={"predicting the mean": per_seed("ood_mean_loss", support="connected")},
        ),
        Claim(
            "size-does-not-hurt",
            "Neither the widest hypernetworks, nor those with the largest embedding, have a loss "
            "on held-out combinations more than {0} times that of the smallest, averaged over the "
            "other size.",
            "Figure A8",
            all_of(
                of_size(model, axis) <= 1.1
                for model in HYPERNETWORKS
                for axis in (WIDTH, EMBEDDING)
            ),
        ),
    ),
    figures=(
        Figure(
            "loss",
            "Loss on held-out combinations",
            "Figure 4B: ½ Σ (Q̂ − Q)² over actions. Every seed is a point; means with their 95 % "
            "intervals.",
            draw_loss,
        ),
        Figure(
            "sizes",
            "Loss on held-out combinations by size of the hypernetwork",
            "Figure A8, with compositional support. Preset paper shows the best of three learning "
            "rates for each size.",
            draw_sizes,
        ),
    ),
    notes="As in preferences/support the grid is smaller than the paper's, and learning shorter; "
    "sizes are compared after 500 steps. The paper chooses the learning rate anew for every "
    "size; preset laptop does not.",
)
