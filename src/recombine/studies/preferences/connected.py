"""Figures 4B and A8: held-out preferences by connectedness of the support, and by size."""

from recombine.lab import Claim, Figure, Judgement, Preset, Results, Source, Study, figures, grid

from ..meta_learner import HYPERNETWORKS, TITLES, draw_models
from . import DOCUMENT
from .trial import LAPTOP_SETTINGS, PAPER_SETTINGS, SMOKE_SETTINGS, Config, trial

SUPPORTS = ("connected", "disconnected")
LOSS = "loss on held-out combinations"


def supports(*models: str):
    """The trials of Figure 4B: both supports, with at most two modules per task."""
    return grid(support=SUPPORTS, K=(2,), model=models)


def sizes(**axes):
    """The trials of Figure A8: hypernetworks of several sizes, with compositional support."""
    return grid(support=("compositional",), **axes)


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


def best_rate(results: Results, **size) -> Results:
    """The trials of one size, with the learning rate that is best on held-out combinations."""
    runs = results.where(support="compositional", **size)
    rates = [runs.where(outer_rate=rate) for rate in runs.values("outer_rate")]
    return min(rates, key=lambda r: r.metric("ood_loss").mean())


def size_does_not_hurt(results: Results) -> Judgement:
    runs = results.where(support="compositional")
    loss = {
        (m, w, e): float(best_rate(runs, model=m, width=w, embedding=e).metric("ood_loss").mean())
        for m in HYPERNETWORKS
        for w in runs.values("width")
        for e in runs.values("embedding")
    }
    rises = {}
    for m in HYPERNETWORKS:
        for place, axis in ((1, "width"), (2, "embedding")):
            ends = min(runs.values(axis)), max(runs.values(axis))
            small, large = (
                sum(v for k, v in loss.items() if k[0] == m and k[place] == end) for end in ends
            )
            rises[f"{TITLES[m]}, {axis} {ends[1]} / {ends[0]}"] = large / small
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
    shown = [m for m in HYPERNETWORKS if m in runs.values("model")]
    figure = figures.panels(*(TITLES[m] for m in shown), x="width", y=LOSS, log_x=True)
    for panel, model in enumerate(shown):
        for color, size in enumerate(runs.values("embedding")):
            widths = runs.values("width")
            of_width = [best_rate(runs, model=model, width=w, embedding=size) for w in widths]
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
        "smoke": Preset(
            seeds=1,
            conditions=(*supports("linear"), *sizes(model=("linear",), width=(8,), embedding=(4,))),
            settings=SMOKE_SETTINGS,
            cost="1 min on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=(
                *supports(*HYPERNETWORKS),
                *sizes(model=HYPERNETWORKS, width=(16, 64), embedding=(8, 32), steps=(500,)),
            ),
            settings=LAPTOP_SETTINGS,
            cost="20 min on two cores",
        ),
        "paper": Preset(
            seeds=3,
            conditions=(
                *supports(*HYPERNETWORKS),
                *sizes(
                    model=HYPERNETWORKS,
                    width=(32, 64, 128),
                    embedding=(16, 32, 64, 128),
                    outer_rate=(0.0001, 0.0003, 0.001),
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
