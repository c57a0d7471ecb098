"""Exact solutions of Eq. 15 against quadrature and against the ODE."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import theory
from recombine.theory import RoutingSolution
from recombine.theory._routing_dynamics import HiddenRoutingDynamics, mode_loss

ITEMS = np.array(
    [
        [6, 4, 0, 3, 0, 0, 0],
        [6, 4, 0, 0, 3, 0, 0],
        [6, 0, 4, 0, 0, 3, 0],
        [6, 0, 4, 0, 0, 0, 3],
    ],
    float,
)
S, D, M, B0, TAU = np.linalg.svd(ITEMS, compute_uv=False) / 4, 0.25, 7, 0.08, 6.25
LEVELS = np.array([150, 40, 9]) / 244


def between(solution, fraction):
    return solution.start + fraction * (solution.fixed_point - solution.start)


@pytest.mark.parametrize("C", [None, 0.0, 1e-10, 0.5, -0.005])
@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.999])
def test_the_closed_form_is_the_integral(C, fraction):
    solution = RoutingSolution(S, D, M=M, start=B0, C=C, tau=TAU)
    B2 = between(solution, fraction)
    assert np.abs(solution.time(B2) - solution.time_by_quadrature(B2)).max() < 1e-9


@settings(max_examples=40, deadline=None)
@given(
    s=st.floats(0.2, 10),
    d=st.floats(0.1, 3),
    m=st.integers(1, 15),
    b0=st.floats(0.02, 0.2),
    tau=st.floats(0.5, 10),
    fraction=st.floats(0.05, 0.99),
)
def test_the_closed_form_is_the_integral_for_any_constants(s, d, m, b0, tau, fraction):
    solution = RoutingSolution(s, d, M=m, start=b0, tau=tau)
    B2 = between(solution, fraction)
    assert solution.time(B2) == pytest.approx(solution.time_by_quadrature(B2), rel=1e-9, abs=1e-9)


def test_without_offset_both_closed_forms_agree():
    solution = RoutingSolution(S, D, M=M, start=B0, C=0.0, tau=TAU)
    for fraction in (0.1, 0.6, 0.99):
        B2 = between(solution, fraction)
        assert np.abs(solution.time(B2) - solution.time_without_offset(B2)).max() < 1e-10
    with pytest.raises(ValueError, match="C = 0"):
        RoutingSolution(S, D, M=M, start=B0).time_without_offset(np.ones(4))


def test_a_vanishing_offset_is_no_offset():
    none = RoutingSolution(S, D, M=M, start=B0, C=0.0, tau=TAU)
    tiny = RoutingSolution(S, D, M=M, start=B0, C=1e-14, tau=TAU)
    B2 = between(none, 0.7)
    assert np.abs(none.time(B2) - tiny.time(B2)).max() < 1e-8


@pytest.mark.parametrize("C", [(M - 1) * B0**2, 0.0, -0.004])
def test_the_exact_solution_is_the_solution_of_the_ode(x64, C):
    times = np.linspace(0, 600, 301)
    solution = RoutingSolution(S, D, M=M, start=B0, C=C, tau=TAU)
    dynamics = HiddenRoutingDynamics(S, D, M, C, TAU)
    states = theory.integrate(dynamics, dynamics.start(B0), times, rtol=1e-12, atol=1e-13)
    assert np.abs(solution.hidden_strength(times) - states).max() <= 1e-8
    assert np.allclose(solution.strength(times), dynamics.strength(states), rtol=0, atol=1e-7)
    assert np.allclose(solution.rate(states), dynamics.rate(states), rtol=1e-12, atol=1e-12)


def test_inversion_returns_the_start_the_middle_and_the_end():
    solution = RoutingSolution(S, D, M=M, start=B0, tau=TAU)
    B2 = between(solution, 0.4)
    assert np.allclose(np.diag(solution.hidden_strength(solution.time(B2))), B2, rtol=1e-13)
    assert np.allclose(solution.hidden_strength(0.0), B0, rtol=1e-13)
    assert np.allclose(solution.hidden_strength(1e6), solution.fixed_point, rtol=1e-14)
    assert solution.hidden_strength(np.zeros((2, 3))).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="below the fixed point"):
        RoutingSolution(S, D, M=M, start=5.0).hidden_strength(1.0)


def test_the_fixed_point_is_that_of_the_dynamics(x64):
    solution = RoutingSolution(S, D, M=M, start=B0)
    expected = theory.routing_fixed_point(S, D, M, (M - 1) * B0**2).B2
    assert np.allclose(solution.fixed_point, expected, rtol=1e-15)


def test_half_rise_and_escape_times_of_figure_4():
    solution = RoutingSolution(S, D, M=M, start=B0, tau=TAU)
    halves = solution.half_rise_times()
    assert halves[:3] == pytest.approx([75.3, 158.5, 334.2], abs=0.05)
    assert np.allclose(np.diag(solution.strength(halves)), S / D / 2, rtol=1e-12)
    escapes = theory.escape_time(S, b0=B0, M=M, tau=TAU)
    assert escapes[:3] == pytest.approx([77.7, 165.0, 352.2], abs=0.05)


def test_sharing_schemes_of_figure_5b_rise_in_the_ratios_24_to_9_to_3_to_1():
    q = np.array([1, 2, 5, 10])
    halves = RoutingSolution.of_scheme(3.0, 1.0, M=10, q=q, start=0.01).half_rise_times()
    assert halves == pytest.approx([3313.7, 1301.2, 366.8, 137.9], abs=0.06)
    escapes = theory.escape_time(3.0, b0=0.01, M=10, q=q)
    assert escapes / escapes[-1] == pytest.approx([24.02, 9.43, 2.66, 1], abs=0.005)
    assert halves == pytest.approx(escapes, rel=0.01)


def test_a_dedicated_pathway_escapes_at_one_over_b0():
    assert theory.escape_time(2.0, b0=0.1, M=3, tau=5.0, q=1) == pytest.approx(5 * 9 / 0.2)
    assert theory.escape_time(2.0, b0=0.1, M=3) == theory.escape_time(2.0, b0=0.1, M=3, q=3)


@pytest.mark.parametrize("q", [1, 2, 5, 10])
def test_half_rise_times_approach_the_escape_time_from_small_weights(q):
    solution = RoutingSolution.of_scheme(3.0, 1.0, M=10, q=q, start=1e-4)
    escape = theory.escape_time(3.0, b0=1e-4, M=10, q=q)
    assert solution.half_rise_times()[0] == pytest.approx(escape, rel=1e-3)


def test_predicted_drop_times_are_where_the_predicted_loss_drops(x64):
    solution = RoutingSolution(S, D, M=M, start=B0, tau=TAU)
    times = theory.predicted_drop_times(LEVELS, solution)
    assert times == pytest.approx([74.2, 154.9, 325.7], abs=0.05)
    losses = mode_loss(solution.strength(times), S, D) / mode_loss(np.zeros(4), S, D)
    assert np.allclose(losses, LEVELS, rtol=1e-6)
    assert theory.predicted_drop_times([1.0], solution) == [0.0]


@pytest.mark.parametrize(("domains", "b0"), [(7, 0.08), (10, 0.07), (3, 0.013)])
def test_the_effective_b0_is_found_again(domains, b0):
    solution = RoutingSolution(S, D, M=domains, start=b0, tau=2.0)
    times = theory.predicted_drop_times(LEVELS, solution)
    fitted = theory.fit_effective_b0(times, LEVELS, S, D, M=domains, tau=2.0)
    assert fitted == pytest.approx(b0, rel=1e-5)


def test_later_drops_mean_a_smaller_effective_b0_and_missing_drops_are_refused():
    times = theory.predicted_drop_times(LEVELS, RoutingSolution(S, D, M=M, start=B0, tau=TAU))
    assert theory.fit_effective_b0(1.2 * times, LEVELS, S, D, M=M, tau=TAU) < 0.07
    with pytest.raises(ValueError, match="finite"):
        theory.fit_effective_b0([1.0, np.nan, 3.0], LEVELS, S, D, M=M, tau=TAU)
