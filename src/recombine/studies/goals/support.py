"""Figures 4E, 4F, A9 and A10: held-out goals, by model and support."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Quantity,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    figures,
    grid,
    mean,
    per_seed,
    statistic,
)
from recombine.lab.results import Record

from ..meta_models import (
    EMBEDDING,
    HYPERNETWORKS,
    LINEAR,
    MAML,
    MODELS,
    PAIRS,
    WIDTH,
    draw_learning,
    draw_models,
    present,
    sized,
    title_of,
)
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial

SUPPORTS = ("compositional", "non-compositional")
SIZES = grid(
    support=("compositional",),
    model=HYPERNETWORKS,
    **{WIDTH: (32, 64, 128, 256), EMBEDDING: (8, 16, 32)},
    outer_rate=(0.0003, 0.001, 0.003),
)
"""Figure A10."""


def of_table(results: Results) -> Results:
    """The trials of models with the sizes of the table."""
    return replace(results, records=tuple(r for r in results.records if not _varies(r)))


def of_sizes(results: Results) -> Results:
    """The trials of models of several sizes, that of the table among them."""
    if not any(map(_varies, results.records)):
        raise Missing("only preset paper varies the size of hypernetworks")
    return sized(results.where(support="compositional"))


def _varies(record: Record) -> bool:
    """Whether a trial is one of `SIZES`, which have a learning rate of their own."""
    return "outer_rate" in record.condition


def of_model(metric: str, model: str, support: str = "compositional") -> Quantity:
    """A metric of the trials of a model with the size of the table."""

    def read(results: Results) -> np.ndarray:
        return of_table(results).metric(f"ood_{metric}", model=model, support=support)

    return per_seed(read, f"{metric.replace('_', ' ')} of {model}, {support}")


def hypernetworks_lead(metric: str) -> Statement:
    """With compositional support both hypernetworks are ahead of both monolithic models."""
    return all_of(
        mean(of_model(metric, modular) - of_model(metric, monolithic)) > 0
        for modular, monolithic in PAIRS
    )


def hypernetworks_lose_more(metric: str) -> Statement:
    """Without compositional support both hypernetworks lose more than both monolithic models."""

    def lost(model: str) -> Quantity:
        return of_model(metric, model) - of_model(metric, model, "non-compositional")

    return all_of(mean(lost(modular) - lost(monolithic)) > 0 for modular, monolithic in PAIRS)


def best_rate(results: Results, model: str, embedding: int, width: int) -> Results:
    """The trials of one size, with the learning rate that is best on held-out goals."""
    size: dict[str, Any] = {WIDTH: width, EMBEDDING: embedding}
    runs = of_sizes(results).where(model=model, **size)
    rates = [runs.where(outer_rate=rate) for rate in runs.values("outer_rate")]
    return max(rates, key=lambda r: r.metric("ood_accuracy").mean())


def spread_over_sizes(results: Results, model: str) -> float:
    """The highest mean accuracy on held-out goals over all sizes of a model, minus the lowest."""
    sizes = of_sizes(results)
    of_model = sizes.where(model=model)
    accuracy = [
        float(best_rate(sizes, model, embedding, width).metric("ood_accuracy").mean())
        for embedding in of_model.values(EMBEDDING)
        for width in of_model.values(WIDTH)
    ]
    return max(accuracy) - min(accuracy)


def draw_support(metric: str, y: str):
    def draw(results: Results):
        panels = {f"{s} support": {"support": s} for s in SUPPORTS}
        figure = draw_models(of_table(results), f"ood_{metric}", panels, y)
        if metric == "accuracy":
            for panel, support in enumerate(SUPPORTS):
                level = of_table(results).metric("ood_majority_accuracy", support=support).mean()
                figures.add_level(figure, float(level), "most frequent action", panel=panel)
        return figure

    return draw


def draw_training(metric: str, y: str):
    return lambda results: draw_learning(
        of_table(results), f"ood_{metric}", y, support="compositional"
    )


def draw_sizes(results: Results):
    sizes = of_sizes(results)
    shown = present(sizes, HYPERNETWORKS)
    figure = figures.panels(
        *(title_of(m) for m in shown), x="width", y="accuracy on held-out goals", log_x=True
    )
    for panel, model in enumerate(shown):
        of_model = sizes.where(model=model)
        for color, embedding in enumerate(of_model.values(EMBEDDING)):
            widths = of_model.values(WIDTH)
            values = [best_rate(sizes, model, embedding, w).metric("ood_accuracy") for w in widths]
            figures.add_points(
                figure, widths, values, f"embedding of {embedding}", color=color, panel=panel
            )
    return figure


ACCURACY, EXACT = "accuracy on held-out goals", "exact paths to held-out goals"

study = Study(
    name="goals/support",
    title="One demonstration of an unseen goal: who recombines mazes, objects and actions?",
    source=Source(DOCUMENT, "Figures 4E, 4F, A9 and A10"),
    question="Do meta-learned hypernetworks pursue goals whose combination they never trained on "
    "better than monolithic meta-learners, and do they owe it to compositional support?",
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
            cost="30 s on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=grid(support=SUPPORTS, model=MODELS),
            cost="11 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=(*grid(support=SUPPORTS, model=MODELS), *SIZES),
            settings=PAPER_SETTINGS,
            cost="months on an accelerator",
        ),
    },
    claims=(
        Claim(
            "above-majority",
            "With compositional support every model is more accurate on held-out goals than the "
            "most frequent action is.",
            "beyond the paper",
            all_of(
                mean(of_model("accuracy", m) - of_model("majority_accuracy", m)) > 0 for m in MODELS
            ),
        ),
        Claim(
            "interaction-inferred",
            "With compositional support both hypernetworks choose the right interaction at the "
            "target of more than {0:%} of held-out goals, which only the demonstration tells.",
            "beyond the paper",
            all_of(mean(of_model("last_step", m)) > 0.5 for m in HYPERNETWORKS),
        ),
        Claim(
            "hypernetworks-generalize",
            "With compositional support both hypernetworks are more accurate on held-out goals "
            "than ANIL and MAML.",
            "Figure 4E",
            hypernetworks_lead("accuracy"),
        ),
        Claim(
            "hypernetworks-find-whole-paths",
            "With compositional support both hypernetworks predict more whole demonstrations of "
            "held-out goals without an error than ANIL and MAML.",
            "Figure A9",
            hypernetworks_lead("exact_path"),
        ),
        Claim(
            "hypernetworks-need-compositional-support",
            "Without compositional support both hypernetworks lose more accuracy on held-out goals "
            "than ANIL and MAML.",
            "Figure 4F",
            hypernetworks_lose_more("accuracy"),
        ),
        Claim(
            "whole-paths-need-compositional-support",
            "Without compositional support both hypernetworks lose more whole demonstrations of "
            "held-out goals than ANIL and MAML.",
            "Figure A9",
            hypernetworks_lose_more("exact_path"),
        ),
        Claim(
            "size-matters-little",
            "Over widths of 32 to 256 and embeddings of 8 to 32, the accuracy of a hypernetwork on "
            "held-out goals varies by at most {0:points} (preset paper only).",
            "Figure A10",
            all_of(
                statistic(partial(spread_over_sizes, model=m), f"spread over sizes, {m}") <= 0.1
                for m in HYPERNETWORKS
            ),
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy on held-out goals",
            "Figure 4F. Every seed is a point; means with their 95 % intervals.",
            draw_support("accuracy", ACCURACY),
        ),
        Figure(
            "training",
            "Accuracy on held-out goals during training",
            "Figure 4E, with compositional support.",
            draw_training("accuracy", ACCURACY),
        ),
        Figure(
            "exact-paths",
            "Demonstrations of held-out goals predicted without an error",
            "Figure A9, right.",
            draw_support("exact_path", EXACT),
        ),
        Figure(
            "exact-paths-training",
            "Demonstrations of held-out goals predicted without an error, during training",
            "Figure A9, left, with compositional support.",
            draw_training("exact_path", EXACT),
        ),
        Figure(
            "interactions",
            "Accuracy of the last step",
            "The interaction at the target, on held-out goals.",
            draw_support("last_step", "accuracy of the last step"),
        ),
        Figure(
            "sizes",
            "Accuracy on held-out goals by size of the hypernetwork",
            "Figure A10, with the best of three learning rates. Preset paper only.",
            draw_sizes,
        ),
    ),
    notes="The paper has five mazes of 11 x 11 cells and 200 goals, and learns for 200,000 outer "
    "steps of 128 goals. Here two mazes of 5 x 5 cells and 48 goals are learned for 4,000 steps of "
    "8, with narrower ANIL and MAML: orderings of models that are still learning need not be those "
    "of the paper. Hyperparameters follow Table A12, which the paper chose on the loss of held-out "
    "goals; that is not a validation set.",
)
