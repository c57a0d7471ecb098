"""Figure 3B: generalization to held-out combinations, by model and support."""

from recombine.lab import (
    Beside,
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
    reference,
)
from recombine.lab.vocabulary import Mean

from ..meta_models import (
    ANIL,
    LINEAR,
    MODELS,
    PAIRS,
    TITLES,
    draw_learning,
    draw_models,
)
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial

SUPPORTS = ("compositional", "non-compositional")
SMOKE_DROP = {"support": "non-compositional", "model": LINEAR}


WITH, WITHOUT = ({"support": support} for support in SUPPORTS)


def lost(model: str) -> Mean:
    """Accuracy on held-out combinations with compositional support, minus that without it."""
    return paired("ood_accuracy", WITH, WITHOUT, f"lost by {model}", model=model)


def draw_accuracy(results: Results):
    figure = draw_models(
        results,
        "ood_accuracy",
        {f"{s} support": {"support": s} for s in SUPPORTS},
        "accuracy on held-out combinations",
    )
    chance = 1 / next(iter(results.values("outputs")))
    for panel in range(len(SUPPORTS)):
        figures.add_level(figure, chance, "chance", panel=panel)
    return figure


def draw_training(results: Results):
    return draw_learning(
        results, "ood_accuracy", "accuracy on held-out combinations", support="compositional"
    )


def printed(model: str):
    return reference(
        "hyperteacher", artifact="table-A6", model=TITLES[model], metric="ood_accuracy_percent"
    ).as_share()


def measured(model: str):
    return lambda results: results.metric("ood_accuracy", model=model, support="compositional")


study = Study(
    name="hyperteacher/support",
    title="Hypernetworks solve held-out combinations when the support is compositional",
    source=Source(DOCUMENT, "Figure 3B, Table A6, Figure A7"),
    question="Do meta-learned hypernetworks solve combinations of modules that they never "
    "trained on, where monolithic meta-learners do not, and does that need every module to "
    "occur in training?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=(*grid(support=("compositional",), model=MODELS), SMOKE_DROP),
            settings=SMOKE_SETTINGS,
            cost="1 min on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=grid(support=SUPPORTS, model=MODELS),
            cost="22 min on two cores",
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
            "hypernetworks-generalize",
            "With compositional support both hypernetworks are at least {0:points} more accurate "
            "on held-out combinations than ANIL and MAML.",
            "Figure 3B, Table A6",
            all_of(
                paired("ood_accuracy", modular, monolithic, **WITH) >= 0.08
                for modular, monolithic in PAIRS
            ),
        ),
        Claim(
            "linear-needs-compositional-support",
            "Without compositional support the linear hypernetwork falls at least {0:points} below "
            "its own accuracy with it, and below ANIL.",
            "Figure 3B",
            all_of(lost(LINEAR) >= 0.15, paired("ood_accuracy", LINEAR, ANIL, **WITHOUT) < 0),
        ),
        Claim(
            "crossover",
            "Without compositional support both hypernetworks are less accurate on held-out "
            "combinations than both monolithic models.",
            "Figure 3B",
            all_of(
                paired("ood_accuracy", modular, monolithic, **WITHOUT) < 0
                for modular, monolithic in PAIRS
            ),
        ),
        Claim(
            "monolithic-change-little",
            "Monolithic models lose less than half as much without compositional support as "
            "either hypernetwork.",
            "Figure 3B",
            all_of(
                mean(lost(monolithic).quantity - 0.5 * lost(modular).quantity) < 0
                for modular, monolithic in PAIRS
            ),
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy on held-out combinations",
            "Figure 3B. Every seed is a point; means with their 95 % intervals.",
            draw_accuracy,
        ),
        Figure(
            "training",
            "Accuracy on held-out combinations during training",
            "Figure A7, with compositional support.",
            draw_training,
        ),
    ),
    beside=tuple(
        Beside(f"accuracy on held-out combinations, {TITLES[m]}", printed(m), measured(m))
        for m in MODELS
    ),
    notes="The paper's teacher has three hidden layers of 32 units, two of them generated from 8 "
    "modules, and is learned for 200,000 outer steps of 128 tasks: days on an accelerator. Here "
    "one layer of 8 units is generated from 6 modules, up to 3 at a time, and learned for 4,000 "
    "steps of 32 tasks. Hyperparameters follow Table A10, which the paper chose on the loss of "
    "held-out tasks; that is not a validation set.",
)
