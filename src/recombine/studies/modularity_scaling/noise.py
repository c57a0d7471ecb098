"""Table 4: noise on training inputs, and clean test inputs."""

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Quantity,
    Reference,
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
from .images import AS_PUBLISHED, SMOKE, lead
from .images_trial import CHANCE, METHODS, Config, noisy_reference, trial

LITTLE, MUCH = 1.0, 3.0
"""The largest noise at which the paper's method is ahead, and the smallest at which it is not."""


def little(results: Results, noise: float) -> bool:
    return noise <= LITTLE


def much(results: Results, noise: float) -> bool:
    return noise >= MUCH


def gain(noise: float) -> Quantity:
    """By how much the kernel rule's projections are ahead of random ones."""
    return lead("kernel", "modular", noise=noise)


def cost(method: str, noise: float) -> Quantity:
    """The accuracy that the step to this σ from the one before it costs."""

    def read(results: Results) -> np.ndarray:
        runs = results.where(method=method)
        levels = runs.values("noise")
        less = levels[levels.index(noise) - 1]
        return runs.metric("accuracy", noise=less) - runs.metric("accuracy", noise=noise)

    return per_seed(read, f"accuracy that the step to noise={noise} costs {method}")


def falls(method: str) -> Statement:
    """The accuracy of a method falls with every step of σ."""
    return for_all(
        "noise",
        lambda noise: mean(cost(method, noise)) > 0,
        among=lambda results, noise: noise > results.values("noise")[0],
    )


def draw_accuracy(results: Results):
    figure = figures.panels("", x="noise on training inputs", y="component accuracy")
    levels = results.values("noise")
    for color, (method, name) in enumerate(METHODS.items()):
        values = [results.metric("accuracy", method=method, noise=s) for s in levels]
        figures.add_points(figure, [f"σ = {s:g}" for s in levels], values, name, color=color)
    figures.add_level(figure, CHANCE, "chance")
    return figure


def draw_advantage(results: Results):
    figure = figures.panels("", x="noise on training inputs", y="ours minus modular")
    levels = results.values("noise")
    places = [f"σ = {s:g}" for s in levels]
    figures.add_points(figure, places, [gain(s)(results) for s in levels], "here")
    paper = [published(s).value for s in levels]
    figures.add_reference(figure, places, paper, "paper (CIFAR-10, k = 6)")
    figures.add_level(figure, 0, "no difference")
    return figure


def published(noise: float) -> Reference:
    """The gain in Table 4."""
    return difference(noisy_reference("kernel", noise), noisy_reference("modular", noise))


NOISE = (0.0, 1.0, 3.0, 10.0, 30.0)

study = Study(
    name="modularity-scaling/noise",
    title="Noise on training inputs: its cost, and the advantage that it removes",
    source=Source(DOCUMENT, "Table 4"),
    question="How well are clean images classified after training on noisy ones, and does the "
    "kernel rule still help?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(noise=(0.0, 10.0), method=tuple(METHODS)),
            settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=grid(noise=NOISE, method=tuple(METHODS)),
            cost="1 min on two cores",
        ),
        "paper": Preset(
            seeds=4,
            conditions=grid(noise=(0.0, 0.3, 1.0, 3.0, 10.0, 30.0), method=tuple(METHODS)),
            settings=AS_PUBLISHED | {"k": 6},
            cost="days on an accelerator: 300 million weights per network; needs cifar-10",
        ),
    },
    claims=(
        Claim(
            "noise-costs-accuracy",
            "With every method accuracy falls with every step of σ, on average over runs.",
            "Table 4",
            all_of(map(falls, METHODS)),
            seeds=4,
        ),
        Claim(
            "monolithic-fails-at-ten",
            "At σ = 10 one network has an accuracy below {0:%}.",
            "Table 4",
            mean("accuracy", method="monolithic", noise=10.0) < 0.2,
            seeds=4,
        ),
        Claim(
            "chance-at-thirty",
            "At σ = 30 all methods are near chance: up to {0:%}.",
            "Table 4",
            all_of(mean("accuracy", method=m, noise=30.0) <= 0.15 for m in METHODS),
            seeds=4,
        ),
        Claim(
            "monolithic-is-lowest",
            "One network has the lowest mean accuracy at every σ.",
            "Table 4",
            for_all(
                "noise",
                lambda s: all_of(
                    mean(lead(m, "monolithic", noise=s)) > 0 for m in ("modular", "kernel")
                ),
            ),
            seeds=4,
        ),
        Claim(
            "ours-above-modular-with-little-noise",
            "For σ up to 1 the kernel rule's projections are ahead of random ones.",
            "Table 4",
            for_all("noise", lambda s: mean(gain(s)) > 0, among=little),
            seeds=4,
        ),
        Claim(
            "advantage-vanishes-with-noise",
            "From σ = 3 on the kernel rule's projections are ahead of random ones by less than {0} "
            "in accuracy, and by less than at any σ up to 1, on average over runs.",
            "Table 4",
            for_all(
                "noise",
                lambda s: all_of(
                    mean(gain(s)) < 0.01,
                    for_all("noise", lambda less: mean(gain(s)) < mean(gain(less)), among=little),
                ),
                among=much,
            ),
            seeds=4,
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy on clean inputs after training with noise",
            "Table 4, on 8x8 digits with k = 4.",
            draw_accuracy,
        ),
        Figure(
            "advantage",
            "The gain of the kernel rule",
            "Paired over seeds: methods share images, inputs, noise and weights. The paper's "
            "numbers come from another size and other images.",
            draw_advantage,
        ),
    ),
    beside=tuple(
        Beside(f"ours minus modular at σ = {s:g} (CIFAR-10, full size)", published(s), gain(s))
        for s in NOISE
    ),
    notes="The paper has k = 6 images of CIFAR-10, here k = 4 digits. N(0, σI) is read as a "
    "standard deviation of σ, after normalisation of the images. The kernel rule sees the noise as "
    "well: its inputs are the first that training sees. Accuracies are not comparable with the "
    "paper's.",
)
