"""Figures 5 and 11: how close do modules come to the true directions, and does it help?"""

import numpy as np

from recombine import probes
from recombine.lab import (
    Claim,
    Figure,
    Judgement,
    Preset,
    Results,
    Source,
    Study,
    figures,
    grid,
    paired_difference,
)

from . import DOCUMENT
from .sine_trial import TITLES, Config, trial

CLOSER = 0.08
"""Smallest gain in similarity of kernel directions before task training."""
WORSE = 1.5
"""Smallest ratio of the monolithic to the modular loss."""
BETTER = 0.3
"""Largest ratio of the loss with true directions to that of modular networks."""
METHODS = ("monolithic", "monolithic-long", "modular", "kernel", "true")


def losses(results: Results) -> dict[str, np.ndarray]:
    """The test loss of every method, one value per seed."""
    return {m: results.metric("test_loss", method=m) for m in results.values("method")}


def similarity(results: Results, method: str, when: str = "") -> np.ndarray:
    return results.metric(f"similarity{when}", method=method)


def closer_before_training(results: Results) -> Judgement:
    kernel, random = (similarity(results, m, "_at_start") for m in ("kernel", "modular"))
    gain = paired_difference(kernel, random)
    evidence = {
        "kernel directions": kernel.mean(),
        "random directions": random.mean(),
        "chance": probes.chance_similarity(results.values("k")[0], results.values("k")[0]),
        f"gain (bound: at least {CLOSER:g})": gain,
    }
    return Judgement(gain["paired difference"] >= CLOSER, evidence)


def closer_after_training(results: Results) -> Judgement:
    gains = {
        name: paired_difference(*(similarity(results, m, when) for m in ("kernel", "modular")))
        for name, when in (("before", "_at_start"), ("after", ""))
    }
    holds = gains["after"]["95 % interval"][0] > 0
    return Judgement(holds, {"gain of kernel directions (bound: interval above 0 after)": gains})


def gap_grows(results: Results) -> Judgement:
    start, end = (
        similarity(results, "kernel", when) - similarity(results, "modular", when)
        for when in ("_at_start", "")
    )
    growth = paired_difference(end, start)
    evidence = {"gap before": start.mean(), "gap after": end.mean(), "growth (bound: > 0)": growth}
    return Judgement(growth["paired difference"] > 0, evidence)


def rule_finds_more_than_training(results: Results) -> Judgement:
    order = {
        "random": similarity(results, "modular", "_at_start").mean(),
        "random, trained": similarity(results, "modular").mean(),
        "kernel, untrained": similarity(results, "kernel", "_at_start").mean(),
    }
    values = list(order.values())
    return Judgement(values == sorted(values), {"similarity (bound: increasing)": order})


def mean_losses(results: Results) -> dict[str, float]:
    return {m: v.mean() for m, v in losses(results).items()}


def monolithic_ratios(results: Results) -> dict[str, float]:
    """Ratios of the mean loss of monolithic networks to that of modular ones."""
    mean = mean_losses(results)
    return {
        f"{one} / {other}": mean[one] / mean[other]
        for one in ("monolithic", "monolithic-long")
        for other in ("modular", "kernel")
    }


def monolithic_is_worse(results: Results) -> Judgement:
    ratios = monolithic_ratios(results)
    bound = f"ratios (bound: above {WORSE:g})"
    evidence = {"mean test loss": mean_losses(results), bound: ratios}
    return Judgement(min(ratios.values()) > WORSE, evidence)


def true_is_better(results: Results) -> Judgement:
    mean = mean_losses(results)
    ratio = mean["true"] / mean["modular"]
    evidence = {"mean test loss": mean, f"true / modular (bound: below {BETTER:g})": ratio}
    return Judgement(ratio < BETTER, evidence)


def kernel_lowers_the_loss(results: Results) -> Judgement:
    loss = losses(results)
    found = paired_difference(loss["kernel"], loss["modular"])
    evidence = {
        "kernel": loss["kernel"].mean(),
        "modular": loss["modular"].mean(),
        "kernel minus modular (bound: interval below 0)": found,
    }
    return Judgement(found["95 % interval"][1] < 0, evidence)


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
        values = [results.metric("test_loss", method=method)]
        figures.add_points(
            figure, [TITLES[method]], values, TITLES[method], color=color, line=False
        )
    variance = results.metric("target_variance").mean()
    figures.add_level(figure, float(variance), "variance of the targets")
    return figure


def draw_pairs(results: Results):
    figure = figures.panels("", x="test loss, modular", y="test loss, kernel directions")
    loss = losses(results)
    figures.add_points(
        figure, loss["modular"], [[v] for v in loss["kernel"]], "a target", line=False
    )
    ends = np.array([0.0, max(loss["modular"].max(), loss["kernel"].max())])
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
            conditions=grid(method=("modular", "kernel")),
            settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=10,
            conditions=grid(method=METHODS),
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
            "directions, by at least 0.08 in mean similarity.",
            "Figure 5",
            closer_before_training,
            seeds=5,
        ),
        Claim(
            "they-stay-closer",
            "After task training kernel directions are still closer to the true ones than random "
            "directions: the 95 % interval of the paired difference is above 0.",
            "Figure 5",
            closer_after_training,
            seeds=5,
        ),
        Claim(
            "training-widens-the-gap",
            "The gap in similarity is larger after task training than before, on average.",
            "Figure 5",
            gap_grows,
            seeds=5,
        ),
        Claim(
            "the-rule-finds-more-than-training",
            "Similarity increases from random directions to random ones after training, to kernel "
            "directions before training, on average.",
            "Figure 11",
            rule_finds_more_than_training,
            seeds=5,
        ),
        Claim(
            "monolithic-is-worse",
            "The mean test loss of monolithic networks is more than 1.5 times that of modular "
            "ones, with random and with kernel directions, also with ten times the steps.",
            "Section 4.3",
            monolithic_is_worse,
            seeds=5,
        ),
        Claim(
            "true-directions-are-better",
            "With true directions the mean test loss is less than 0.3 times that of modular "
            "networks.",
            "Appendix E.3",
            true_is_better,
            seeds=5,
        ),
        Claim(
            "kernel-directions-lower-the-loss",
            "Kernel directions lower the test loss of modular networks: the 95 % interval of the "
            "paired difference is below 0.",
            "Section 4.3",
            kernel_lowers_the_loss,
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
