"""Section 6 with a linear model: its bias is known in closed form, and it vanishes."""

import numpy as np

from recombine import theory
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
    paired_difference,
)

from . import DOCUMENT
from .linear_trial import Config, trial

CLOSE = 1e-3
"""Tolerance for numbers with closed forms."""
DECADES = (10, 100, 1000, 10_000, 20_000)
"""Steps at which logistic regression is compared."""


def largest_error(found: list[float], exact: tuple) -> float:
    return max(abs(f - float(e)) for f, e in zip(found, exact, strict=True))


def means(results: Results, *names: str) -> list[float]:
    return [float(results.metric(name).mean()) for name in names]


def curve_at(results: Results, name: str, step: int) -> float:
    steps, values = results.curve(name)
    nearest = int(np.abs(steps - step).argmin())
    if abs(steps[nearest] - step) > 0.06 * step:
        raise Missing(f"step {step} has not been reached")
    # Between two observations, on the scale on which they are evenly spaced.
    return float(np.interp(np.log(step), np.log(steps), values.mean(axis=0)))


def first_step(results: Results) -> Judgement:
    exact = theory.quadrant_values()
    step = means(results, *(f"logistic_step_{i}" for i in range(3)))
    shares = [curve_at(results, name, 1) for name in ("held_out", "seen")]
    errors = (
        largest_error(step, exact.logistic_step),
        largest_error(shares, exact.logistic_accuracy),
    )
    evidence = {
        "first step (1/4, −1/12, −1/6)": step,
        "held-out and seen accuracy after it (1/6, 1/2)": shares,
        f"largest errors (bound: {CLOSE:g})": errors,
    }
    return Judgement(max(errors) <= CLOSE, evidence)


def least_squares(results: Results) -> Judgement:
    exact = theory.quadrant_values()
    found = means(results, *(f"square_{i}" for i in range(3)))
    shares = means(results, "square_held_out", "square_seen")
    errors = (
        largest_error(found, exact.least_squares),
        largest_error(shares, exact.least_squares_accuracy),
    )
    evidence = {
        "optimum (24/35, −4/35, 3/7)": found,
        "held-out and seen accuracy (13/16, 743/768)": shares,
        f"largest errors (bound: {CLOSE:g})": errors,
    }
    return Judgement(max(errors) <= CLOSE, evidence)


def bias_passes(results: Results) -> Judgement:
    ratio, share = ([curve_at(results, name, step) for step in DECADES]
                    for name in ("ratio", "held_out"))  # fmt: skip
    least = float(theory.quadrant_values().least_squares_accuracy.held_out)
    evidence = {
        f"w_2/w_1 after {DECADES} steps (bound: ever closer to 0)": ratio,
        f"held-out accuracy (bounds: rising, at last above {least:g})": share,
    }
    passes = np.all(np.diff(np.abs(ratio)) < 0) and np.all(np.diff(share) > 0)
    return Judgement(bool(passes and share[-1] > least), evidence)


def network_keeps_it(results: Results) -> Judgement:
    unit, network = (results.metric(f"{name}_held_out") for name in ("unit", "network"))
    evidence = {
        "mean held-out accuracy, linear unit (bound: at least 0.99)": unit.mean(),
        "mean held-out accuracy, network (bound: at most 0.90)": network.mean(),
        "unit minus network": paired_difference(unit, network),
    }
    return Judgement(bool(unit.mean() >= 0.99 and network.mean() <= 0.9), evidence)


def draw_decay(results: Results):
    figure = figures.panels(
        "weight of X_2 over weight of X_1", "accuracy",
        x="step", y=("w_2 / w_1", "share classified as positive"), log_x=True,
    )  # fmt: skip
    steps, ratio = results.curve("ratio")
    figures.add_curve(figure, steps, ratio[0], "logistic regression")
    figures.add_level(figure, 0, "X_2 unused")
    for color, (name, title) in enumerate((("held_out", "held-out quadrant"),
                                           ("seen", "seen positives"))):  # fmt: skip
        steps, values = results.curve(name)
        figures.add_curve(figure, steps, values[0], title, color=color + 1, panel=1)
    exact = theory.quadrant_values()
    start = float(exact.logistic_step[1] / exact.logistic_step[0])
    shares = [float(share) for share in exact.logistic_accuracy]
    for panel, (x, y) in enumerate((([1], [start]), ([1, 1], shares))):
        figures.add_scatter(figure, x, y, "closed form", color=3, symbol="diamond", panel=panel)
    least = float(exact.least_squares_accuracy.held_out)
    figures.add_level(figure, least, "held-out, least squares", panel=1)
    return figure


def draw_network(results: Results):
    figure = figures.panels("", x="pass over the points", y="held-out accuracy", log_x=True)
    for color, (name, title) in enumerate((("unit", "linear unit"), ("network", "network"))):
        passes, values = results.curve(f"{name}_held_out")
        figures.add_seeds(figure, passes, values, title, color=color)
    return figure


study = Study(
    name="gradient-resistance/linear-counterpoint",
    title="A linear model uses the second coordinate too, but unlearns it",
    source=Source(DOCUMENT, "Section 6"),
    question="Does the bias of the first step stay if the model is linear?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            settings={"steps": 200, "square_steps": 50, "passes": 4, "nodes": 4},
            cost="10 s on two cores",
        ),
        "laptop": Preset(seeds=10, cost="10 s on two cores"),
        "paper": Preset(seeds=10, settings={"nodes": 32}, cost="20 s on two cores"),
    },
    claims=(
        Claim(
            "first-step",
            "The first step of logistic regression from zero is (1/4, −1/12, −1/6) for w_1, w_2 "
            "and b; after it 1/6 of held-out and 1/2 of seen positives are recognised (within "
            "0.001).",
            "Section 6, closed form",
            first_step,
        ),
        Claim(
            "least-squares",
            "Least squares on targets of 0 and 1 end at (24/35, −4/35, 3/7), with 13/16 of "
            "held-out and 743/768 of seen positives above 1/2 (within 0.001).",
            "Section 6, closed form",
            least_squares,
        ),
        Claim(
            "bias-passes",
            "In logistic regression w_2/w_1 comes closer to 0 and held-out accuracy rises from "
            "each of the steps 10, 100, 1000, 10,000 and 20,000 to the next, and ends above the "
            "13/16 of least squares.",
            "Section 6, counterpoint",
            bias_passes,
        ),
        Claim(
            "network-keeps-it",
            "After 1024 passes over the same points, mean held-out accuracy is at least 99 % for a "
            "linear unit and at most 90 % for the network.",
            "Section 6, counterpoint",
            network_keeps_it,
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "decay",
            "Logistic regression during training",
            "Steps along the gradient of the population loss, in the paper's coordinates, with a "
            "step size of 1. The only line without errors is X_1 = 0.",
            draw_decay,
        ),
        Figure(
            "network",
            "A linear unit and a network on the same points",
            "The playground's points and rule (see gradient-resistance/toy): a unit with tanh, and "
            "three hidden layers of 8 before it. All seeds and their means.",
            draw_network,
        ),
    ),
    notes="The paper has no linear model. Logistic regression and least squares see the whole "
    "distribution, by quadrature, and are the same for all seeds; points and initial weights of "
    "the unit and the network are not.",
)
