"""Figure 4b: how well are k images classified at once, with modules and without?"""

from collections.abc import Callable
from typing import Any

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Quantity,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    difference,
    figures,
    for_all,
    grid,
    mean,
    per_seed,
)

from . import DOCUMENT
from .images_trial import METHODS, Config, noisy_reference, trial

NAMES = METHODS | {"oracle": "true images"}


def lead(method: str, other: str, **where: Any) -> Quantity:
    """By how much a method is more accurate than another, on the same images and inputs."""
    return per_seed("accuracy", method=method, **where) - per_seed(
        "accuracy", method=other, **where
    )


def many(results: Results, k: int) -> bool:
    return k >= 3


def lead_at(of: Callable[[list[int]], int], method: str, other: str) -> Quantity:
    """The lead at the smallest k from 3 on, or at the largest k."""

    def read(results: Results) -> np.ndarray:
        ks = [k for k in results.values("k") if many(results, k)]
        if len(ks) < 2:
            raise Missing("fewer than two k from 3 on")
        return lead(method, other, k=of(ks))(results)

    return per_seed(read, f"{method} − {other} at {of.__name__} k")


def ahead(method: str, other: str) -> Statement:
    """A method is more accurate than another at every k from 3 on."""
    return for_all("k", lambda k: mean(lead(method, other, k=k)) > 0, among=many)


def widens(method: str, other: str) -> Statement:
    """The lead at the largest k is larger than at the smallest from 3 on."""
    return mean(lead_at(max, method, other)) > mean(lead_at(min, method, other))


def shown(results: Results) -> dict[str, str]:
    """The methods of the results, and their names."""
    return {m: name for m, name in NAMES.items() if m in results.values("method")}


def draw_accuracy(results: Results):
    figure = figures.panels("", x="images in an input, k", y="component accuracy")
    ks = results.values("k")
    for color, (method, name) in enumerate(shown(results).items()):
        values = [results.metric("accuracy", method=method, k=k) for k in ks]
        figures.add_points(figure, ks, values, name, color=color)
    return figure


def draw_gap(results: Results):
    figure = figures.panels("", x="images in an input, k", y="difference in accuracy")
    pairs = (("modular", "monolithic"), ("kernel", "monolithic"), ("kernel", "modular"))
    ks = results.values("k")
    for color, (method, other) in enumerate(pairs):
        gap = [lead(method, other, k=k)(results) for k in ks]
        figures.add_points(figure, ks, gap, f"{NAMES[method]} minus {NAMES[other]}", color=color)
    figures.add_level(figure, 0, "no difference")
    return figure


def draw_learning(results: Results):
    ks = [k for k in results.values("k") if k >= 3] or results.values("k")
    ends = (min(ks), max(ks))
    figure = figures.panels(
        *(f"k = {k}" for k in dict.fromkeys(ends)), x="training inputs", y="component accuracy"
    )
    for panel, k in enumerate(dict.fromkeys(ends)):
        for color, (method, name) in enumerate(shown(results).items()):
            seen, values = results.curve("accuracy", method=method, k=k)
            figures.add_seeds(figure, seen, values, name, color=color, panel=panel)
    return figure


AS_PUBLISHED = {
    "data": "cifar-10", "modules": 32, "width": 512, "trunk": (256, 128, 64),
    "hidden": (512, 512, 512, 256, 128), "inputs": 10**6, "batch": 128, "learning_rate": 1e-4,
    "together": False, "sigma": 20.0, "kernel_optimiser": "sgd", "kernel_mean": False,
    "kernel_rate": 0.01, "kernel_batch": 128, "kernel_steps": 7812, "test_inputs": 10_000,
}  # fmt: skip
"""Appendix E: sizes, rates, and one pass over a million inputs in training. The kernel rule takes
as many steps as such a pass, over the inputs that it has; jitter, centred targets and fixed norms
are this study's."""
SMOKE = {
    "modules": 4, "width": 4, "trunk": (8,), "hidden": (16,), "inputs": 320, "batch": 32,
    "kernel_inputs": 128, "kernel_batch": 32, "kernel_steps": 10, "test_inputs": 100,
}  # fmt: skip

study = Study(
    name="modularity-scaling/images",
    title="Several images at once: modules keep their accuracy where one network loses it",
    source=Source(DOCUMENT, "Figure 4b"),
    question="How does the accuracy on inputs of k images fall with k, for one network, for "
    "modules, and for modules whose projections the kernel rule has found?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(k=(4,), method=tuple(METHODS)),
            settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=8,
            conditions=grid(k=(2, 4, 6, 8), method=tuple(NAMES)),
            cost="3 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(k=tuple(range(1, 9)), method=tuple(METHODS)),
            settings=AS_PUBLISHED,
            cost="days on an accelerator: 300 million weights per network; needs cifar-10",
        ),
    },
    claims=(
        Claim(
            "modules-help",
            "Modules are ahead of one network by at least {0:points} of component accuracy at "
            "k = 4, and by more at k = 8.",
            "Figure 4b",
            all_of(
                mean(lead("modular", "monolithic", k=4)) >= 0.02,
                mean(lead("modular", "monolithic", k=8)) > mean(lead("modular", "monolithic", k=4)),
            ),
            seeds=5,
        ),
        Claim(
            "modular-above-monolithic",
            "Modules with random projections are ahead of one network at every k from 3 on.",
            "Figure 4b",
            ahead("modular", "monolithic"),
            seeds=5,
        ),
        Claim(
            "ours-above-modular",
            "Modules with the projections of the kernel rule are ahead of those with random ones "
            "at every k from 3 on.",
            "Figure 4b",
            ahead("kernel", "modular"),
            seeds=5,
        ),
        Claim(
            "gap-to-monolithic-widens",
            "By how much modules with random projections are ahead of one network grows with k: "
            "more at the largest k than at the smallest from 3 on.",
            "Figure 4b",
            widens("modular", "monolithic"),
            seeds=5,
        ),
        Claim(
            "gap-of-ours-widens",
            "By how much modules with the kernel rule's projections are ahead of one network grows "
            "with k: more at the largest k than at the smallest from 3 on.",
            "Figure 4b",
            widens("kernel", "monolithic"),
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy against the number of images",
            "Figure 4b, on 8x8 digits: the fraction of images classified correctly, on test "
            "images. Guessing is right for 10 %. With true images, random projections see one "
            "image each.",
            draw_accuracy,
        ),
        Figure(
            "gap",
            "Differences between methods",
            "Paired over seeds: methods share images and inputs, modular networks also weights.",
            draw_gap,
        ),
        Figure(
            "learning",
            "Accuracy during training",
            "Every input is seen once.",
            draw_learning,
        ),
    ),
    beside=(
        Beside(
            "ours minus modular at k = 6 (Table 4 without noise; CIFAR-10, full size)",
            difference(noisy_reference("kernel", 0), noisy_reference("modular", 0)),
            lead("kernel", "modular", k=6),
        ),
        Beside(
            "modular minus monolithic at k = 6 (Table 4 without noise; CIFAR-10)",
            difference(noisy_reference("modular", 0), noisy_reference("monolithic", 0)),
            lead("modular", "monolithic", k=6),
        ),
    ),
    notes="The paper uses CIFAR-10, a million inputs, 32 modules and projections to 512 numbers. "
    "Here the images are the 8x8 digits, with 12,800 inputs, 16 modules and projections to 16 "
    "numbers: accuracies are not comparable with the paper's, "
    "which shows Figure 4b without numbers. Preset paper has the paper's sizes and its "
    "images (`recombine data get cifar-10`). The kernel rule fits every module to the "
    "classes of one image; with classes drawn from all images modules have no reason to prefer "
    "one (see modularity-scaling/projections). Its inputs are the first that training sees.",
)
