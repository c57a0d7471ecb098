"""Figures 4B and A8: held-out preferences by connectedness of the support, and by size."""

from collections.abc import Sequence
from typing import Any

from recombine.lab import Claim, Figure, Judgement, Results, Source, Study, figures, grid

from ..meta_models import (
    EMBEDDING,
    HYPERNETWORKS,
    LINEAR,
    TITLES,
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


def disconnecting_hurts(results: Results) -> Judgement:
    runs = {s: results.where(support=s) for s in SUPPORTS}
    loss = {
        m: {s: float(r.metric("ood_loss", model=m).mean()) for s, r in runs.items()}
        for m in HYPERNETWORKS
    }
    evidence = {
        f"mean {LOSS} (bound: higher when disconnected)": loss,
        "predicting the mean": float(runs["connected"].metric("ood_mean_loss").mean()),
        "mean loss on trained combinations": {
            m: {s: float(r.metric("test_loss", model=m).mean()) for s, r in runs.items()}
            for m in HYPERNETWORKS
        },
    }
    return Judgement(all(v["disconnected"] > v["connected"] for v in loss.values()), evidence)


def best_rate(results: Results, model: str, width: int, embedding: int) -> Results:
    """The trials of one size, with the learning rate that is best on held-out combinations."""
    size: dict[str, Any] = {WIDTH: width, EMBEDDING: embedding}
    runs = results.where(support="compositional", model=model, **size)
    rates = [runs.where(outer_rate=rate) for rate in runs.values("outer_rate")]
    return min(rates, key=lambda r: r.metric("ood_loss").mean())


def size_does_not_hurt(results: Results) -> Judgement:
    runs = results.where(support="compositional")
    loss = {
        (m, w, e): float(best_rate(runs, m, w, e).metric("ood_loss").mean())
        for m in HYPERNETWORKS
        for w in runs.values(WIDTH)
        for e in runs.values(EMBEDDING)
    }
    rises = {}
    for m in HYPERNETWORKS:
        for place, axis in ((1, WIDTH), (2, EMBEDDING)):
            ends = min(runs.values(axis)), max(runs.values(axis))
            small, large = (
                sum(v for k, v in loss.items() if k[0] == m and k[place] == end) for end in ends
            )
            rises[f"{TITLES[m]}, {axis.removeprefix('model.')} {ends[1]} / {ends[0]}"] = (
                large / small
            )
    evidence = {
        f"mean {LOSS}": {f"{TITLES[m]}, {w} wide, {e}": v for (m, w, e), v in loss.items()},
        "loss at the largest / at the smallest (bound: at most 1.1)": rises,
    }
    return Judgement(max(rises.values()) <= 1.1, evidence)


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
            disconnecting_hurts,
        ),
        Claim(
            "size-does-not-hurt",
            "Neither the widest hypernetworks, nor those with the largest embedding, have a loss "
            "on held-out combinations more than 10 % above that of the smallest, averaged over the "
            "other size.",
            "Figure A8",
            size_does_not_hurt,
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
