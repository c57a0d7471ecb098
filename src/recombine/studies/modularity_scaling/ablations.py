"""Figures 9 and 10: fixed directions, true directions, and the number of modules."""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Judgement,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    figures,
    grid,
    paired_difference,
)

from . import DOCUMENT
from .directions import SMOKE
from .sine_trial import TITLES, Config, trial

METHODS = ("kernel", "kernel-fixed", "true", "modular", "random-fixed")
FEW = 3
"""k = m in the comparison of numbers of modules."""


def by_method(results: Results) -> Results:
    """The trials of Figure 9: the default number of modules."""
    return results.where(modules=0)


def by_modules(results: Results) -> dict[int, np.ndarray]:
    """Test losses of Figure 10 by number of modules."""
    trials = results.where(k=FEW, method="kernel")
    return {K: trials.metric("test_loss", modules=K) for K in trials.values("modules") if K}


def loss(results: Results, method: str, k: int) -> np.ndarray:
    return by_method(results).metric("test_loss", method=method, k=k)


def dimensions(results: Results) -> list[int]:
    return by_method(results).values("k")


def means(results: Results) -> dict[str, dict[int, float]]:
    return {
        m: {k: loss(results, m, k).mean() for k in dimensions(results)}
        for m in by_method(results).values("method")
    }


def fixed_is_worse(results: Results) -> Judgement:
    mean = means(results)
    holds = all(mean["kernel-fixed"][k] > mean["kernel"][k] for k in dimensions(results))
    evidence = {m: mean[m] for m in ("kernel", "kernel-fixed")}
    return Judgement(holds, {"mean test loss by k = m (bound: larger if fixed)": evidence})


def true_wins_in_high_dimensions(results: Results) -> Judgement:
    mean, k = means(results), max(dimensions(results))
    evidence = {m: mean[m][k] for m in ("true", "kernel", "modular")}
    holds = evidence["true"] < min(evidence["kernel"], evidence["modular"])
    return Judgement(holds, {f"mean test loss at k = m = {k} (bound: lowest for true)": evidence})


def trained_wins_in_low_dimensions(results: Results) -> Judgement:
    mean, k = means(results), min(dimensions(results))
    evidence = {m: mean[m][k] for m in ("kernel", "true")}
    holds = evidence["kernel"] < evidence["true"]
    return Judgement(holds, {f"mean test loss at k = m = {k} (bound: lower for kernel)": evidence})


def kernel_lowers_the_loss(results: Results) -> Judgement:
    found = {
        k: paired_difference(loss(results, "kernel", k), loss(results, "modular", k))
        for k in dimensions(results)
    }
    holds = all(f["95 % interval"][1] < 0 for f in found.values())
    return Judgement(holds, {"kernel minus modular by k = m (bound: intervals below 0)": found})


def more_modules_help(results: Results) -> Judgement:
    mean = {K: v.mean() for K, v in by_modules(results).items()}
    if not {1, FEW, 5 * FEW} <= set(mean):
        raise Missing(f"no losses with 1, {FEW} and {5 * FEW} modules")
    holds = mean[1] > mean[FEW] > mean[5 * FEW]
    bound = f"mean test loss by number of modules (bound: falls from 1 to {FEW} to {5 * FEW})"
    return Judgement(holds, {bound: mean})


def draw_methods(results: Results):
    figure = figures.panels("", x="modules and dimensions, k = m", y="test loss", log_y=True)
    for color, method in enumerate(METHODS):
        ks = dimensions(results)
        values = [loss(results, method, k) for k in ks]
        figures.add_points(figure, ks, values, TITLES[method], color=color)
    return figure


def draw_modules(results: Results):
    figure = figures.panels("", x="modules K of the network", y="test loss", log_x=True, log_y=True)
    found = by_modules(results)
    figures.add_points(figure, list(found), list(found.values()), TITLES["kernel"])
    return figure


def conditions(ks, methods=METHODS, modules=(1, FEW, 2 * FEW, 5 * FEW), n=1000):
    """The conditions of Figure 9 (methods by dimension) and Figure 10 (numbers of modules)."""
    return grid(method=methods, k=ks) + grid(method=("kernel",), k=(FEW,), modules=modules, n=(n,))


study = Study(
    name="modularity-scaling/ablations",
    title="What matters: trained directions, true directions, the number of modules",
    source=Source(DOCUMENT, "Figures 9 and 10"),
    question="How does the loss depend on kernel directions, on training them further, and on the "
    "number of modules?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=conditions((2,), ("kernel-fixed",), (FEW,), 64),
            settings={k: v for k, v in SMOKE.items() if k != "k"},
            cost="20 s on two cores",
        ),
        "laptop": Preset(
            seeds=8,
            conditions=conditions((2, 5)),
            settings={"n": 2000, "steps": 500},
            cost="5 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=conditions(tuple(range(2, 10))),
            settings={
                "n": 10_000,
                "factor": 5,
                "layers": 5,
                "width": 32,
                "learning_rate": 0.001,
                "steps": 1000,
                "kernel_steps": 100,
                "kernel_rate": 0.01,
                "kernel_optimiser": "sgd",
                "kernel_mean": False,
                "jitter": 1e-3,
                "least_cosine": 1e-3,
                "test_samples": 10_000,
            },
            cost="half a day on two cores",
        ),
    },
    claims=(
        Claim(
            "fixed-directions-are-worse",
            "The mean test loss is larger if kernel directions stay fixed during task training, at "
            "every dimension.",
            "Figure 9",
            fixed_is_worse,
            seeds=5,
        ),
        Claim(
            "true-directions-win-in-high-dimensions",
            "At the largest k = m true, fixed directions have the lowest mean test loss.",
            "Figure 9",
            true_wins_in_high_dimensions,
            seeds=5,
        ),
        Claim(
            "trained-directions-win-in-low-dimensions",
            "At the smallest k = m kernel directions that learn have a lower mean test loss than "
            "true, fixed ones.",
            "Figure 9",
            trained_wins_in_low_dimensions,
            seeds=5,
        ),
        Claim(
            "kernel-directions-lower-the-loss",
            "Kernel directions lower the test loss of modular networks at every dimension: the "
            "95 % interval of the paired difference is below 0.",
            "Section 4.3",
            kernel_lowers_the_loss,
            seeds=5,
        ),
        Claim(
            "more-modules-help",
            "With kernel directions the mean test loss falls from K = 1 module to K = k to K = 5k.",
            "Figure 10",
            more_modules_help,
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "methods",
            "Test loss by method and dimension",
            "Figure 9, with random directions in addition.",
            draw_methods,
        ),
        Figure(
            "modules",
            "Test loss by number of modules",
            f"Figure 10, at k = m = {FEW}.",
            draw_modules,
        ),
    ),
    notes="The paper has n = 10,000, K = 5k modules of five layers and k = m from 2 to 9 (preset "
    "paper), and shows its figures without numbers. Here n = 2,000, K = 2k, four layers, 500 steps "
    "at a learning rate of 0.01, and k = m of 2 and 5. True directions are assigned to modules in "
    "turn.",
)
