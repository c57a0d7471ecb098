"""Figures 3C, 3D and A6: are a task's modules linearly decodable from the fast parameters?"""

from collections.abc import Callable, Sequence

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Results,
    Source,
    Statement,
    Study,
    figures,
    for_all,
    grid,
    mean,
    paired,
)
from recombine.lab.vocabulary import Mean

from ..meta_models import HYPERNETWORKS, LINEAR, present, title_of
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial

CONNECTEDNESS = ("connected", "disconnected")
SUPPORTS = ("compositional", "non-compositional", *CONNECTEDNESS)
CONNECTED, DISCONNECTED = ({"support": support} for support in CONNECTEDNESS)
RING = {"M": 8, "K": 2}
LONG = {"steps": 8000}
"""More steps than elsewhere: the cost of disconnected support appears late in training."""


def with_support(results: Results, support: str) -> Results:
    """Trials with one kind of support; where there are several M and K, those of Figure 3."""
    runs = results.where(support=support)
    return runs if len(runs.values("M")) == len(runs.values("K")) == 1 else runs.where(**RING)


def decoded(results: Results, models: Sequence[str] = HYPERNETWORKS) -> list[str]:
    """Those of `models`, and of models that the paper does not have, that have been decoded."""
    found = [
        m
        for m in present(results, models)
        if all("decodability" in r.metrics for r in results.where(model=m).records)
    ]
    if not found:
        raise Missing("no model has been decoded")
    return found


def decodability(model: str, support: str) -> Mean:
    """Pooled R² on held-out combinations."""

    def read(results: Results) -> np.ndarray:
        return with_support(results, support).metric("decodability", model=model)

    return mean(read, f"pooled R², {model}, {support}")


def of_hypernetworks(make: Callable[[str], Statement]) -> Statement:
    """A statement on every hypernetwork of the paper with some support that has been run."""
    return for_all("model", make, among=HYPERNETWORKS)


def is_connected(results: Results, model: str) -> bool:
    """Whether a model is a hypernetwork of the paper that has been run with connected support."""
    return model in HYPERNETWORKS and model in results.where(support="connected").values("model")


def apart(metric: str) -> Mean:
    """The linear hypernetwork's metric with connected support, minus that with disconnected."""
    return paired(metric, CONNECTED, DISCONNECTED, model=LINEAR)


def draw_decodability(results: Results):
    figure = figures.panels("", x="support", y="pooled R² on held-out combinations")
    for color, model in enumerate(decoded(results)):
        runs = results.where(model=model)
        shown = [s for s in SUPPORTS if s in runs.values("support")]
        values = [with_support(runs, s).metric("decodability") for s in shown]
        figures.add_points(figure, shown, values, title_of(model), color=color, line=False)
    return figure


def draw_modules(results: Results):
    arrays = {}
    for model in decoded(results, [LINEAR]):
        runs = results.where(model=model)
        name = "" if model == LINEAR else f", {title_of(model)}"
        for s in (s for s in SUPPORTS if s in runs.values("support")):
            found = with_support(runs, s).array("decodability").mean(0).clip(-1, 1)
            arrays[f"{s} support{name}"] = found
    return figures.heatmaps(list(arrays.values()), list(arrays), x="module", y="layer")


def draw_sizes(results: Results):
    figure = figures.panels("", x="modules of a task, K", y="pooled R² on held-out combinations")
    runs = results.where(support="compositional")
    for color, model in enumerate(decoded(runs)):
        for M in runs.where(model=model).values("M"):
            sizes = runs.where(model=model, M=M).values("K")
            values = [runs.metric("decodability", model=model, M=M, K=K) for K in sizes]
            figures.add_points(figure, sizes, values, f"{title_of(model)}, M = {M}", color=color)
    return figure


study = Study(
    name="hyperteacher/decoding",
    title="The modules of a held-out task can be decoded from the adapted embedding",
    source=Source(DOCUMENT, "Figures 3C, 3D and A6"),
    question="After adapting to a held-out combination, can a linear map that was fitted on "
    "trained combinations tell which modules it mixes?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=tuple(
                {"model": LINEAR, "support": s, **(RING if s in CONNECTEDNESS else {})}
                for s in SUPPORTS
            ),
            settings=SMOKE_SETTINGS,
            cost="1 min on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=(
                *grid(model=HYPERNETWORKS, support=("compositional", "non-compositional")),
                *({**RING, **LONG, **c} for c in grid(model=(LINEAR,), support=CONNECTEDNESS)),
            ),
            settings={"steps": 3000},
            cost="15 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=(
                *grid(model=HYPERNETWORKS, support=SUPPORTS),
                *grid(model=HYPERNETWORKS, M=(4, 6, 8), K=(1, 2, 4)),
                *grid(model=HYPERNETWORKS, M=(8,), K=(8,)),
            ),
            settings=PAPER_SETTINGS,
            cost="days on an accelerator",
        ),
    },
    claims=(
        Claim(
            "decodable",
            "With compositional support the modules of held-out combinations are decodable from "
            "both hypernetworks: pooled R² of at least {0}.",
            "Figure 3C",
            of_hypernetworks(lambda model: decodability(model, "compositional") >= 0.8),
        ),
        Claim(
            "not-decodable",
            "Without compositional support the modules of held-out combinations are not decodable "
            "from either hypernetwork: pooled R² below {0}.",
            "Figure 3C",
            of_hypernetworks(lambda model: decodability(model, "non-compositional") < 0.5),
        ),
        Claim(
            "disconnected-is-lower",
            "With disconnected support the pooled R² is lower than with connected support, by at "
            "least {0}.",
            "Figure 3D",
            for_all(
                "model",
                lambda model: (
                    mean(
                        decodability(model, "connected").quantity
                        - decodability(model, "disconnected").quantity
                    )
                    >= 0.15
                ),
                among=is_connected,
            ),
        ),
        Claim(
            "disconnected-generalizes-less",
            "The linear hypernetwork is less accurate on the same held-out combinations when "
            "the trained ones are disconnected, by at least {0:points}.",
            "Figure 3D",
            apart("ood_accuracy") >= 0.05,
        ),
        Claim(
            "disconnected-is-easier-to-train",
            "The linear hypernetwork is more accurate on trained combinations when they are "
            "disconnected.",
            "Figure 3D",
            apart("test_accuracy") < 0,
        ),
    ),
    figures=(
        Figure(
            "decodability",
            "Decoding the modules of held-out combinations",
            "Figures 3C and 3D: pooled over modules, about the means over the fitted tasks.",
            draw_decodability,
        ),
        Figure(
            "modules",
            "Decoding module by module",
            "R² of the linear hypernetwork, mean over runs, cut off at -1. Blank: undefined, since "
            "a module that is in every held-out combination has no variance to explain.",
            draw_modules,
        ),
        Figure(
            "sizes",
            "Decoding by the number of modules",
            "Figure A6, with compositional support. Preset laptop has one M and K.",
            draw_sizes,
        ),
    ),
    notes="Features are all fast parameters after adaptation, without normalisation; ridge "
    "regression with penalty 1 is solved exactly (the published code stops after ten iterations). "
    "Pooled R² is over all modules at once, about the means over the fitted tasks, and so defined "
    "where the R² of the held-out module itself is not. Connectedness is shown with 8 modules, 2 "
    "at a time, on the same 10 held-out pairs.",
)
