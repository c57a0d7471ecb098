"""Figures 5 and 11: how close do modules come to the true directions, and does it help?"""

import numpy as np

from recombine import probes
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Quantity,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    mean,
    per_seed,
    ratio,
)

from . import DOCUMENT
from .sine_trial import TITLES, Config, trial

METHODS = ("monolithic", "monolithic-long", "modular", "kernel", "true")
"""Those of the paper."""

RANDOM, KERNEL = {"method": "modular"}, {"method": "kernel"}


def kernel_minus_random(metric: str) -> Quantity:
    """Modular networks with kernel directions minus those with random ones, on the same targets."""
    return per_seed(metric, **KERNEL) - per_seed(metric, **RANDOM)


def loss(method: str) -> Quantity:
    """Test loss of a method."""
    return per_seed("test_loss", method=method)


def short_of_halfway() -> Quantity:
    """Log loss with pursued directions, above the middle of that with random and true ones."""

    def read(results: Results) -> np.ndarray:
        random, true, found = (np.log(loss(m)(results)) for m in ("modular", "true", "pursuit"))
        return found - (random + true) / 2

    return per_seed(read, "log loss of pursued directions − halfway from random to true ones")


MONOLITHIC_OVER_MODULAR = tuple(
    ratio(loss(one), loss(other))
    for one in ("monolithic", "monolithic-long")
    for other in ("modular", "kernel")
)
"""Mean loss of monolithic networks over that of modular ones."""


def draw_similarity(results: Results):
    figure = figures.panels("", x="step of task training", y="similarity to true directions")
    for color, method in enumerate(("modular", "kernel")):
        steps, values = results.curve("similarity", method=method)
        figures.add_seeds(figure, steps, values, TITLES[method], color=color)
    k = results.values("k")[0]
    figures.add_level(figure, probes.chance_similarity(k, k), "chance")
    return figure


PANELS = (
    ("random directions", "modular", "directions_at_start"),
    ("random, trained", "modular", "directions"),
    ("kernel directions", "kernel", "directions_at_start"),
)


def draw_embedding(results: Results):
    figure = figures.panels(*(title for title, *_ in PANELS), x="t-SNE 1", y="t-SNE 2")
    first = min(results.seeds)
    for panel, (_, method, name) in enumerate(PANELS):
        record = next(r for r in results.where(method=method).records if r.seed == first)
        learned, true = record.read_array(name), record.read_array("true_directions")
        perplexity = min(5.0, (len(learned) + len(true) - 1) / 3)
        found = probes.embed_directions(learned, true, perplexity=perplexity)
        for color, (points, label) in enumerate(((found.learned, "module"), (found.true, "true"))):
            figures.add_points(
                figure,
                points[:, 0],
                list(points[:, 1:]),
                label,
                color=color,
                panel=panel,
                line=False,
            )
    return figure


def draw_losses(results: Results):
    figure = figures.panels("", x="", y="test loss", log_y=True)
    for color, method in enumerate(results.values("method")):
        values = [loss(method)(results)]
        figures.add_points(
            figure, [TITLES[method]], values, TITLES[method], color=color, line=False
        )
    variance = results.metric("target_variance").mean()
    figures.add_level(figure, float(variance), "variance of the targets")
    return figure


def draw_pairs(results: Results):
    figure = figures.panels("", x="test loss, modular", y="test loss, kernel directions")
    modular, kernel = loss("modular")(results), loss("kernel")(results)
    figures.add_points(figure, modular, [[v] for v in kernel], "a target", line=False)
    ends = np.array([0.0, max(modular.max(), kernel.max())])
    figures.add_theory(figure, ends, ends, "equal")
    return figure


SMOKE = {
    "k": 2, "n": 64, "width": 4, "layers": 2, "steps": 10, "kernel_steps": 4, "kernel_batch": 32,
    "test_samples": 64,
}  # fmt: skip
"""Settings of the smoke preset of the sine studies."""

study = Study(
    name="modularity-scaling/directions",
    title="Directions of modules: what the kernel rule finds, and whether it helps",
    source=Source(DOCUMENT, "Figures 5 and 11"),
    question="How close do the kernel rule and task training bring modules to the true directions, "
    "and does a closer start lower the loss?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(method=("modular", "kernel", "pursuit")),
            settings=SMOKE | {"waves": 4, "polish": 2},
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=10,
            conditions=grid(method=(*METHODS, "pursuit")),
            settings={"factor": 5},
            cost="5 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(method=METHODS),
            settings={
                "k": 10,
                "modules": 20,
                "layers": 5,
                "width": 32,
                "learning_rate": 0.001,
                "steps": 1000,
                "kernel_steps": 100,
                "kernel_rate": 0.01,
                "kernel_optimiser": "sgd",
                "kernel_mean": False,
                "jitter": 1e-3,
                "test_samples": 10_000,
            },
            cost="15 min on two cores",
        ),
    },
    claims=(
        Claim(
            "kernel-directions-are-closer",
            "Before any task training kernel directions are closer to the true ones than random "
            "directions, by at least {0} in mean similarity.",
            "Figure 5",
            mean(kernel_minus_random("similarity_at_start")) >= 0.08,
            seeds=5,
        ),
        Claim(
            "they-stay-closer",
            "After task training kernel directions are still closer to the true ones than random "
            "directions.",
            "Figure 5",
            mean(kernel_minus_random("similarity")) > 0,
            seeds=5,
        ),
        Claim(
            "training-widens-the-gap",
            "The gap in similarity is larger after task training than before, on average.",
            "Figure 5",
            mean(kernel_minus_random("similarity"))
            > mean(kernel_minus_random("similarity_at_start")),
            seeds=5,
        ),
        Claim(
            "the-rule-finds-more-than-training",
            "Similarity increases from random directions to random ones after training, to kernel "
            "directions before training, on average.",
            "Figure 11",
            all_of(
                mean("similarity", **RANDOM) > mean("similarity_at_start", **RANDOM),
                mean("similarity_at_start", **KERNEL) > mean("similarity", **RANDOM),
            ),
            seeds=5,
        ),
        Claim(
            "monolithic-is-worse",
            "The mean test loss of monolithic networks is more than {0} times that of modular "
            "ones, with random and with kernel directions, also with ten times the steps.",
            "Section 4.3",
            all_of(times > 1.5 for times in MONOLITHIC_OVER_MODULAR),
            seeds=5,
        ),
        Claim(
            "true-directions-are-better",
            "With true directions the mean test loss is less than {0} times that of modular "
            "networks.",
            "Appendix E.3",
            ratio(loss("true"), loss("modular")) < 0.3,
            seeds=5,
        ),
        Claim(
            "kernel-directions-lower-the-loss",
            "Kernel directions lower the test loss of modular networks, on the same targets.",
            "Section 4.3",
            mean(kernel_minus_random("test_loss")) < 0,
            seeds=5,
        ),
        Claim(
            "pursuit-finds-the-directions",
            "Before any task training pursued directions have a mean similarity to the true ones "
            "of at least {0}.",
            "beyond the paper",
            mean("similarity_at_start", method="pursuit") >= 0.95,
            seeds=5,
        ),
        Claim(
            "pursuit-halves-the-way",
            "Pursued directions bring the log of the test loss at least halfway from that with "
            "random directions to that with true ones.",
            "beyond the paper",
            mean(short_of_halfway()) < 0,
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "similarity",
            "Similarity to the true directions during training",
            "Figure 5: the mean over modules of the largest |cosine| with a true direction.",
            draw_similarity,
        ),
        Figure(
            "embedding",
            "Directions in a plane",
            "Figure 11, for the first seed: modules and true directions, by t-SNE, after turning "
            "each module to the side of the true direction it is closest to.",
            draw_embedding,
        ),
        Figure(
            "losses",
            "Test loss by method",
            "All methods learn the same targets from the same samples.",
            draw_losses,
        ),
        Figure(
            "pairs",
            "Kernel directions against random ones, target by target",
            "Below the line kernel directions have the lower test loss.",
            draw_pairs,
        ),
    ),
    notes="The paper has m = k = 10, K = 20 modules of five layers, and 100 plain gradient steps "
    "of the kernel rule (preset paper); it shows Figure 5 without numbers or error bands. Here "
    "m = k = 5 with K = 25 modules (5k, as in Figure 4a) of four layers, and the kernel rule takes "
    "150 steps of Adam. The objective yᵀ K⁻¹ y keeps falling as u and v approach a right angle, "
    "whatever u is; a step that would take their cosine below 0.1 is not taken (`least_cosine`).",
)
