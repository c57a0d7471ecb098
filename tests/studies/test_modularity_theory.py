"""The judgement of the theory: every claim holds on the closed forms and can fail."""

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine.lab import Recorder
from recombine.studies.modularity_scaling import theory
from recombine.studies.modularity_scaling.closed_form_values import digits_off

NAME = "modularity-scaling/theory"
CLAIMS = [c.name for c in theory.study.claims]


@pytest.fixture(scope="module")
def recorder():
    """A trial with few draws."""
    recorder = Recorder()
    with jax.enable_x64(True):
        theory.trial(theory.Config(draws=60, figure_1_points=12), jax.random.key(1), recorder)
    return recorder


def verdict(recorder, claim, **changed):
    arrays = recorder.arrays | changed
    study, found = results(
        NAME, lambda config, seed: recorder.metrics, array=lambda config, name: arrays[name]
    )
    return judged(study, found, claim)


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c != "falls-with-parameters"])
def test_a_claim_holds_on_the_closed_forms(recorder, claim):
    assert verdict(recorder, claim).holds


def test_the_loss_rises_again_with_many_more_parameters_than_samples(recorder):
    assert not verdict(recorder, "falls-with-parameters").holds
    sides = recorder.arrays["figure_1_sides"]
    falling = np.broadcast_to(1 / sides[:, None], (2, len(sides), len(sides)))
    assert verdict(recorder, "falls-with-parameters", figure_1=falling).holds


def changed(array, at, by):
    array = np.array(array, float)
    array[at] += by
    return array


@pytest.mark.parametrize(
    ("claim", "name", "at", "by"),
    [
        ("effective-dimension", "effective_dimension", (1, 0), 0.02),
        ("effective-dimension", "effective_dimension", (-1, 2), 1e-5),
        ("norm-of-the-pseudoinverse", "norms", (2, 2), 1e-5),
        ("norm-of-the-pseudoinverse", "norms", (0, 0), 10),
        ("theorem-1-values", "theorem_1", (5, 3), 1e-6),
        ("theorem-1-is-simulated", "simulated_1", (3, 1), 100),
        ("theorem-1-is-simulated", "simulated_1", (0, 0), 100),
        ("theorem-1-is-simulated", "simulated_1", (1, 0), 1e-9),
        ("theorem-1-is-simulated", "simulated_1", (2, 5), 1e-4),
        ("interpolation-threshold", "figure_1", (0, 5, 5), 1e-9),
        ("interpolation-threshold", "figure_1", (0, 0, -1), -0.5),
        ("ridge-at-the-threshold", "figure_1", (1, 0, 5), 1e12),
        ("ridge-at-the-threshold", "figure_1_at_1000_samples", 0, 10),
        ("ridge-at-the-threshold", "figure_1_at_1000_samples", 3, 10),
        ("falls-with-samples", "figure_1", (1, 0, -1), 1),
        ("figure-2-values", "test by m", 3, 0.01),
        ("figure-2-values", "train by n", 5, 0.001),
        ("required-samples", "required", (3, -1), 1),
        ("beyond-the-peak", "required_over_p", (0, 0), -1),
        ("samples-grow-exponentially", "required", (0, 7), 300),
        ("small-losses-need-parameters", "required_around", (1, 2), np.inf),
        ("theorem-2-values", "theorem_2", (2, 1), 1e-5),
        ("modular-is-free-of-dimension", "modular_with_enough_samples", (1, 9), 1e-6),
        ("modular-is-free-of-dimension", "modular_with_few_samples", (1, 9), 1e-6),
        ("modular-is-free-of-dimension", "required_modular", 2, 1),
        ("consistent-counts-are-mild", "growth_with_m", 2, 0.1),
        ("theorem-2-is-simulated", "simulated_2", (0, 1), 10),
        ("theorem-2-is-simulated", "simulated_2", (1, 7), 0.001),
    ],
)
def test_one_wrong_number_breaks_a_claim(recorder, claim, name, at, by):
    found = verdict(recorder, claim, **{name: changed(recorder.arrays[name], at, by)})
    assert found.verdict == "fails"


def test_the_printed_theorem_is_not_rejected_if_the_simulation_has_its_loss(recorder):
    simulated = np.array(recorder.arrays["simulated_2"], float)
    simulated[0, 1] = simulated[0, 5]
    assert not verdict(recorder, "printed-theorem-2-is-not", simulated_2=simulated).holds


def test_a_finite_norm_at_the_threshold_breaks_its_claim(recorder):
    near = np.array([np.inf, 330.0, np.inf])
    assert not verdict(recorder, "norm-of-the-pseudoinverse", norms_near=near).holds


def test_a_solution_with_another_loss_breaks_the_claim_beyond_the_peak(recorder):
    study, found = results(
        NAME,
        lambda config, seed: {"required_misses_by": 0.01},
        array=lambda config, name: recorder.arrays[name],
    )
    assert not judged(study, found, "beyond-the-peak").holds


@pytest.mark.parametrize(
    ("found", "text", "off"), [(1.8576, "1.858", 0.4), (16904, "1.690e4", 0.4), (0.5, "0", 0.5)]
)
def test_differences_are_in_units_of_the_last_digit(found, text, off):
    assert digits_off(found, text) == pytest.approx(off)


@pytest.mark.parametrize("figure", [f.name for f in theory.study.figures])
def test_every_figure_is_drawn(recorder, figure):
    study, found = results(
        NAME,
        lambda config, seed: recorder.metrics,
        array=lambda config, name: recorder.arrays[name],
    )
    drawn = next(f for f in study.figures if f.name == figure).draw(found)
    assert len(drawn.data) > 0
