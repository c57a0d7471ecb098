"""Figures 9 and 10: fixed directions, true directions, and the number of modules."""

from collections.abc import Callable
from typing import Any

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Quantity,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    figures,
    for_all,
    grid,
    mean,
    per_seed,
    ranked,
)

from . import DOCUMENT
from .directions import SMOKE
from .sine_trial import TITLES, Config, trial

METHODS = ("kernel", "kernel-fixed", "true", "modular", "random-fixed")
FEW = 3
"""k = m in the comparison of numbers of modules."""


OF_FIGURE_9: dict[str, Any] = {"modules": 0}
"""The default number of modules."""
OF_FIGURE_10: dict[str, Any] = {"k": FEW, "method": "kernel"}


def loss(method: str, k: int) -> Quantity:
    """Test loss of a method in Figure 9."""
    return per_seed("test_loss", method=method, k=k, **OF_FIGURE_9)


def at_end(method: str, of: Callable[[list[int]], int]) -> Quantity:
    """Test loss of a method at the smallest or the largest dimension of Figure 9."""

    def read(results: Results) -> np.ndarray:
        return loss(method, of(results.where(**OF_FIGURE_9).values("k")))(results)

    return per_seed(read, f"test loss of {method} at {of.__name__} k = m")


def at_every_dimension(make: Callable[[int], Statement]) -> Statement:
    """A statement at every dimension of Figure 9."""
    return for_all("k", make, **OF_FIGURE_9)


def draw_methods(results: Results):
    figure = figures.panels("", x="modules and dimensions, k = m", y="test loss", log_y=True)
    ks = results.where(**OF_FIGURE_9).values("k")
    for color, method in enumerate(METHODS):
        values = [loss(method, k)(results) for k in ks]
        figures.add_points(figure, ks, values, TITLES[method], color=color)
    return figure


def draw_modules(results: Results):
    figure = figures.panels("", x="modules K of the network", y="test loss", log_x=True, log_y=True)
    trials = results.where(**OF_FIGURE_10)
    numbers = [K for K in trials.values("modules") if K]
    values = [trials.metric("test_loss", modules=K) for K in numbers]
    figures.add_points(figure, numbers, values, TITLES["kernel"])
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
            at_every_dimension(lambda k: mean(loss("kernel-fixed", k)) > mean(loss("kernel", k))),
            seeds=5,
        ),
        Claim(
            "true-directions-win-in-high-dimensions",
            "At the largest k = m true, fixed directions have the lowest mean test loss.",
            "Figure 9",
            all_of(
                mean(at_end("true", max)) < mean(at_end(other, max))
                for other in ("kernel", "modular")
            ),
            seeds=5,
        ),
        Claim(
            "trained-directions-win-in-low-dimensions",
            "At the smallest k = m kernel directions that learn have a lower mean test loss than "
            "true, fixed ones.",
            "Figure 9",
            mean(at_end("kernel", min)) < mean(at_end("true", min)),
            seeds=5,
        ),
        Claim(
            "kernel-directions-lower-the-loss",
            "Kernel directions lower the test loss of modular networks, on the same targets, at "
            "every dimension.",
            "Section 4.3",
            at_every_dimension(lambda k: mean(loss("kernel", k)) < mean(loss("modular", k))),
            seeds=5,
        ),
        Claim(
            "more-modules-help",
            "With kernel directions the mean test loss falls from K = 1 module to K = k to K = 5k.",
            "Figure 10",
            ranked("test_loss", [{"modules": K} for K in (1, FEW, 5 * FEW)], **OF_FIGURE_10),
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
