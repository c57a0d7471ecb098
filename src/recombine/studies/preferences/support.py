"""Figure 4C: action values of an agent with held-out preferences, by model and support."""

from recombine.lab import Claim, Figure, Judgement, Results, Source, Study, figures, grid

from ..meta_models import (
    HYPERNETWORKS,
    LINEAR,
    MAML,
    MODELS,
    MONOLITHIC,
    draw_learning,
    draw_models,
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

SUPPORTS = ("compositional", "non-compositional")
LOSS = "loss on held-out combinations"


def held_out_loss(results: Results, support: str) -> dict[str, float]:
    """The mean loss on held-out combinations, by model."""
    runs = results.where(support=support)
    return {m: float(runs.metric("ood_loss", model=m).mean()) for m in MODELS}


def mean_loss(results: Results, support: str) -> float:
    """The loss of predicting the mean action values of held-out combinations."""
    return float(results.metric("ood_mean_loss", support=support).mean())


def better_than_the_mean(results: Results) -> Judgement:
    loss, baseline = held_out_loss(results, "compositional"), mean_loss(results, "compositional")
    evidence = {"mean " + LOSS: loss, "predicting the mean (bound: above each)": baseline}
    return Judgement(max(loss.values()) < baseline, evidence)


def hypernetworks_generalize(results: Results) -> Judgement:
    loss = held_out_loss(results, "compositional")
    worse = max(loss[m] for m in HYPERNETWORKS)
    better = min(loss[m] for m in MONOLITHIC)
    evidence = {
        "mean " + LOSS: loss,
        "predicting the mean": mean_loss(results, "compositional"),
        "worse hypernetwork": worse,
        "better monolithic model (bound: above it)": better,
    }
    return Judgement(worse < better, evidence)


def hypernetworks_need_compositional_support(results: Results) -> Judgement:
    with_, without = (held_out_loss(results, support) for support in SUPPORTS)
    ratios = {m: without[m] / with_[m] for m in MODELS}
    least = min(ratios[m] for m in HYPERNETWORKS)
    evidence = {
        f"mean {LOSS}, with compositional support": with_,
        f"mean {LOSS}, without it": without,
        "predicting the mean, with and without": [mean_loss(results, s) for s in SUPPORTS],
        "ratio of the loss without to that with": ratios,
        "least of a hypernetwork (bound: at least 1.5)": least,
    }
    return Judgement(least >= 1.5, evidence)


def draw_loss(results: Results):
    panels = {f"{s} support": {"support": s} for s in SUPPORTS}
    figure = draw_models(results, "ood_loss", panels, LOSS)
    for panel, support in enumerate(SUPPORTS):
        figures.add_level(figure, mean_loss(results, support), "predicting the mean", panel=panel)
    return figure


def draw_training(results: Results):
    return draw_learning(results, "ood_loss", LOSS, support="compositional")


study = Study(
    name="preferences/support",
    title="Hypernetworks predict what an agent with new preferences will value",
    source=Source(DOCUMENT, "Figure 4C"),
    question="Do meta-learned hypernetworks predict the action values of an agent whose "
    "combination of preferences they never trained on, where monolithic meta-learners do not, and "
    "does that need every preference to occur in training?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=(
                *grid(support=SUPPORTS, model=(LINEAR,)),
                {"support": "compositional", "model": MAML},
            ),
            settings=SMOKE_SETTINGS,
            cost="1 min on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=grid(support=SUPPORTS, model=MODELS),
            settings=LAPTOP_SETTINGS,
            cost="30 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=grid(support=SUPPORTS, model=MODELS),
            settings=PAPER_SETTINGS,
            cost="days on an accelerator",
        ),
    },
    claims=(
        Claim(
            "better-than-the-mean",
            "With compositional support every model has a lower loss on held-out combinations than "
            "predicting their mean action values has.",
            "beyond the paper",
            better_than_the_mean,
        ),
        Claim(
            "hypernetworks-generalize",
            "With compositional support both hypernetworks have a lower loss on held-out "
            "combinations than ANIL and MAML.",
            "Figure 4C",
            hypernetworks_generalize,
        ),
        Claim(
            "hypernetworks-need-compositional-support",
            "Without compositional support the loss of both hypernetworks on held-out combinations "
            "is at least 1.5 times as high as with it.",
            "Figure 4C",
            hypernetworks_need_compositional_support,
        ),
    ),
    figures=(
        Figure(
            "loss",
            "Loss on held-out combinations",
            "Figure 4C: ½ Σ (Q̂ − Q)² over actions. Every seed is a point; means with their 95 % "
            "intervals. Seeds differ in their templates, and so in the scale of the loss.",
            draw_loss,
        ),
        Figure(
            "training",
            "Loss on held-out combinations during training",
            "With compositional support.",
            draw_training,
        ),
    ),
    notes="The paper's grid has 5 x 5 cells and 4 objects, and is learned for 100,000 outer steps "
    "of 128 tasks: days on an accelerator. Here it has 2 x 3 cells without walls and 2 objects, "
    "and is learned for 6,000 steps of 16 tasks; modules, colours and combinations are the "
    "paper's. Hyperparameters follow Table A11, which the paper chose on the loss of held-out "
    "tasks; that is not a validation set. The paper prints no losses.",
)
