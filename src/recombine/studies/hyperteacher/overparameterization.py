"""Figure 3F: how large should the student be?"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from recombine.lab import (
    Claim,
    Figure,
    Results,
    Source,
    Study,
    figures,
    grid,
    statistic,
)

from ..meta_models import EMBEDDING, HYPERNETWORKS, LINEAR, WIDTH, present, sized, title_of
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SETS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial

MODULES = 4
SIZES = tuple(
    {EMBEDDING: factor * MODULES, WIDTH: width}
    for factor, width in ((1, 8), (2, 16), (2, 32), (4, 64), (16, 128))
)


def best_by_size(results: Results, model: str) -> dict[tuple[float, int], Results]:
    """The trials of a model by (embedding / M, width).

    Each size has the learning rate that is best on held-out combinations.
    """
    runs = sized(results.where(model=model))
    sizes = {
        (r.config["M"], r.config["model"]["embedding"], r.config["model"]["width"])
        for r in runs.records
    }
    found = {(e / M, w): best_rate(runs, M, e, w) for M, e, w in sizes}
    return dict(sorted(found.items()))


def accuracies(results: Results) -> dict[tuple[float, int], float]:
    """The linear hypernetwork's mean held-out accuracy, by (embedding / M, width)."""
    found = best_by_size(results, LINEAR)
    return {size: float(runs.metric("ood_accuracy").mean()) for size, runs in found.items()}


def best_rate(results: Results, M: int, embedding: int, width: int) -> Results:
    """The trials of one size, with the learning rate that is best on held-out combinations."""
    size: dict[str, Any] = {EMBEDDING: embedding, WIDTH: width}
    runs = results.where(M=M, **size)
    rates = [runs.where(outer_rate=rate) for rate in runs.values("outer_rate")]
    return max(rates, key=lambda r: r.metric("ood_accuracy").mean())


def named(found: Mapping[tuple[float, int], Any]) -> dict[str, Any]:
    return {f"{f:g} M, {w} units": v for (f, w), v in found.items()}


def below_the_best(results: Results, size: Callable) -> float:
    """By how much the smallest or the largest student is worse than the best one."""
    found = accuracies(results)
    return max(found.values()) - found[size(found)]


def draw_sizes(results: Results):
    figure = figures.panels("", x="embedding size and width of the student", y="accuracy")
    shown = [(m, set_) for m in present(sized(results), [LINEAR]) for set_ in SETS.items()]
    for color, (model, (name, title)) in enumerate(shown):
        found = named(best_by_size(results, model))
        values = [runs.metric(f"{name}_accuracy") for runs in found.values()]
        label = f"{title} combinations" if model == LINEAR else f"{title_of(model)}, {title}"
        figures.add_points(figure, list(found), values, label, color=color, line=False)
    return figure


study = Study(
    name="hyperteacher/overparameterization",
    title="A student somewhat larger than the teacher generalizes best",
    source=Source(DOCUMENT, "Figure 3F"),
    question="How does accuracy on held-out combinations depend on the size of the hypernetwork?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=SIZES[::2],
            settings=SMOKE_SETTINGS | {"M": MODULES},
            cost="40 s on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=SIZES,
            settings={"M": MODULES, "K": 2, "steps": 2000},
            cost="10 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=grid(
                **{
                    EMBEDDING: [factor * MODULES for factor in (1, 2, 4, 8, 16)],
                    WIDTH: (16, 32, 64, 128, 256, 512),
                },
                outer_rate=(0.0003, 0.001, 0.003),
                model=HYPERNETWORKS,
            ),
            settings=PAPER_SETTINGS | {"M": MODULES, "K": 2, "teacher_width": 16},
            cost="months on an accelerator",
        ),
    },
    claims=(
        Claim(
            "too-small",
            "A student of the teacher's own size is worse on held-out combinations than the best "
            "one, by more than {0:points}.",
            "Figure 3F",
            statistic(partial(below_the_best, size=min), "best minus smallest") > 0.02,
        ),
        Claim(
            "too-large",
            "The largest student is worse on held-out combinations than the best one, by more than "
            "{0:points}.",
            "Figure 3F",
            statistic(partial(below_the_best, size=max), "best minus largest") > 0.02,
        ),
    ),
    figures=(Figure("sizes", "Accuracy by size of the student", "Figure 3F.", draw_sizes),),
    notes="The paper chooses the learning rate anew for every size, over three values; preset "
    "laptop does not, and follows a diagonal of sizes. Embeddings are multiples of M = 4; with "
    "another M, choose them too (`--set model.embedding=12`).",
)
