"""Figure 4C: action values of an agent with held-out preferences, by model and support."""

from recombine.lab import (
    Claim,
    Figure,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    mean,
    paired,
    per_seed,
    statistic,
)

from ..meta_models import (
    HYPERNETWORKS,
    LINEAR,
    MAML,
    MODELS,
    PAIRS,
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
WITH, WITHOUT = ({"support": support} for support in SUPPORTS)
LOSS = "loss on held-out combinations"


def mean_loss(results: Results, support: str) -> float:
    """The loss of predicting the mean action values of held-out combinations."""
    return float(results.metric("ood_mean_loss", support=support).mean())


def loss_ratio(results: Results) -> float:
    """Mean loss on held-out combinations without compositional support, over that with it."""
    without, with_ = (results.metric("ood_loss", **where).mean() for where in (WITHOUT, WITH))
    return float(without / with_)


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
            all_of(
                mean(per_seed("ood_loss") - per_seed("ood_mean_loss"), model=model, **WITH) < 0
                for model in MODELS
            ),
        ),
        Claim(
            "hypernetworks-generalize",
            "With compositional support both hypernetworks have a lower loss on held-out "
            "combinations than ANIL and MAML.",
            "Figure 4C",
            all_of(
                paired("ood_loss", modular, monolithic, **WITH) < 0 for modular, monolithic in PAIRS
            ),
        ),
        Claim(
            "hypernetworks-need-compositional-support",
            "Without compositional support the loss of both hypernetworks on held-out combinations "
            "is at least {0} times as high as with it.",
            "Figure 4C",
            all_of(statistic(loss_ratio, model=model) >= 1.5 for model in HYPERNETWORKS),
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
