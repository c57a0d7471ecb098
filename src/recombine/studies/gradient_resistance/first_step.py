"""Section 4 and Figures 1 and 2: one gradient step, and an input that should be ignored."""

from collections.abc import Callable
from typing import Any

import numpy as np

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
)

from . import DOCUMENT
from .first_step_trial import VALUES, Config, trial

SETTINGS = {"A": "A: X2 is informative", "B": "B: X2 is random"}
ERRORS = 3
"""Number of standard errors within which a simulation confirms a number."""
MEASURED = {"A": (0.384, 0.356, 0.347, 0.346), "B": (0.159, 0.051, 0.017, 0.005)}
"""Ratios that an independent implementation found for batches of 10² to 10⁵."""
MEASURED_ON = 50
"""Number of initialisations behind the known ratios."""
ROUNDED = 0.0005
KEPT = 0.8
"""Smallest ratio in A on the largest batch, relative to that on a hundredth of it."""
EXPONENT = (-0.6, -0.4)
VANISHED = 0.01
SAME = 1e-6
SAME_GRADIENT = 1e-5
CANCELLED = 0.1
"""Terms cancel if their sum is shorter than this fraction of the longest one."""
RARELY = 0.05


def ratios(results: Results, setting: str) -> np.ndarray:
    """Ratio of |ΔW| on X2 to |ΔW| on X1, over all initialisations: `[batches, networks]`."""
    return np.concatenate(list(results.array("ratio", setting=setting)), axis=1)


def batches(results: Results) -> np.ndarray:
    return np.array(results.records[0].config["batches"])


def step_uses_x2(results: Results) -> Judgement:
    before = max(results.array("before", setting=s)[..., 1].max() for s in SETTINGS)
    after = results.array("after", setting="A")[..., 1]
    evidence = {
        "largest mean |∂Ŷ/∂X2| before (bound: exactly 0)": before,
        "smallest after one step in A (bound: above 0)": after.min(),
        "mean after one step in A": after.mean(),
    }
    return Judgement(bool(before == 0 and after.min() > 0), evidence)


def stays_in_a(results: Results) -> Judgement:
    mean = ratios(results, "A").mean(axis=1)
    kept = mean[-1] / mean[1]
    evidence = {
        "mean ratio by batch": mean,
        f"largest batch over second smallest (bound: {KEPT:g})": kept,
    }
    return Judgement(bool(kept >= KEPT), evidence)


def vanishes_in_b(results: Results) -> Judgement:
    mean = ratios(results, "B").mean(axis=1)
    slope = np.polyfit(np.log(batches(results)), np.log(mean), 1)[0]
    evidence = {
        "mean ratio by batch": mean,
        f"ratio on the largest batch (bound: below {VANISHED:g})": mean[-1],
        f"exponent of the batch (bound: {EXPONENT[0]:g} to {EXPONENT[1]:g})": slope,
    }
    return Judgement(bool(mean[-1] < VANISHED and EXPONENT[0] < slope < EXPONENT[1]), evidence)


def ratios_are_known(results: Results) -> Judgement:
    off: list[np.ndarray] = []
    evidence: dict[str, Any] = {}
    for setting, known in MEASURED.items():
        found = ratios(results, setting)
        n = found.shape[1]
        error = found.std(axis=1, ddof=1) * (1 / n + 1 / MEASURED_ON) ** 0.5
        gap = np.maximum(np.abs(found.mean(axis=1) - known) - ROUNDED, 0)
        off.append(gap / error)
        evidence[setting] = {"here": found.mean(axis=1), "known": known}
    evidence[f"distances in standard errors (bound: {ERRORS})"] = np.concatenate(off)
    return Judgement(bool(np.max(off) <= ERRORS), evidence)


def cross(results: Results, setting: str) -> np.ndarray:
    """First steps of both cross weights of the linear model: `[batches, 2]`."""
    steps = np.concatenate(list(results.array("linear_step_fitted", setting=setting)))
    return steps[:, [0, 1], [1, 0]]


def mean_over_batches(results: Results) -> Judgement:
    far, evidence = [], {}
    for setting, exact in (("A", -1 / 9), ("B", 0.0)):
        steps = cross(results, setting)
        error = steps.std(axis=0, ddof=1) / len(steps) ** 0.5
        off = np.abs(steps.mean(axis=0) - exact) / error
        far.append(off.max())
        evidence[setting] = {
            f"mean (predicted: {exact:.4f})": steps.mean(axis=0),
            f"distance in standard errors (bound: {ERRORS})": off,
        }
        if setting == "A":
            least = np.abs(steps).min()
            evidence[setting]["smallest |ΔW| of a batch (bound: above 0)"] = least
    return Judgement(bool(max(far) <= ERRORS and least > 0), evidence)


def largest(name: str, bound: float) -> Callable[[Results], Judgement]:
    """Whether metrics stay below a bound in every trial."""

    def judge(results: Results) -> Judgement:
        found = {metric: results.metric(metric).max() for metric in name.split()}
        return Judgement(
            max(found.values()) <= bound, {f"largest differences (bound: {bound:g})": found}
        )

    return judge


def terms_do_not_cancel(results: Results) -> Judgement:
    length, cosine = results.array("sum_to_longest"), results.array("cosine")
    share = (length < CANCELLED).mean()
    evidence = {
        f"share of networks in which they do (bound: below {RARELY:g})": share,
        "shortest sum, of the longest term": length.min(),
        "cosines: smallest, mean, largest": (cosine.min(), cosine.mean(), cosine.max()),
    }
    return Judgement(bool(share < RARELY), evidence)


def information_is_bounded(results: Results) -> Judgement:
    slack = min(
        (results.curve(f"{kind} of inputs")[1] - results.curve(f"{kind} of targets")[1]).min()
        for kind in ("signs", "bins")
    )
    words = "smallest I(X; Ŷ) − I(Y; Ŷ) over steps and runs, in bits (bound: −1e-9)"
    return Judgement(bool(slack >= -1e-9), {words: slack})


def after_first_gain(results: Results, kind: str) -> np.ndarray:
    """I(Y; Ŷ) after the first step that lowers the loss, by trial."""
    losses = results.curve("loss")[1]
    told = results.curve(f"{kind} of targets")[1]
    first = np.argmax(np.diff(losses, axis=1) < 0, axis=1) + 1
    return told[np.arange(len(told)), first]


def gain_informs(kind: str) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        told = after_first_gain(results, kind)
        evidence = {
            "smallest I(Y; Ŷ) in bits (bound: above 0)": told.min(),
            "mean": told.mean(),
            "runs with none": int((told <= 1e-9).sum()),
            "of": len(told),
        }
        return Judgement(bool(told.min() > 1e-9), evidence)

    return judge


def proposition_1(results: Results) -> Judgement:
    bits, slopes = results.array("proposition_1_bits")[0], results.array("proposition_1_slopes")[0]
    names = ("Y = sign(X)", "Y = X², X = ±1")
    evidence = {
        name: {"I(X; Y) in bits": b, "largest |∂Y/∂X|": s}
        for name, b, s in zip(names, bits, slopes, strict=True)
    }
    return Judgement(bool(np.array_equal(bits > 0, slopes != 0)), evidence)


def distances(results: Results, setting: str) -> np.ndarray:
    """Distances between simulations and closed forms, in standard errors."""
    found = np.concatenate(list(results.array("simulated", setting=setting)))
    exact = results.array("closed_forms", setting=setting)[0]
    deviation = found.std(axis=0, ddof=1)
    # Where nothing is told, 2 n ln 2 times the information found follows a χ² distribution, which
    # is so skewed that its deviation in a sample may come out far too small.
    draws = results.records[0].config["draws"]
    deviation[1] = max(deviation[1], 2**0.5 / (2 * draws * np.log(2)))
    return (found.mean(axis=0) - exact) / deviation * len(found) ** 0.5


def closed_forms_hold(results: Results) -> Judgement:
    off = {s: dict(zip(VALUES, distances(results, s), strict=True)) for s in SETTINGS}
    from scipy.stats import norm

    found = [abs(d) for by_name in off.values() for d in by_name.values()]
    # The largest of many numbers lies beyond three errors more often than one does.
    bound = norm.isf(norm.sf(ERRORS) / len(found))
    return Judgement(
        bool(max(found) <= bound), {f"distances in standard errors (bound: {bound:.1f})": off}
    )


def draw_ratio(results: Results):
    figure = figures.panels(
        "", x="batch", y="|ΔW| on X2 over |ΔW| on X1", log_x=True, log_y=True
    )  # fmt: skip
    places = batches(results)
    for color, (setting, title) in enumerate(SETTINGS.items()):
        means = results.array("ratio", setting=setting).mean(axis=2)
        figures.add_points(figure, places, list(means.T), title, color=color)
        known = MEASURED[setting][: len(places)]
        figures.add_reference(figure, places[: len(known)], known, "other implementation")
    return figure


def draw_plane(results: Results):
    figure = figures.panels(
        "", x="weight on the component's own input", y="weight on the other component's input"
    )
    for color, (setting, title) in enumerate(SETTINGS.items()):
        steps = results.array("linear_step_fitted", setting=setting)[0]
        figures.add_points(
            figure, steps[:, 0, 0], [[y] for y in steps[:, 0, 1]], title, color=color, line=False
        )
    for level, label in ((0, "each output has its own input"), (-1 / 9, "Cov(Y1, X2) = −1/9")):
        figures.add_level(figure, level, label)
    return figure


def draw_dependence(results: Results):
    figure = figures.panels("", x="batch", y="mean |∂Ŷ/∂X2| after one step", log_x=True, log_y=True)
    for color, (setting, title) in enumerate(SETTINGS.items()):
        means = results.array("after", setting=setting)[..., 1].mean(axis=2)
        figures.add_points(figure, batches(results), list(means.T), title, color=color)
    return figure


def draw_information(results: Results):
    figure = figures.panels(
        *(f"{setting}: {kind}" for setting in SETTINGS for kind in ("signs", "bins")),
        x="step of training (passes)", y="bits", columns=2,
    )  # fmt: skip
    cells = [(setting, kind) for setting in SETTINGS for kind in ("signs", "bins")]
    for panel, (setting, kind) in enumerate(cells):
        for color, (of, title) in enumerate((("targets", "I(Y; Ŷ)"), ("inputs", "I(X; Ŷ)"))):
            steps, told = results.curve(f"{kind} of {of}", setting=setting)
            figures.add_seeds(figure, steps, told, title, color=color, panel=panel)
    return figure


def draw_cosines(results: Results):
    figure = figures.panels("", x="setting", y="cosine between the terms of two outputs")
    for color, (setting, title) in enumerate(SETTINGS.items()):
        cosine = results.array("cosine", setting=setting).ravel()
        figures.add_points(figure, [setting], [cosine], title, color=color, line=False)
    return figure


study = Study(
    name="gradient-resistance/first-step",
    title="One gradient step, and an input that should be ignored",
    source=Source(DOCUMENT, "Section 4, Figures 1 and 2"),
    question="Does one gradient step make a model depend on an input that its target does not "
    "need?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(setting=("A", "B")),
            settings={
                "initialisations": 3,
                "batches": (100, 1000),
                "linear_batches": 4,
                "draws": 500,
                "simulations": 4,
                "steps": 4,
            },
            cost="15 s on two cores",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=grid(setting=("A", "B")),
            settings={"initialisations": 10},
            cost="20 s on two cores",
        ),
        "paper": Preset(seeds=5, conditions=grid(setting=("A", "B")), cost="2 min on two cores"),
    },
    claims=(
        Claim(
            "one-step-is-enough",
            "From a model that ignores X2 exactly, one gradient step in A makes the mean |∂Ŷ/∂X2| "
            "larger than 0, for every initialisation and every batch; before it is exactly 0.",
            "Proposition 4, Figure 1",
            step_uses_x2,
        ),
        Claim(
            "stays-in-a",
            "In A the change of weights on X2, as a ratio to that on X1, does not come from the "
            "batch: on 100,000 points it is at least 0.8 of that on 1,000.",
            "Proposition 4",
            stays_in_a,
        ),
        Claim(
            "vanishes-in-b",
            "In B, with X2 random and of mean zero, that ratio falls as 1/√batch: with an exponent "
            "of −0.6 to −0.4, to less than 0.01 on 100,000 points.",
            "Proposition 4, Figure 1",
            vanishes_in_b,
        ),
        Claim(
            "known-ratios",
            "For batches of 10² to 10⁵ the mean ratio is .384, .356, .347, .346 in A and .159, "
            ".051, .017, .005 in B, within 3 standard errors of a mean over 50 initialisations.",
            "Proposition 4",
            ratios_are_known,
        ),
        Claim(
            "cross-weights-by-setting",
            "From zero cross weights, one step of a linear model with two outputs makes both of "
            "them Cov(Y_i, X_j) = −1/9 on average over batches in A, and 0 in B, within 3 standard "
            "errors; in A they are not zero on any batch.",
            "Figure 1, Proposition 5",
            mean_over_batches,
        ),
        Claim(
            "linear-step-is-the-correlation",
            "The first step of a linear model is η E[Y_i X_j] from zero weights and biases, and "
            "η Cov(Y_i, X_j) once the bias is fitted, to 1e-6 on every batch.",
            "Proposition 5",
            largest("linear_misses_by_zero linear_misses_by_fitted", SAME),
        ),
        Claim(
            "oracles-change-nothing",
            "Exact inverses around the model, h ∘ h⁻¹ ∘ f ∘ g ∘ g⁻¹, leave outputs and the "
            "gradient of its parameters as they are, to 1e-6.",
            "Figure 2",
            largest("extended_outputs_miss_by extended_gradient_misses_by", SAME),
        ),
        Claim(
            "gradient-is-a-sum-over-outputs",
            "Σ_i (∂Ŷ_i/∂θ)ᵀ ∂L/∂Ŷ_i is the gradient, to a relative 1e-5, for every network.",
            "Proposition 5",
            largest("terms_miss_by", SAME_GRADIENT),
        ),
        Claim(
            "terms-do-not-cancel",
            "The terms of the two outputs are unlikely to cancel: in less than 5 % of networks is "
            "their sum shorter than a tenth of the longer one.",
            "Proposition 5",
            terms_do_not_cancel,
        ),
        Claim(
            "information-is-bounded",
            "At every step of training I(X; Ŷ) ≥ I(Y; Ŷ).",
            "Proposition 2",
            information_is_bounded,
        ),
        Claim(
            "gain-informs",
            "After the first step that lowers the loss, outputs in ten bins are informative about "
            "the target in every run: I(Y; Ŷ) > 0.",
            "Proposition 2",
            gain_informs("bins"),
        ),
        Claim(
            "gain-informs-by-signs",
            "After the first step that lowers the loss, the answers themselves, the signs of "
            "outputs, are informative about the target in every run: I(Y; Ŷ) > 0.",
            "Proposition 2",
            gain_informs("signs"),
        ),
        Claim(
            "proposition-1-as-stated",
            "Where the derivative is defined, I(X; Y) > 0 if and only if ∂Y/∂X ≠ 0.",
            "Proposition 1",
            proposition_1,
        ),
        Claim(
            "closed-forms",
            "Information, covariances, the first step of logistic regression, the least-squares "
            "optimum and the accuracies of both are those of their closed forms, within 3 standard "
            "errors of simulations, corrected for the number of comparisons.",
            "Sections 4 and 6",
            closed_forms_hold,
        ),
    ),
    figures=(
        Figure(
            "plane",
            "The first step of a linear model, batch by batch",
            "Figure 1 in numbers: models start at zero. In B steps lead to models in which each "
            "component depends on its own input; in A they lead elsewhere. Batches of 500 points, "
            "one seed.",
            draw_plane,
        ),
        Figure(
            "ratio",
            "Change of weights on the input that should be ignored",
            "Mean over initialisations of mean |ΔW| on X2 over that on X1, one point per seed. The "
            "network ignores X2 before the step. Diamonds: an independent implementation.",
            draw_ratio,
        ),
        Figure(
            "dependence",
            "Dependence on the input that should be ignored, after one step",
            "Before the step it is exactly 0. Mean over initialisations, one point per seed.",
            draw_dependence,
        ),
        Figure(
            "information",
            "Information of predictions about targets and inputs",
            "Proposition 2: I(Y; Ŷ) stays below I(X; Ŷ). Predictions are signs of outputs, or "
            "outputs in ten bins; inputs are the training points.",
            draw_information,
        ),
        Figure(
            "cosines",
            "Do the terms of two outputs cancel?",
            "Cosine between the parts of the gradient that come from Ŷ1 and from Ŷ2, one point per "
            "network. They cancel at −1.",
            draw_cosines,
        ),
    ),
    notes="The paper gives no numbers for its propositions; claims are its statements as far as a "
    "program can check them. The toy is in the coordinates of its text, X_k = Y_k − U[0, 1]; the "
    "network is that of its visualization. A step of the run is one pass over 187 points.",
)
