"""Figure 6: with small initial weights pathways race, with large ones learning is lazy."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine import learning, models, probes, splits, tasks, theory
from recombine.lab import (
    Beside,
    Claim,
    Count,
    Figure,
    NotNegative,
    Positive,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    all_of,
    every_seed,
    figures,
    for_all,
    grid,
    mean,
    per_seed,
    ranked,
    reference,
)

from . import DOCUMENT
from .routing import draw_tiles

SCALES = (0.2, 0.66, 1.12, 1.58, 2.04, 2.5)
SMALL, LARGE, RISING = SCALES[0], SCALES[-1], SCALES[1:]


@dataclass(frozen=True)
class Config:
    """Settings of the initialisation study."""

    sigma_0: NotNegative = 0.2
    """Singular value of the random initial weights."""
    training: Literal["full", "linearised"] = "full"
    """Train the network, or its first-order expansion around the initial weights."""
    M: Count = 7
    """Number of input and of output domains."""
    K: Count = 4
    """Output domains trained with each input domain."""
    width: Count = 64
    """Hidden units N_h."""
    learning_rate: Positive = 0.006
    """Step size, divided by the cube root of sigma_0."""
    epochs: Count = 1200
    """Steps of full-batch gradient descent."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train from one initial scale; measure how learning proceeds and whether routes generalize."""
    items = tasks.hierarchical_items()
    mask = splits.ring_mask(config.M, config.K)
    learning_rate = config.learning_rate / config.sigma_0 ** (1 / 3)
    start = models.RoutingNetwork.orthogonal(
        config.sigma_0, num_domains=config.M, width=config.width, key=key
    )
    if config.training == "linearised":
        kernel = theory.TangentKernel(start, items.X)
        linearised = learning.LinearisedDescent(kernel, items.Y, mask, learning_rate)
        outputs, seen = recorder.train(linearised, start.outputs(items.X), config.epochs, chunk=100)
    else:
        rule = learning.routing_descent(items.X, items.Y, mask, learning_rate)
        end, seen = recorder.train(rule, start, config.epochs, chunk=100)
        outputs, hidden = end.outputs(items.X), end.hidden(items.X)
        recorder.metric("sharing", probes.sharing_index(hidden))
        recorder.metric("distance_ratio", probes.distance_ratio(hidden))
        change = probes.relative_change(end, start)
        for name in ("W1", "W2", "W3"):
            recorder.metric(f"change_{name}", getattr(change, name))
        recorder.array("similarity", probes.similarity_matrix(hidden))
    for name in ("loss", "trained_error", "untrained_error"):
        recorder.curve(name, seen["step"], seen[name])
    recorder.metric("trained_error", seen["trained_error"][-1])
    recorder.metric("untrained_error", seen["untrained_error"][-1])
    half = probes.crossing_time(seen["step"], seen["loss"], 0.5 * seen["loss"][0])
    if np.isfinite(half):  # otherwise it has not learned
        recorder.metric("half_time", half)
        recorder.metric("delay", probes.delay_index(seen["step"], seen["loss"]))
    recorder.metric("loss_left", seen["loss"][-1] / seen["loss"][0])
    recorder.array("outputs", outputs)
    recorder.array("mask", mask)


def by_scale(results: Results, metric: str) -> dict[float, np.ndarray]:
    runs = results.where(training="full")
    return {s: runs.metric(metric, sigma_0=s) for s in runs.values("sigma_0")}


def draw_errors(results: Results):
    figure = figures.panels("", x="initial scale σ₀", y="error")
    for color, name in ((1, "trained"), (0, "untrained")):
        errors = by_scale(results, f"{name}_error")
        figures.add_points(
            figure, list(errors), list(errors.values()), f"{name} routes", color=color
        )
    for name in ("untrained", "trained"):
        papers = [published(s, name).value for s in SCALES]
        figures.add_reference(figure, SCALES, papers, f"paper, {name}")
    return figure


def draw_losses(results: Results):
    figure = figures.panels("full network", "linearised", x="epoch", y="loss", log_y=True)
    for panel, training in enumerate(("full", "linearised")):
        runs = results.where(training=training)
        for scale in runs.values("sigma_0"):
            epochs, losses = runs.curve("loss", sigma_0=scale)
            color, name = SCALES.index(scale), f"σ₀ = {scale:g}"
            figures.add_seeds(figure, epochs, losses, name, color=color, panel=panel)
    return figure


def draw_similarity(results: Results):
    runs = results.where(training="full")
    scales = [SCALES[0], SCALES[2], SCALES[-1]]
    arrays = [runs.array("similarity", sigma_0=s)[0] for s in scales]
    # The panels differ in scale by orders of magnitude: each is relative to its own first block.
    arrays = [a / np.abs(a[:4, :4]).max() for a in arrays]
    titles = [f"σ₀ = {s:g}" for s in scales]
    return figures.heatmaps(arrays, titles, x="domain, item", y="domain, item", diverging=True)


def draw_outputs(results: Results):
    runs = results.where(training="full", sigma_0=2.5)
    return draw_tiles(runs.array("outputs")[0], runs.array("mask")[0])


def published(scale: float, which: str):
    return reference(
        "neural-race",
        artifact="official-figure-6b",
        setting=f"sigma_0={scale:g}",
        metric=f"{which} error (half squared Frobenius)",
    )


def beside(scale: float, which: str) -> Beside:
    return Beside(
        f"{which} error, σ₀ = {scale:g}",
        published(scale, which),
        lambda r: r.metric(f"{which}_error", training="full", sigma_0=scale),
    )


CONDITIONS = grid(training=("full",), sigma_0=SCALES) + grid(
    training=("linearised",), sigma_0=(0.2, 1.12, 2.5)
)

study = Study(
    name="neural-race/initialization",
    title="Initialisation: small weights race, large weights are lazy",
    source=Source(DOCUMENT, "Figure 6"),
    question="Does zero-shot routing survive large initial weights?",
    config=Config,
    trial=trial,
    float64=True,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(training=("full", "linearised"), sigma_0=(0.2, 2.5)),
            settings={"epochs": 20, "width": 16},
            cost="9 s on two cores",
        ),
        "laptop": Preset(seeds=6, conditions=CONDITIONS, cost="15 s on two cores"),
        "paper": Preset(
            seeds=6, conditions=CONDITIONS, settings={"epochs": 700}, cost="12 s on two cores"
        ),
    },
    claims=(
        Claim(
            "training-succeeds",
            "The mean trained error is below {0} at all initial scales.",
            "Figure 6b",
            for_all("sigma_0", lambda s: mean("trained_error", sigma_0=s) < 2.5, training="full"),
        ),
        Claim(
            "large-scales-do-not-generalize",
            "The mean untrained error is below {0} at σ₀ = 0.2 and above {1} at 2.5, and increases "
            "monotonically from 0.66 on.",
            "Figure 6b, d",
            all_of(
                mean("untrained_error", sigma_0=SMALL, training="full") < 3,
                mean("untrained_error", sigma_0=LARGE, training="full") > 50,
                ranked(
                    "untrained_error", tuple({"sigma_0": s} for s in RISING[::-1]), training="full"
                ),
            ),
        ),
        Claim(
            "sharing-needs-small-scales",
            "The sharing index is above {0} at σ₀ = 0.2 and below {1} at 2.5, in every run.",
            "Figure 6c",
            all_of(
                every_seed("sharing", sigma_0=SMALL, training="full") > 0.9,
                every_seed("sharing", sigma_0=LARGE, training="full") < 0.2,
            ),
        ),
        Claim(
            "small-scales-wait",
            "The delay index is above {0} at σ₀ = 0.2 (a plateau, then a drop) and below {1} at "
            "2.5 (decay from the start), in every run.",
            "Figure 6a",
            all_of(
                every_seed("delay", sigma_0=SMALL, training="full") > 0.85,
                every_seed("delay", sigma_0=LARGE, training="full") < 0.2,
            ),
        ),
        Claim(
            "large-scales-are-lazy",
            "At σ₀ = 2.5 the linearised network halves its loss within {0} epochs of the full one "
            "and does not generalize (untrained error above {1}); at 0.2 it is left with more than "
            "{2:%} of the loss.",
            "Section 4.3",
            all_of(
                every_seed(
                    abs(
                        per_seed("half_time", training="full", sigma_0=LARGE)
                        - per_seed("half_time", training="linearised", sigma_0=LARGE)
                    )
                )
                <= 2,
                mean("untrained_error", training="linearised", sigma_0=LARGE) > 50,
                every_seed("loss_left", training="linearised", sigma_0=SMALL) > 0.95,
            ),
        ),
    ),
    figures=(
        Figure(
            "errors",
            "Error against initial scale",
            "Figure 6b: trained and untrained routes; diamonds are the published figure's values.",
            draw_errors,
        ),
        Figure("loss", "Loss over training", "Figure 6a, and the lazy limit.", draw_losses),
        Figure(
            "similarity",
            "Representational similarity at three scales",
            "Figure 6c, each relative to the largest entry of its first domain's block.",
            draw_similarity,
        ),
        Figure(
            "outputs",
            "Outputs of all routes at σ₀ = 2.5",
            "Figure 6d: trained routes (framed) are right, untrained ones are not.",
            draw_outputs,
        ),
    ),
    beside=tuple(beside(s, which) for which in ("trained", "untrained") for s in SCALES),
    notes="The paper shows one run per scale and stops at 700 epochs, where the smallest scale has "
    "not finished its third mode, so that its trained error is the largest of all. Preset laptop "
    "runs 1,200 epochs, preset paper 700. The linearised network is our control for the lazy "
    "regime that the paper names.",
)
