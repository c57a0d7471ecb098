"""The study of the first step: what its simulations are, and what claims make of results."""

import numpy as np
import pytest
from made_up import judged, results

from recombine.studies.gradient_resistance import first_step
from recombine.studies.gradient_resistance.first_step_trial import (
    VALUES,
    answers_of,
    simulated,
    unbiased_information,
)

NAME = "gradient-resistance/first-step"
CLAIMS = [c.name for c in first_step.study.claims]
STEPS = np.arange(5.0)


def test_outputs_become_signs_and_tenths():
    found = answers_of(np.array([[-1.0, -0.81, -0.79, 0.01, 0.999, 1.0]]))
    assert found["signs"].argmax(-1).tolist() == [[0, 0, 0, 1, 1, 1]]
    assert found["bins"].argmax(-1).tolist() == [[0, 0, 1, 5, 9, 9]]


def test_the_corrected_information_of_independent_samples_is_zero_on_average():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(1000):
        table = rng.multinomial(100, np.full(4, 0.25)).reshape(2, 2) / 100
        found.append(unbiased_information(table, 100))
    assert np.mean(found) == pytest.approx(0, abs=4 * np.std(found) / 1000**0.5)


def test_a_simulation_has_the_values_of_a_large_sample():
    rng = np.random.default_rng(0)
    labels = np.array([[0, 0], [0, 1], [1, 0]])[rng.integers(3, size=200_000)]
    found = simulated(labels - rng.random(labels.shape), labels)
    exact = [0.9183, 0.2516, 2 / 9, -1 / 9, 1 / 4, -1 / 12, -1 / 6, 1 / 6, 1 / 2]
    exact += [24 / 35, -4 / 35, 3 / 7, 13 / 16, 1 - 25 / 768]
    assert found == pytest.approx(exact, abs=0.01)


METRICS = {
    "linear_misses_by_zero": 1e-7,
    "linear_misses_by_fitted": 1e-7,
    "extended_outputs_miss_by": 1e-7,
    "extended_gradient_misses_by": 1e-7,
    "terms_miss_by": 1e-6,
}


def array(config, name):
    """Results as the claims want them, but for Proposition 1, which is what it is."""
    in_a = config.setting == "A"
    signs = np.tile([1, -1], 5)
    ratio = np.array(first_step.MEASURED[config.setting])[:, None] * (1 + 0.1 * signs)
    spread = np.linspace(-1, 1, 20)[:, None] * np.ones(len(VALUES))
    steps = (
        np.full((20, 2, 2), -1 / 9 if in_a else 0) + 0.02 * np.linspace(-1, 1, 20)[:, None, None]
    )
    return {
        "before": np.stack([np.ones((4, 10)), np.zeros((4, 10))], axis=-1),
        "after": np.full((4, 10, 2), 0.1),
        "ratio": ratio,
        "linear_step_fitted": steps,
        "cosine": 0.2 * signs,
        "sum_to_longest": np.full(10, 1.1),
        "proposition_1_bits": np.array([1.0, 0.0]),
        "proposition_1_slopes": np.array([0.0, 2.0]),
        "closed_forms": np.zeros(len(VALUES)),
        "simulated": spread,
    }[name]


def curve(config, name):
    return STEPS, {
        "loss": np.array([1, 0.9, 0.5, 0.4, 0.3]),
        "signs of targets": np.array([0, 0.1, 0.5, 0.6, 0.7]),
        "signs of inputs": np.array([0, 0.3, 0.6, 0.7, 0.8]),
        "bins of targets": np.array([0, 0.2, 0.6, 0.7, 0.8]),
        "bins of inputs": np.array([0, 1.3, 1.6, 1.7, 1.8]),
    }[name]


def verdict(claim, metrics=(), **changed):
    """The judgement with some arrays and curves changed, in setting A or in both."""

    def changed_array(config, name):
        plain = array(config, name)
        return changed[name](plain, config.setting) if name in changed else plain

    def changed_curve(config, name):
        steps, values = curve(config, name)
        key = name.replace(" ", "_")
        return steps, changed[key](values, config.setting) if key in changed else values

    study, found = results(
        NAME,
        lambda config, seed: METRICS | dict(metrics),
        array=changed_array,
        curve=changed_curve,
    )
    return judged(study, found, claim)


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c != "proposition-1-as-stated"])
def test_a_claim_holds_where_the_paper_is_right(claim):
    assert verdict(claim).holds


def test_proposition_1_fails_by_its_counterexamples_and_would_hold_without_them():
    assert not verdict("proposition-1-as-stated").holds
    kept = verdict("proposition-1-as-stated", proposition_1_slopes=lambda s, _: s[::-1])
    assert kept.holds


def only(setting, change):
    return lambda values, where: change(values) if where == setting else values


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("one-step-is-enough", {"before": lambda v, _: v + 1e-9}),
        ("one-step-is-enough", {"after": only("A", lambda v: v * [1, 0])}),
        ("stays-in-a", {"ratio": only("A", lambda v: v * [[1], [1], [0.5], [0.2]])}),
        ("vanishes-in-b", {"ratio": only("B", lambda v: v * 0 + 0.005)}),
        ("vanishes-in-b", {"ratio": only("B", lambda v: v * 3)}),
        ("known-ratios", {"ratio": only("A", lambda v: v * 1.3)}),
        ("known-ratios", {"ratio": only("B", lambda v: v * 1.3)}),
        ("cross-weights-by-setting", {"linear_step_fitted": only("A", lambda v: v + 0.02)}),
        ("cross-weights-by-setting", {"linear_step_fitted": only("B", lambda v: v + 0.02)}),
        ("terms-do-not-cancel", {"sum_to_longest": lambda v, _: v * np.repeat([1, 0.01], 5)}),
        ("information-is-bounded", {"signs_of_inputs": lambda v, _: v - 0.3}),
        ("information-is-bounded", {"bins_of_inputs": only("B", lambda v: v - 1.5)}),
        ("gain-informs", {"bins_of_targets": only("A", lambda v: v * (STEPS != 1))}),
        ("gain-informs-by-signs", {"signs_of_targets": only("B", lambda v: v * (STEPS != 1))}),
        ("closed-forms", {"simulated": only("A", lambda v: v + np.eye(len(VALUES))[3])}),
        ("closed-forms", {"closed_forms": only("B", lambda v: v + 1)}),
    ],
)  # fmt: skip
def test_a_claim_fails_where_the_paper_would_be_wrong(claim, changed):
    assert verdict(claim, **changed).verdict == "fails"


@pytest.mark.parametrize("metric", METRICS)
def test_a_number_that_is_off_breaks_its_claim(metric):
    broken = [c for c in CLAIMS if not verdict(c, {metric: 1e-4}).holds]
    assert len(broken) == 2
    assert "proposition-1-as-stated" in broken


def test_the_first_gain_is_the_first_step_with_a_lower_loss():
    def loss(values, _):
        return np.array([1, 1.2, 1.1, 0.4, 0.3])

    (told,) = verdict("gain-informs", loss=loss).evidence.values()
    assert told["smallest"] == pytest.approx(0.6)


@pytest.mark.parametrize("figure", first_step.study.figures, ids=lambda figure: figure.name)
def test_every_figure_is_drawn(figure):
    _, found = results(NAME, lambda config, seed: METRICS, array=array, curve=curve)
    drawn = figure.draw(found)
    assert len(drawn.data) >= 2
