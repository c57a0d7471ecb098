"""Section 4 and Figures 1 and 2: one gradient step, and an input that should be ignored."""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Quantity,
    Results,
    Source,
    Study,
    all_of,
    every_seed,
    exact,
    figures,
    grid,
    mean,
    per_seed,
    ratio,
    statistic,
)

from . import DOCUMENT
from .first_step_trial import Config, trial

SETTINGS = {"A": "A: X2 is informative", "B": "B: X2 is random"}
ERRORS = 3
"""Number of standard errors within which a simulation confirms a number."""
MEASURED = {"A": (0.384, 0.356, 0.347, 0.346), "B": (0.159, 0.051, 0.017, 0.005)}
"""Ratios that an independent implementation found for batches of 10² to 10⁵."""
MEASURED_BATCHES = [100, 1000, 10_000, 100_000]
MEASURED_ON = 50
"""Number of initialisations behind the known ratios."""
ROUNDED = 0.0005
SAME = 1e-6
NOTHING = 1e-9
"""Information in bits that counts as none."""
CANCELLED = 0.1
"""Terms cancel if their sum is shorter than this fraction of the longest one."""


def ratios(results: Results, setting: str) -> np.ndarray:
    """Ratio of |ΔW| on X2 to |ΔW| on X1, over all initialisations: `[batches, networks]`."""
    return np.concatenate(list(results.array("ratio", setting=setting)), axis=1)


def batches(results: Results) -> np.ndarray:
    return np.array(results.records[0].config["batches"])


def slope_before(results: Results) -> np.ndarray:
    """The largest mean |∂Ŷ/∂X2| before the step, one value per trial."""
    return results.array("before")[..., 1].max(axis=(1, 2))


def slope_after(results: Results) -> np.ndarray:
    """The smallest mean |∂Ŷ/∂X2| after the step, one value per seed."""
    return results.array("after")[..., 1].min(axis=(1, 2))


LARGEST, SECOND = -1, 1
"""Places of the largest and of the second smallest batch."""


def mean_ratio(setting: str, batch: int) -> Quantity:
    """The ratio on one of the batches, mean over initialisations."""
    words = {LARGEST: "largest", SECOND: "second smallest"}[batch]

    def read(results: Results) -> np.ndarray:
        return results.array("ratio", setting=setting)[:, batch].mean(axis=1)

    return per_seed(read, f"mean ratio in {setting} on the {words} batch")


def exponent(results: Results) -> float:
    """The exponent of the batch in the mean ratio in B."""
    means = ratios(results, "B").mean(axis=1)
    return np.polyfit(np.log(batches(results)), np.log(means), 1)[0]


def distance_of_ratios(results: Results) -> list[np.ndarray]:
    """Distances of mean ratios from known ones, beyond rounding, in standard errors."""
    off = []
    if (found := batches(results).tolist()) != MEASURED_BATCHES:
        raise Missing(f"ratios are known for batches of {MEASURED_BATCHES}, not of {found}")
    for setting, known in MEASURED.items():
        found = ratios(results, setting)
        error = found.std(axis=1, ddof=1) * (1 / found.shape[1] + 1 / MEASURED_ON) ** 0.5
        off.append(np.maximum(np.abs(found.mean(axis=1) - known) - ROUNDED, 0) / error)
    return off


def cross(results: Results, setting: str) -> np.ndarray:
    """First steps of both cross weights of the linear model: `[batches, 2]`."""
    steps = np.concatenate(list(results.array("linear_step_fitted", setting=setting)))
    return steps[:, [0, 1], [1, 0]]


def distance_of_cross_weights(results: Results) -> list[np.ndarray]:
    """Distances of their means over batches from −1/9 in A and 0 in B, in standard errors."""
    off = []
    for setting, predicted in (("A", -1 / 9), ("B", 0.0)):
        steps = cross(results, setting)
        error = steps.std(axis=0, ddof=1) / len(steps) ** 0.5
        off.append(np.abs(steps.mean(axis=0) - predicted) / error)
    return off


def share_that_cancels(results: Results) -> np.ndarray:
    """The share of networks whose terms cancel, over both settings, one value per seed."""
    shares = [
        (results.array("sum_to_longest", setting=s) < CANCELLED).mean(axis=1) for s in SETTINGS
    ]
    return np.mean(shares, axis=0)


def information_slack(results: Results) -> np.ndarray:
    """The smallest I(X; Ŷ) − I(Y; Ŷ) over steps, in bits, one value per trial."""
    slack = [
        results.curve(f"{kind} of inputs")[1] - results.curve(f"{kind} of targets")[1]
        for kind in ("signs", "bins")
    ]
    return np.min(slack, axis=(0, 2))


def after_first_gain(kind: str) -> Quantity:
    """I(Y; Ŷ) after the first step that lowers the loss, one value per trial."""

    def read(results: Results) -> np.ndarray:
        losses = results.curve("loss")[1]
        told = results.curve(f"{kind} of targets")[1]
        first = np.argmax(np.diff(losses, axis=1) < 0, axis=1) + 1
        return told[np.arange(len(told)), first]

    return per_seed(read, f"I(Y; Ŷ) of {kind} in bits after the first gain")


def proposition_1(results: Results) -> np.ndarray:
    """Whether I(X; Y) is positive exactly where ∂Y/∂X is not 0, for both counterexamples."""
    bits, slopes = results.array("proposition_1_bits")[0], results.array("proposition_1_slopes")[0]
    return (bits > 0) == (slopes != 0)


def distances(results: Results, setting: str) -> np.ndarray:
    """Distances between simulations and closed forms, in standard errors."""
    found = np.concatenate(list(results.array("simulated", setting=setting)))
    closed_forms = results.array("closed_forms", setting=setting)[0]
    deviation = found.std(axis=0, ddof=1)
    # Where nothing is told, 2 n ln 2 times the information found follows a χ² distribution, which
    # is so skewed that its deviation in a sample may come out far too small.
    draws = results.records[0].config["draws"]
    deviation[1] = max(deviation[1], 2**0.5 / (2 * draws * np.log(2)))
    return (found.mean(axis=0) - closed_forms) / deviation * len(found) ** 0.5


def corrected_distance(results: Results) -> float:
    """The largest distance, corrected: the one of a single number that is as unlikely."""
    from scipy.stats import norm

    found = np.abs([distances(results, s) for s in SETTINGS])
    return norm.isf(min(found.size * norm.sf(found.max()), 0.5))


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
            all_of(every_seed(slope_before).equals(0), every_seed(slope_after, setting="A") > 0),
        ),
        Claim(
            "stays-in-a",
            "In A the change of weights on X2, as a ratio to that on X1, does not come from the "
            "batch: on 100,000 points it is at least {0} of that on 1,000.",
            "Proposition 4",
            ratio(mean_ratio("A", LARGEST), mean_ratio("A", SECOND)) >= 0.8,
        ),
        Claim(
            "vanishes-in-b",
            "In B, with X2 random and of mean zero, that ratio falls as 1/√batch: with an exponent "
            "of {1} to {2}, to less than {0} on 100,000 points.",
            "Proposition 4, Figure 1",
            all_of(
                mean(mean_ratio("B", LARGEST)) < 0.01,
                statistic(exponent).between(-0.6, -0.4),
            ),
        ),
        Claim(
            "known-ratios",
            "For batches of 10² to 10⁵ the mean ratio is .384, .356, .347, .346 in A and .159, "
            ".051, .017, .005 in B, within {0} standard errors of a mean over 50 initialisations.",
            "Proposition 4",
            exact(distance_of_ratios, "distance of a mean ratio, in standard errors") <= ERRORS,
        ),
        Claim(
            "cross-weights-by-setting",
            "From zero cross weights, one step of a linear model with two outputs makes both of "
            "them Cov(Y_i, X_j) = −1/9 on average over batches in A, and 0 in B, within {0} "
            "standard errors; in A they are not zero on any batch.",
            "Figure 1, Proposition 5",
            all_of(
                exact(distance_of_cross_weights, "distance of a mean, in standard errors")
                <= ERRORS,
                exact(lambda r: np.abs(cross(r, "A")), "|ΔW| of a batch in A") > 0,
            ),
        ),
        Claim(
            "linear-step-is-the-correlation",
            "The first step of a linear model is η E[Y_i X_j] from zero weights and biases, and "
            "η Cov(Y_i, X_j) once the bias is fitted, to {0} on every batch.",
            "Proposition 5",
            all_of(every_seed(f"linear_misses_by_{bias}") <= SAME for bias in ("zero", "fitted")),
        ),
        Claim(
            "oracles-change-nothing",
            "Exact inverses around the model, h ∘ h⁻¹ ∘ f ∘ g ∘ g⁻¹, leave outputs and the "
            "gradient of its parameters as they are, to {0}.",
            "Figure 2",
            all_of(
                every_seed("extended_outputs_miss_by") <= SAME,
                every_seed("extended_gradient_misses_by") <= SAME,
            ),
        ),
        Claim(
            "gradient-is-a-sum-over-outputs",
            "Σ_i (∂Ŷ_i/∂θ)ᵀ ∂L/∂Ŷ_i is the gradient, to a relative {0}, for every network.",
            "Proposition 5",
            every_seed("terms_miss_by") <= 1e-5,
        ),
        Claim(
            "terms-do-not-cancel",
            "The terms of the two outputs are unlikely to cancel: in less than {0:%} of networks "
            "is their sum shorter than a tenth of the longer one.",
            "Proposition 5",
            mean(share_that_cancels) < 0.05,
        ),
        Claim(
            "information-is-bounded",
            "At every step of training I(X; Ŷ) ≥ I(Y; Ŷ).",
            "Proposition 2",
            every_seed(information_slack) >= -1e-9,
        ),
        Claim(
            "gain-informs",
            "After the first step that lowers the loss, outputs in ten bins are informative about "
            "the target in every run: I(Y; Ŷ) > 0.",
            "Proposition 2",
            every_seed(after_first_gain("bins")) > NOTHING,
        ),
        Claim(
            "gain-informs-by-signs",
            "After the first step that lowers the loss, the answers themselves, the signs of "
            "outputs, are informative about the target in every run: I(Y; Ŷ) > 0.",
            "Proposition 2",
            every_seed(after_first_gain("signs")) > NOTHING,
        ),
        Claim(
            "proposition-1-as-stated",
            "Where the derivative is defined, I(X; Y) > 0 if and only if ∂Y/∂X ≠ 0.",
            "Proposition 1",
            exact(proposition_1, "a counterexample is as Proposition 1 says") >= 1,
        ),
        Claim(
            "closed-forms",
            "Information, covariances, the first step of logistic regression, the least-squares "
            "optimum and the accuracies of both are those of their closed forms, within {0} "
            "standard errors of simulations, corrected for the number of comparisons.",
            "Sections 4 and 6",
            exact(corrected_distance, "largest distance, in standard errors, corrected") <= ERRORS,
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
