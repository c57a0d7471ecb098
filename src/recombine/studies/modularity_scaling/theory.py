"""Figures 1 and 3, the theory of Figure 2, and both theorems against simulation."""

from collections.abc import Callable

import numpy as np

from recombine.lab import Claim, Figure, Judgement, Preset, Results, Source, Study, figures

from . import DOCUMENT
from . import closed_form_values as known
from .closed_form_values import DIMENSIONS, PARAMETERS, SAMPLES, digits_off
from .theory_trial import SMALL_EPS, Config, trial

AS_PRINTED = 0.5
"""Largest difference, in units of the last digit, of numbers that are equal as printed."""
ERRORS = 4
"""Number of standard errors within which a simulation confirms a formula."""
INTERPOLATED = 1e-10
"""A simulated training loss below this counts as zero."""
CLIP = 10
"""The largest loss on the colour scale of Figure 1."""


def equal_as_printed(off: dict[str, float], also: bool | np.bool = True, **evidence) -> Judgement:
    """Whether differences in units of the last digit are none as printed, and all else is so."""
    words = f"difference in units of the last digit (bound: at most {AS_PRINTED:g})"
    return Judgement(bool(max(off.values()) <= AS_PRINTED and also), {words: off, **evidence})


def has_values(name: str, table: dict) -> Callable[[Results], Judgement]:
    """A claim that the rows of an array equal those of a table, as printed."""

    def judge(results: Results) -> Judgement:
        found = results.array(name)[0]
        rows = zip(table.items(), found, strict=True)
        return equal_as_printed({str(case): digits_off(row, *text) for (case, text), row in rows})

    return judge


def dimension_is_exponential(results: Results) -> Judgement:
    *rows, (_, _, limit) = results.array("effective_dimension")[0]
    cases = zip(known.EFFECTIVE_DIMENSION.items(), rows, strict=True)
    off = {f"m={m}": digits_off(row, *text) for (m, text), row in cases}
    off["limit of the ratio"] = digits_off(limit, known.LIMIT_OF_RATIO)
    ratios = [*(row[2] for row in rows), limit]
    return equal_as_printed(off, np.all(np.diff(ratios) < 0), ratios=ratios)


def norm_is_closed_form(results: Results) -> Judgement:
    norms = results.array("norms")
    cases = zip(known.NORMS.items(), norms[0], strict=True)
    off = {str(case): digits_off(row[2], text) for (case, text), row in cases}
    errors = np.abs(norms[..., 0] - norms[..., 2]) / norms[..., 1]
    near = results.array("norms_near")
    return equal_as_printed(
        off,
        errors.max() <= ERRORS and np.all(np.isinf(near)),
        **{
            f"largest distance to random matrices, in standard errors (bound: {ERRORS})":
                errors.max(),
            "infinite for |n − p| of 0 and 1": bool(np.all(np.isinf(near))),
        },
    )  # fmt: skip


def threshold_of_interpolation(results: Results) -> Judgement:
    sides, (train, _) = results.array("figure_1_sides")[0], results.array("figure_1")[0]
    n, p = sides, sides[:, None]
    zero = np.array_equal(train == 0, p >= n)
    rises = np.diff(train, axis=1)[p <= n[:-1]]
    evidence = {
        "training loss is 0 for p ≥ n, and only there": zero,
        "smallest step with n, for p < n (bound: above 0)": rises.min(),
    }
    return Judgement(bool(zero and rises.min() > 0), evidence)


def ridge_at_the_threshold(results: Results) -> Judgement:
    sides, (_, test) = results.array("figure_1_sides")[0], results.array("figure_1")[0]
    at_ridge = np.array_equal(sides[np.argmax(test, axis=0)], sides)
    below, nearly, barely, beyond = results.array("figure_1_at_1000_samples")[0]
    evidence = {
        "for every n the loss is largest at p = n": at_ridge,
        "loss for n = 1000 at p = 500, 900": (below, nearly),
        "loss for n = 1000 at p = 1100, 3000": (barely, beyond),
    }
    return Judgement(bool(at_ridge and nearly > below and barely > beyond), evidence)


def falls_with_samples(results: Results) -> Judgement:
    sides, (_, test) = results.array("figure_1_sides")[0], results.array("figure_1")[0]
    steps = np.diff(test, axis=1)[sides[:, None] <= sides[:-1]]
    return Judgement(
        bool(steps.max() < 0), {"largest step with n, for n > p (bound: below 0)": steps.max()}
    )


def falls_with_parameters(results: Results) -> Judgement:
    sides, (_, test) = results.array("figure_1_sides")[0], results.array("figure_1")[0]
    n, p = sides, sides[:, None]
    steps, beyond = np.diff(test, axis=0), p[:-1] >= n
    rising = beyond & (steps > 0)
    evidence = {
        "largest step with p, for p > n (bound: below 0)": steps[beyond].max(),
        "share of steps that rise": rising.sum() / beyond.sum(),
    }
    if rising.any():
        evidence["lowest p / n from which it rises"] = (p[:-1] / n)[rising].min()
    return Judgement(not rising.any(), evidence)


def simulation_agrees(results: Results) -> Judgement:
    """Theorem 1: both losses in all cases and trials."""
    found = results.array("simulated_1")
    train, test, train_error, test_error, train_formula, test_formula = np.moveaxis(found, -1, 0)
    fitted = train_formula[0] == 0
    off = np.abs(test - test_formula) / test_error
    off_train = (np.abs(train - train_formula) / train_error)[:, ~fitted]
    cases = zip(known.SIMULATED_1.items(), test_formula[0], strict=True)
    return equal_as_printed(
        {str(case): digits_off(formula, text) for (case, text), formula in cases},
        max(off.max(), off_train.max()) <= ERRORS and train[:, fitted].max() < INTERPOLATED,
        **{
            "test loss by case (n, p, d), mean over seeds": dict(
                zip(map(str, known.SIMULATED_1), test.mean(axis=0), strict=True)
            ),
            f"largest distance of test losses, in standard errors (bound: {ERRORS})": off.max(),
            "largest distance of training losses, in standard errors": off_train.max(),
            f"largest training loss for dn < p (bound: {INTERPOLATED:g})": train[:, fitted].max(),
        },
    )


def modular_simulation(results: Results) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Distances of `total` and `printed`, in standard errors [seeds, cases], and their digits."""
    found = results.array("simulated_2")
    test, error, total, printed = (found[..., i] for i in (1, 3, 7, 5))
    off: dict[str, float] = {}
    for i, (case, texts) in enumerate(known.SIMULATED_2.items()):
        off |= {f"{case} total": digits_off(total[0, i], texts[0])}
        off |= {f"{case} printed": digits_off(printed[0, i], texts[1])}
    return np.abs(test - total) / error, np.abs(test - printed) / error, off


def consistent_counts_agree(results: Results) -> Judgement:
    total, _, off = modular_simulation(results)
    words = f"largest distance of `total`, in standard errors (bound: {ERRORS})"
    return equal_as_printed(off, total.max() <= ERRORS, **{words: total.max(axis=0)})


def printed_counts_do_not(results: Results) -> Judgement:
    _, printed, _ = modular_simulation(results)
    at = [*known.SIMULATED_2].index((60, 30, 20))
    words = f"smallest distance of `printed`, in standard errors (bound: above {ERRORS})"
    return Judgement(bool(printed[:, at].min() > ERRORS), {words: printed[:, at].min()})


def right_of_the_peak(results: Results) -> Judgement:
    least, misses = results.array("required_over_p").min(), results.metric("required_misses_by")
    evidence = {
        "smallest n / p (bound: above 1)": least,
        "largest relative difference of the loss there (bound: 1e-9)": misses.max(),
    }
    return Judgement(bool(least > 1 and misses.max() < 1e-9), evidence)


def required_samples_are_known(results: Results) -> Judgement:
    at = [*(DIMENSIONS.index(m) for m in (2, 5, 9)), -1]
    rows = zip(known.REQUIRED.items(), results.array("required")[0], strict=True)
    return equal_as_printed({str(p): digits_off(row[at], *text) for (p, text), row in rows})


def samples_grow_exponentially(results: Results) -> Judgement:
    m, ln = np.array(DIMENSIONS), np.log(results.array("required")[0][:, :-1])
    late = m >= 4
    slopes = np.polyfit(m[late], ln[:, late].T, 1)
    fitted = slopes[0][:, None] * m[late] + slopes[1][:, None]
    left = np.sum((ln[:, late] - fitted) ** 2, axis=1)
    R2 = 1 - left / np.sum((ln[:, late] - ln[:, late].mean(axis=1, keepdims=True)) ** 2, axis=1)
    early = np.polyfit(m[:3], ln[:, :3].T, 1)[0]
    within = slopes[0].min() >= 0.2825 and slopes[0].max() < 0.3165
    smaller = early.min() >= 0.075 and early.max() < 0.225
    evidence = {
        "slopes of ln n over m = 4 to 9 (bound: 0.283 to 0.316)": slopes[0],
        "smallest R² (bound: above 0.99)": R2.min(),
        "slopes over m = 2 to 4 (bound: 0.08 to 0.22)": early,
    }
    return Judgement(bool(within and smaller and R2.min() > 0.99), evidence)


def small_losses_need_parameters(results: Results) -> Judgement:
    fewer, more = results.array("required_around")[0]
    needed = results.array("parameters_needed")[0]
    evidence = {
        f"parameters needed for a loss of {SMALL_EPS:g} at m = 1 to 4": needed,
        "with 0.1 % fewer no number of samples is enough": bool(np.all(np.isinf(fewer))),
        "with 0.1 % more some number of samples is enough": bool(np.all(np.isfinite(more))),
    }
    return Judgement(bool(np.all(np.isinf(fewer)) and np.all(np.isfinite(more))), evidence)


def printed_form_is_free_of_dimension(results: Results) -> Judgement:
    enough = results.array("modular_with_enough_samples")[0]
    few = results.array("modular_with_few_samples")[0]
    spread = np.ptp(enough, axis=1).max()
    slopes = np.diff(few[1])
    rows = zip(known.REQUIRED_MODULAR.items(), results.array("required_modular")[0], strict=True)
    return equal_as_printed(
        {f"samples for 1.2, {p} parameters": digits_off(n, text) for (p, text), n in rows},
        spread < 1e-12 and np.allclose(slopes, 0.5, rtol=1e-9) and not few[0].any(),
        **{
            "largest difference over m = 1 to 50, dn > p (bound: 1e-12)": spread,
            "slope with m, n = p / 2 (bound: d b (1 − dn/p) = 0.5)": (slopes.min(), slopes.max()),
        },
    )


def consistent_counts_are_mild(results: Results) -> Judgement:
    monolithic, _, total, module = results.array("growth_with_m")[0]
    evidence = {
        "loss at m = 9 over that at m = 2, monolithic (bound: above 3)": monolithic,
        "modular, `total` and `module` (bound: 1 to 1.1)": (total, module),
    }
    mild = min(total, module) > 1 and max(total, module) < 1.1
    return Judgement(bool(mild and monolithic > 3), evidence)


def figure_2_is_known(results: Results) -> Judgement:
    return equal_as_printed(
        {
            name: digits_off(results.array(name)[0], *text.split())
            for name, text in known.FIGURE_2.items()
        }
    )


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
            dimension_is_exponential,
        ),
        Claim(
            "norm-of-the-pseudoinverse",
            "F(n, p) = min(n, p) / (|n − p| − 1): 1.1111 at (20, 10) and (10, 20), 0.52632 at (30, "
            "10), each within 4 standard errors of random matrices; and infinite for |n − p| ≤ 1.",
            "Eq. 12, Appendix D",
            norm_is_closed_form,
        ),
        Claim(
            "theorem-1-values",
            "Tr(Λ₂), F, test and training loss of Theorem 1 have the values of an independent "
            "calculation, to six decimals, in six cases on both sides of the threshold.",
            "Theorem 1",
            has_values("theorem_1", known.THEOREM_1),
        ),
        Claim(
            "theorem-1-is-simulated",
            "Simulated minimum-norm interpolators have the losses of Theorem 1 within 4 standard "
            "errors, for d = 1 and 2, with more equations than parameters and with fewer.",
            "Theorem 1, Appendix B",
            simulation_agrees,
        ),
        Claim(
            "interpolation-threshold",
            "The training loss is exactly 0 for p ≥ n, positive and increasing with n for p < n.",
            "Figure 1",
            threshold_of_interpolation,
        ),
        Claim(
            "ridge-at-the-threshold",
            "For every n the test loss is largest at p = n; with n = 1000 it is larger at p = 900 "
            "than at 500, and at 1100 than at 3000.",
            "Figure 1",
            ridge_at_the_threshold,
        ),
        Claim(
            "falls-with-samples",
            "The test loss decreases as n increases beyond p.",
            "Figure 1",
            falls_with_samples,
        ),
        Claim(
            "falls-with-parameters",
            "The test loss decreases as p increases beyond n, all over the map.",
            "Figure 1",
            falls_with_parameters,
        ),
        Claim(
            "figure-2-values",
            "The predictions for k, m, p and n of Figure 2, averages over the paper's grid of nine "
            "networks, m = 2 to 9 and ten n, have the values of an independent calculation.",
            "Figure 2",
            figure_2_is_known,
        ),
        Claim(
            "required-samples",
            "The samples for a test loss of 1.2 are those of an independent calculation, to four "
            "digits, for nine networks at m = 2, 5, 9 and as m goes to infinity.",
            "Figure 3",
            required_samples_are_known,
        ),
        Claim(
            "beyond-the-peak",
            "A loss of 1.2 lies above the variance 1.15 of the target, which n = 0 gives; "
            "the number found is that beyond the peak at n = p, and has that loss.",
            "Figure 3",
            right_of_the_peak,
        ),
        Claim(
            "samples-grow-exponentially",
            "From m = 4 to 9 the logarithm of the samples is linear in m for all nine networks "
            "(R² above 0.99), with slopes of 0.283 to 0.316; from 2 to 4 slopes are 0.08 to 0.22.",
            "Figure 3",
            samples_grow_exponentially,
        ),
        Claim(
            "small-losses-need-parameters",
            "Below the variance of the target, a loss eps can be reached only with p + 1 > (c / "
            "eps)^(Omega^m): parameters must grow doubly exponentially with m.",
            "Theorem 1",
            small_losses_need_parameters,
        ),
        Claim(
            "theorem-2-values",
            "The test loss of Theorem 2 has the values of an independent calculation in four "
            "cases, for the theorem as printed and for both consistent counts of parameters.",
            "Theorem 2",
            has_values("theorem_2", known.THEOREM_2),
        ),
        Claim(
            "modular-is-free-of-dimension",
            "As printed, the losses of a modular model do not depend on m if dn > p, and the test "
            "loss is affine in m with slope d b (1 − dn/p) if dn < p; a loss of 1.2 takes 88.5, "
            "992.9 and 70559 samples with 97, 1153 and 82945 parameters in every dimension.",
            "Theorem 2",
            printed_form_is_free_of_dimension,
        ),
        Claim(
            "consistent-counts-are-mild",
            "With consistent counts the test loss of a modular model (n = 1000, p = 100) grows by "
            "less than 10 % from m = 2 to 9, that of a monolithic one more than triples.",
            "Theorem 2",
            consistent_counts_are_mild,
        ),
        Claim(
            "theorem-2-is-simulated",
            "Simulated modular models have the test loss of Theorem 2 within 4 standard errors if "
            "p counts all parameters (`total`).",
            "Theorem 2, Appendix C",
            consistent_counts_agree,
        ),
        Claim(
            "printed-theorem-2-is-not",
            "With m b = 20 of p = 30 parameters and n = 60 the simulation rejects Theorem 2 as "
            "printed, by more than 4 standard errors in every run.",
            "Theorem 2, Appendix C",
            printed_counts_do_not,
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
