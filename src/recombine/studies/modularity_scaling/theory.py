"""Figures 1 and 3, the theory of Figure 2, and both theorems against simulation."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    every_seed,
    exact,
    figures,
)

from . import DOCUMENT
from . import closed_form_values as known
from .closed_form_values import DIMENSIONS, PARAMETERS, SAMPLES, digits_off
from .theory_trial import Config, trial

AS_PRINTED = 0.5
"""Largest difference, in units of the last digit, of numbers that are equal as printed."""
ERRORS = 4
"""Number of standard errors within which a simulation confirms a formula."""
CLIP = 10
"""The largest loss on the colour scale of Figure 1."""


def as_printed(name: str, table: Iterable, at: Any = ..., label: str = "") -> Statement:
    """Part of an array equals the numbers of a table as printed: up to half a unit of the last
    digit."""
    texts = [str(text) for text in np.ravel([*table])]

    def off(results: Results) -> float:
        return digits_off(results.array(name)[0][at], *texts)

    words = label or name.replace("_", " ")
    return exact(off, f"{words}, units of the last digit off") <= AS_PRINTED


def first(name: str, at: Any = ...) -> Callable[[Results], np.ndarray]:
    """Part of an array of the first seed; closed forms are the same for all."""
    return lambda results: results.array(name)[0][at]


def ratio_steps(results: Results) -> np.ndarray:
    """Steps of the ratio of effective dimension to Omega^(2m), to its limit."""
    return np.diff(results.array("effective_dimension")[0][:, 2])


def norm_distance(results: Results) -> np.ndarray:
    """The largest distance of F to random matrices, in standard errors, one value per seed."""
    mean, error, formula = np.moveaxis(results.array("norms"), -1, 0)
    return (np.abs(mean - formula) / error).max(axis=1)


class Map(NamedTuple):
    """The map of Figure 1: parameters are rows, samples are columns."""

    n: np.ndarray
    p: np.ndarray
    """[parameters, 1]."""
    train: np.ndarray
    test: np.ndarray


def figure_1(results: Results) -> Map:
    sides, (train, test) = results.array("figure_1_sides")[0], results.array("figure_1")[0]
    return Map(sides, sides[:, None], train, test)


def zero_beyond_the_threshold(results: Results) -> np.ndarray:
    """Whether the training loss is 0 for p ≥ n, and only there."""
    n, p, train, _ = figure_1(results)
    return (train == 0) == (p >= n)


def steps_of_training_loss(results: Results) -> np.ndarray:
    """Steps with n for p < n."""
    n, p, train, _ = figure_1(results)
    return np.diff(train, axis=1)[p <= n[:-1]]


def largest_at_the_threshold(results: Results) -> np.ndarray:
    """Whether the test loss is largest at p = n, for every n."""
    n, _, _, test = figure_1(results)
    return n[np.argmax(test, axis=0)] == n


def rise_to_the_threshold(results: Results) -> tuple[float, float]:
    """For n = 1000: test loss at p = 900 minus that at 500, and at 1100 minus that at 3000."""
    below, nearly, barely, beyond = results.array("figure_1_at_1000_samples")[0]
    return nearly - below, barely - beyond


def steps_with_samples(results: Results) -> np.ndarray:
    """Steps of the test loss with n, for n > p."""
    n, p, _, test = figure_1(results)
    return np.diff(test, axis=1)[p <= n[:-1]]


def steps_with_parameters(results: Results) -> np.ndarray:
    """Steps of the test loss with p, for p > n."""
    n, p, _, test = figure_1(results)
    return np.diff(test, axis=0)[p[:-1] >= n]


def simulated_1(results: Results) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances of test and of training losses to Theorem 1 in standard errors, the latter where
    they are positive; and training losses where they are 0: [seeds, cases]."""
    found = results.array("simulated_1")
    train, test, train_error, test_error, train_formula, test_formula = np.moveaxis(found, -1, 0)
    fitted = train_formula[0] == 0
    off = np.abs(test - test_formula) / test_error
    off_train = (np.abs(train - train_formula) / train_error)[:, ~fitted]
    return off, off_train, train[:, fitted]


def worst(part: int) -> Callable[[Results], np.ndarray]:
    """The largest of one of the three over cases, one value per seed."""
    return lambda results: simulated_1(results)[part].max(axis=1)


def distance_2(results: Results, column: int) -> np.ndarray:
    """Distances to one form of Theorem 2, in standard errors: [seeds, cases]."""
    found = results.array("simulated_2")
    return np.abs(found[..., 1] - found[..., column]) / found[..., 3]


def distance_of_total(results: Results) -> np.ndarray:
    """The largest distance to Theorem 2 with consistent counts, in standard errors."""
    return distance_2(results, 7).max(axis=1)


def distance_of_printed(results: Results) -> np.ndarray:
    """The distance to Theorem 2 as printed, in standard errors, with m b = 20 of p = 30."""
    return distance_2(results, 5)[:, [*known.SIMULATED_2].index((60, 30, 20))]


def slopes_between(first_m: int, last_m: int, low: float, high: float) -> Iterator[Statement]:
    """The slopes of ln n with m, for every network, are in a range."""

    def slopes(results: Results) -> np.ndarray:
        return np.polyfit(*ln_samples(results, first_m, last_m), 1)[0]

    found = exact(slopes, f"slope of ln n over m = {first_m} to {last_m}")
    yield found >= low
    yield found < high


def explained(results: Results) -> list[float]:
    """R² of a line through ln n against m from m = 4 on, for every network."""
    m, ln = ln_samples(results, 4, 9)
    return [np.corrcoef(m, of_network)[0, 1] ** 2 for of_network in ln.T]


def ln_samples(results: Results, first_m: int, last_m: int) -> tuple[np.ndarray, np.ndarray]:
    """Some dimensions, and ln n: [dimensions, networks]."""
    m = np.array(DIMENSIONS)
    at = (m >= first_m) & (m <= last_m)
    return m[at], np.log(results.array("required")[0][:, :-1][:, at]).T


def slope_with_dimension(results: Results) -> np.ndarray:
    """Steps of the test loss with m, with n = p / 2."""
    return np.diff(results.array("modular_with_few_samples")[0][1])


def spread_over_dimensions(results: Results) -> np.ndarray:
    """The largest difference of losses over m = 1 to 50."""
    return np.ptp(results.array("modular_with_enough_samples")[0], axis=1)


def draw_figure_1(results: Results):
    train, test = results.array("figure_1")[0]
    # Parameters increase upwards.
    return figures.heatmaps(
        [train[::-1], np.minimum(test, CLIP)[::-1]],
        ["training loss", f"test loss, up to {CLIP}"],
        x="samples n, 10 to 10,000",
        y="parameters p, 10 to 10,000",
        shared_scale=False,
    )


def draw_figure_2(results: Results):
    axes = {"m": DIMENSIONS, "p": PARAMETERS, "n": SAMPLES}
    figure = figures.panels(
        "input dimension m", "parameters p′", "samples n", x=list(axes), y="loss",
        log_x=[False, True, True], log_y=[False, True, True],
    )  # fmt: skip
    for panel, (letter, places) in enumerate(axes.items()):
        for color, name in enumerate(("train", "test")):
            losses = results.array(f"{name} by {letter}")[0]
            shown = losses > 0 if panel else losses >= 0
            figures.add_theory(
                figure, np.array(places)[shown], losses[shown], name, color=color, panel=panel
            )
    return figure


def draw_figure_3(results: Results):
    figure = figures.panels("", x="input dimension m", y="samples for a test loss", log_y=True)
    lines = results.array("required")[0][:, :-1]
    for i, (parameters, required) in enumerate(zip(PARAMETERS, lines, strict=True)):
        color = figures.shade(i / (len(PARAMETERS) - 1))
        name = f"p′ = {parameters:,}"
        figures.add_theory(figure, DIMENSIONS, required, name, color=color)
    return figure


def draw_effective_dimension(results: Results):
    dimension, power, _ = results.array("effective_dimension")[0][:-1].T
    m = [*known.EFFECTIVE_DIMENSION]
    figure = figures.panels("", x="input dimension m", y="effective dimension", log_y=True)
    figures.add_curve(figure, m, dimension, "Tr(Λ)² / Tr(Λ²)")
    figures.add_theory(figure, m, power, "Ω^(2m)")
    return figure


def draw_simulation(results: Results):
    figure = figures.panels(
        "Theorem 1, (n, p, d)", "Theorem 2, (n, p, m)", x="", y="simulated loss / formula"
    )

    def draw(panel, name, cases, formulas):
        found, words = results.array(name), [str(case) for case in cases]
        for color, (title, column) in enumerate(formulas.items()):
            ratios = found[..., 1] / found[..., column]
            figures.add_points(
                figure, words, [*ratios.T], title, color=color, line=False, panel=panel
            )
        figures.add_level(figure, 1, "equal", panel=panel)

    draw(0, "simulated_1", known.SIMULATED_1, {"consistent counts": 5})
    draw(1, "simulated_2", known.SIMULATED_2, {"consistent counts": 7, "as printed": 5})
    return figure


study = Study(
    name="modularity-scaling/theory",
    title="The theory: losses of monolithic and modular models, and the samples they need",
    source=Source(DOCUMENT, "Theorems 1 and 2, Figures 1, 2 (dashed) and 3"),
    question="How do training and test loss depend on samples, parameters and input dimension, "
    "and what do modules change?",
    config=Config,
    trial=trial,
    float64=True,
    presets={
        "smoke": Preset(
            seeds=1, settings={"draws": 20, "figure_1_points": 6}, cost="10 s on two cores"
        ),
        "laptop": Preset(seeds=3, cost="20 s on two cores"),
        "paper": Preset(seeds=3, cost="20 s on two cores"),
    },
    claims=(
        Claim(
            "effective-dimension",
            "The effective dimension of a target is 11.69, 50.89, 261.5, 1473.0 and 8665.8 for "
            "m = 2, 4, 6, 8, 10; its ratio to Omega^(2m) decreases, towards 1.02334.",
            "Appendix A.1",
            all_of(
                as_printed("effective_dimension", known.EFFECTIVE_DIMENSION.values(), np.s_[:-1]),
                as_printed(
                    "effective_dimension", [known.LIMIT_OF_RATIO], (-1, 2), "limit of the ratio"
                ),
                exact(ratio_steps) < 0,
            ),
        ),
        Claim(
            "norm-of-the-pseudoinverse",
            "F(n, p) = min(n, p) / (|n − p| − 1): 1.1111 at (20, 10) and (10, 20), 0.52632 at (30, "
            "10), each within {1} standard errors of random matrices; and infinite for "
            "|n − p| ≤ 1.",
            "Eq. 12, Appendix D",
            all_of(
                as_printed("norms", known.NORMS.values(), np.s_[:, 2]),
                every_seed(norm_distance, "distance to random matrices, in standard errors")
                <= ERRORS,
                exact(first("norms_near"), "F for |n − p| ≤ 1") >= np.inf,
            ),
        ),
        Claim(
            "theorem-1-values",
            "Tr(Λ₂), F, test and training loss of Theorem 1 have the values of an independent "
            "calculation, to six decimals, in six cases on both sides of the threshold.",
            "Theorem 1",
            as_printed("theorem_1", known.THEOREM_1.values()),
        ),
        Claim(
            "theorem-1-is-simulated",
            "Simulated minimum-norm interpolators have the losses of Theorem 1 within {1} standard "
            "errors, for d = 1 and 2, with more equations than parameters and with fewer, where "
            "the training loss is 0 (below {2}).",
            "Theorem 1, Appendix B",
            all_of(
                as_printed("simulated_1", known.SIMULATED_1.values(), np.s_[:, 5]),
                every_seed(worst(0), "distance of the test loss, in standard errors") <= ERRORS,
                every_seed(worst(1), "distance of the training loss, in standard errors") <= ERRORS,
                every_seed(worst(2), "training loss for dn < p") < 1e-10,
            ),
        ),
        Claim(
            "interpolation-threshold",
            "The training loss is exactly 0 for p ≥ n, positive and increasing with n for p < n.",
            "Figure 1",
            all_of(
                exact(zero_beyond_the_threshold, "0 for p ≥ n, and only there") >= 1,
                exact(steps_of_training_loss) > 0,
            ),
        ),
        Claim(
            "ridge-at-the-threshold",
            "For every n the test loss is largest at p = n; with n = 1000 it is larger at p = 900 "
            "than at 500, and at 1100 than at 3000.",
            "Figure 1",
            all_of(
                exact(largest_at_the_threshold) >= 1,
                exact(rise_to_the_threshold) > 0,
            ),
        ),
        Claim(
            "falls-with-samples",
            "The test loss decreases as n increases beyond p.",
            "Figure 1",
            exact(steps_with_samples) < 0,
        ),
        Claim(
            "falls-with-parameters",
            "The test loss decreases as p increases beyond n, all over the map.",
            "Figure 1",
            exact(steps_with_parameters) < 0,
        ),
        Claim(
            "figure-2-values",
            "The predictions for k, m, p and n of Figure 2, averages over the paper's grid of nine "
            "networks, m = 2 to 9 and ten n, have the values of an independent calculation.",
            "Figure 2",
            all_of(as_printed(name, text.split()) for name, text in known.FIGURE_2.items()),
        ),
        Claim(
            "required-samples",
            "The samples for a test loss of 1.2 are those of an independent calculation, to four "
            "digits, for nine networks at m = 2, 5, 9 and as m goes to infinity.",
            "Figure 3",
            as_printed(
                "required",
                known.REQUIRED.values(),
                np.s_[:, [*(DIMENSIONS.index(m) for m in (2, 5, 9)), -1]],
            ),
        ),
        Claim(
            "beyond-the-peak",
            "A loss of 1.2 lies above the variance 1.15 of the target, which n = 0 gives; "
            "the number found is that beyond the peak at n = p, and has that loss to a relative "
            "{1}.",
            "Figure 3",
            all_of(
                exact(first("required_over_p"), "n / p") > 1,
                every_seed("required_misses_by") < 1e-9,
            ),
        ),
        Claim(
            "samples-grow-exponentially",
            "From m = 4 to 9 the logarithm of the samples is linear in m for all nine networks "
            "(R² above {0}), with slopes from {1} to {2}; from 2 to 4 slopes are {3} to {4}.",
            "Figure 3",
            all_of(
                exact(explained, "R²") > 0.99,
                *slopes_between(4, 9, 0.2825, 0.3165),
                *slopes_between(2, 4, 0.075, 0.225),
            ),
        ),
        Claim(
            "small-losses-need-parameters",
            "Below the variance of the target, a loss eps can be reached only with p + 1 > (c / "
            "eps)^(Omega^m): parameters must grow doubly exponentially with m.",
            "Theorem 1",
            all_of(
                exact(first("required_around", 0), "samples with 0.1 % fewer parameters") >= np.inf,
                exact(first("required_around", 1), "samples with 0.1 % more parameters") < np.inf,
            ),
        ),
        Claim(
            "theorem-2-values",
            "The test loss of Theorem 2 has the values of an independent calculation in four "
            "cases, for the theorem as printed and for both consistent counts of parameters.",
            "Theorem 2",
            as_printed("theorem_2", known.THEOREM_2.values()),
        ),
        Claim(
            "modular-is-free-of-dimension",
            "As printed, the losses of a modular model do not depend on m if dn > p, and the test "
            "loss is affine in m with slope d b (1 − dn/p) if dn < p; a loss of 1.2 takes 88.5, "
            "992.9 and 70559 samples with 97, 1153 and 82945 parameters in every dimension.",
            "Theorem 2",
            all_of(
                as_printed("required_modular", known.REQUIRED_MODULAR.values()),
                exact(spread_over_dimensions) < 1e-12,
                exact(slope_with_dimension).equals(0.5, within=1e-8),
                exact(first("modular_with_few_samples", 0), "training loss, n = p / 2").equals(0),
            ),
        ),
        Claim(
            "consistent-counts-are-mild",
            "With consistent counts the test loss of a modular model (n = 1000, p = 100) is larger "
            "at m = 9 than at m = 2, but less than {1} times, that of a monolithic one more than "
            "{2} times.",
            "Theorem 2",
            all_of(
                exact(first("growth_with_m", [2, 3]), "growth, `total` and `module`") > 1,
                exact(first("growth_with_m", [2, 3]), "growth, `total` and `module`") < 1.1,
                exact(first("growth_with_m", 0), "growth, monolithic") > 3,
            ),
        ),
        Claim(
            "theorem-2-is-simulated",
            "Simulated modular models have the test loss of Theorem 2 within {1} standard errors "
            "if p counts all parameters (`total`).",
            "Theorem 2, Appendix C",
            all_of(
                as_printed("simulated_2", known.SIMULATED_2.values(), np.s_[:, [7, 5]]),
                every_seed(distance_of_total) <= ERRORS,
            ),
        ),
        Claim(
            "printed-theorem-2-is-not",
            "With m b = 20 of p = 30 parameters and n = 60 the simulation rejects Theorem 2 as "
            "printed, by more than {0} standard errors in every run.",
            "Theorem 2, Appendix C",
            every_seed(distance_of_printed) > ERRORS,
        ),
    ),
    figures=(
        Figure(
            "figure-1",
            "Losses over samples and parameters",
            "Figure 1, with logarithmic axes. For |n − p| < 2, where the expectation is infinite, "
            "the mean of 100 random matrices is used, as in the paper.",
            draw_figure_1,
        ),
        Figure(
            "figure-2",
            "Predictions of the theory for networks",
            "The dashed lines of Figure 2; against k they are constant. Losses of 0 are left out.",
            draw_figure_2,
        ),
        Figure(
            "figure-3",
            "Samples for a test loss of 1.2",
            "Figure 3: one line per network. The lines bend: they saturate at about 24 p.",
            draw_figure_3,
        ),
        Figure(
            "effective-dimension",
            "Effective dimension of the target",
            "The paper's approximation Ω^(2m) is half of it at m = 2, and 5 % low at m = 10.",
            draw_effective_dimension,
        ),
        Figure(
            "simulation",
            "Both theorems against simulated models",
            "Test losses. Each point is the mean of 3,000 targets and training sets.",
            draw_simulation,
        ),
    ),
    notes="Constants are those that the paper fitted: c = 1.15, Omega = 1.57, alpha = 0.85. "
    "'Exponential' describes the range that Figure 3 shows: at a fixed number of parameters and a "
    "loss above c the samples saturate at p + 1 + p / (eps / c − 1), about 24 p + 1; for a loss "
    "below c a finite number of samples exists only if p + 1 > (c / eps)^(Omega^m), so that the "
    "parameters must grow doubly exponentially with m. The caption of Figure 3 says that m grows "
    "exponentially with n; the text and the picture say that n does with m. Theorem 2 as printed "
    "lets a model control m b + p coordinates and counts p of them elsewhere: strict independence "
    "of m is a property of that form. With consistent counts, of which the simulation confirms "
    "one, losses depend on m mildly, through m b, and never exponentially.",
)
