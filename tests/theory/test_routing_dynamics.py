"""The reduced dynamics of the routing task, on the data and constants of Figure 4."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import theory
from recombine.theory._routing_dynamics import (
    HiddenRoutingDynamics,
    HyperbolicRoutingDynamics,
    RouteStrengths,
    Strengths,
    mode_loss,
)

pytestmark = pytest.mark.usefixtures("x64")

M, K, B0, RATE = 7, 4, 0.08, 0.02
ITEMS = np.array(
    [
        [6, 4, 0, 3, 0, 0, 0],
        [6, 4, 0, 0, 3, 0, 0],
        [6, 0, 4, 0, 0, 3, 0],
        [6, 0, 4, 0, 0, 0, 3],
    ],
    float,
)
SINGULAR = np.linalg.svd(ITEMS, compute_uv=False)
S, D = SINGULAR / 4, 0.25
TAU = theory.time_constant(outputs=7, M=M, K=K, learning_rate=RATE)
C = (M - 1) * B0**2
# One set of times, so that each dynamics is compiled once.
TIMES = np.linspace(0, 1500, 301)


def fine(dynamics):
    return theory.integrate(dynamics, dynamics.start(B0), TIMES, rtol=1e-12, atol=1e-13)


def at(states, time):
    return jax.tree.map(lambda x: x[int(np.searchsorted(TIMES, time))], states)


def test_the_time_constant_of_figure_4_is_6_25_epochs():
    assert pytest.approx(6.25) == TAU


def test_rates_are_the_printed_equations_by_hand():
    # One mode, M = 2, tau = 4, S = 5, D = 2, B = (1, 2, 3): error 5 - 2 * 6 = -7.
    state = RouteStrengths(jnp.array([1.0]), jnp.array([2.0]), jnp.array([3.0]))
    rate = theory.RoutingDynamics([5.0], 2.0, 2, 4.0).rate(state)
    assert np.allclose(rate, [[6 / 2 * -7 / 4], [3 * -7 / 4], [2 / 2 * -7 / 4]])
    # B1 = 3, B2 = 2: error 5 - 2 * 18 = -31, and C = 2 * 9 - 4 = 14.
    balanced = theory.BalancedRoutingDynamics([5.0], 2.0, 2, 4.0)
    rate = balanced.rate(Strengths(jnp.array([3.0]), jnp.array([2.0])))
    assert np.allclose(rate, [[6 / 2 * -31 / 4], [9 * -31 / 4]])
    assert np.allclose(
        HiddenRoutingDynamics([5.0], 2.0, 2, 14.0, 4.0).rate(jnp.array([2.0])),
        [9 * -31 / 4],
    )


def test_three_two_and_one_variable_forms_agree():
    three = fine(theory.RoutingDynamics(S, D, M, TAU))
    two = fine(theory.BalancedRoutingDynamics(S, D, M, TAU))
    one = fine(HiddenRoutingDynamics(S, D, M, C, TAU))
    hyperbolic = HyperbolicRoutingDynamics(S, D, M, C, TAU)
    theta = fine(hyperbolic)
    assert np.allclose(three.B1, three.B3, rtol=0, atol=1e-14)
    for other in (three.B2, one, hyperbolic.hidden(theta)):
        assert np.abs(two.B2 - other).max() < 1e-8
    assert np.abs(hyperbolic.strength(theta) - two.B2 * two.B1**2).max() < 1e-7


def test_the_hyperbolic_rate_is_the_chain_rule_of_eq_15():
    hyperbolic = HyperbolicRoutingDynamics(S, D, M, C, TAU)
    hidden = HiddenRoutingDynamics(S, D, M, C, TAU)
    theta = jnp.array([1.0, 2.0, 3.0, 4.0])
    _, rate = jax.jvp(hyperbolic.hidden, (theta,), (hyperbolic.rate(theta),))
    assert np.allclose(rate, hidden.rate(hyperbolic.hidden(theta)), rtol=1e-12)


def test_learned_strengths_and_ratios_of_figure_4():
    dynamics = theory.BalancedRoutingDynamics(S, D, M, TAU)
    end = at(fine(dynamics), 1500)
    fixed = theory.routing_fixed_point(S, D, M, C)
    for state in (end, fixed):
        assert state.B2[:3] == pytest.approx([4.56346388, 3.54859045, 2.75428469], abs=1e-7)
        assert state.B1[:3] == pytest.approx([1.7264, 1.3433, 1.0437], abs=5e-5)
    ratio = fixed.B2 / fixed.B1
    assert ratio[:3] == pytest.approx([2.6434, 2.6418, 2.6391], abs=1.5e-4)
    assert np.allclose(ratio, np.sqrt(M - C / fixed.B1**2))
    assert np.all(ratio < np.sqrt(7))


def test_without_offset_the_fixed_point_is_a_cube_root_and_its_ratio_sqrt_M():
    fixed = theory.routing_fixed_point(S, D, M)
    assert np.allclose(fixed.B1, np.cbrt(S / (D * np.sqrt(M))), rtol=1e-14)
    assert np.allclose(fixed.B2, np.sqrt(M) * fixed.B1, rtol=1e-14)


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0.1, 20), st.floats(0.05, 5), st.integers(1, 20), st.floats(-1, 1), st.floats(0.01, 2)
)
def test_nothing_moves_at_the_fixed_point(s, d, m, offset, tau):
    fixed = theory.routing_fixed_point(np.array([s]), d, m, offset)
    dynamics = theory.BalancedRoutingDynamics([s], d, m, tau)
    assert dynamics.conserved(fixed)[0] == pytest.approx(offset, abs=1e-9)
    assert dynamics.strength(fixed)[0] == pytest.approx(s / d, rel=1e-12)


def test_conserved_quantities_do_not_drift():
    unequal = RouteStrengths(jnp.full(4, 0.05), jnp.full(4, 0.1), jnp.full(4, 0.2))
    dynamics = theory.RoutingDynamics(S, D, M, TAU)
    states = theory.integrate(dynamics, unequal, TIMES, rtol=1e-12, atol=1e-13)
    for quantity in dynamics.conserved(states):
        assert np.abs(quantity - quantity[0]).max() < 1e-9
    balanced = theory.BalancedRoutingDynamics(S, D, M, TAU)
    default = theory.integrate(balanced, balanced.start(B0), TIMES)
    assert np.abs(balanced.conserved(default) - C).max() < 1e-9
    hidden = HiddenRoutingDynamics(S, D, M, C)
    assert np.all(hidden.conserved(default.B2) == C)
    assert np.all(HyperbolicRoutingDynamics(S, D, M, C).conserved(default.B2) == C)


def test_losses_start_at_the_sum_of_squares_and_pass_the_plateaus():
    dynamics = theory.BalancedRoutingDynamics(S, D, M, TAU)
    nothing, scale = jnp.zeros(4), {"outputs": 7, "M": M, "K": K}
    assert theory.summed_loss(nothing, S, D, **scale) == pytest.approx(244)
    assert mode_loss(nothing, S, D) == pytest.approx(244 / 8)
    losses = theory.summed_loss(dynamics.strength(fine(dynamics)), S, D, **scale)
    assert [at(losses, t) for t in (110, 220, 1500)] == pytest.approx([59, 18, 0], abs=0.3)


def test_the_loss_of_modes_is_the_loss_of_the_map():
    U, s, Vt = np.linalg.svd(ITEMS.T, full_matrices=False)
    strength = np.array([7.0, 5.0, 1.0, 4.0])
    outputs = (U * strength @ Vt).T
    assert mode_loss(strength, s / 4, D) == pytest.approx(
        np.mean(np.sum((ITEMS - outputs) ** 2, axis=1)) / 2
    )


def test_euler_is_gradient_descent_on_the_network_itself():
    rng = np.random.default_rng(0)
    width, steps = 9, 300
    U, _, Vt = np.linalg.svd(ITEMS.T)
    R1, R2 = (np.linalg.qr(rng.normal(size=(width, width)))[0] for _ in range(2))
    W1 = np.stack([B0 * R1[:, :4] @ Vt] * M)
    W2 = B0 * R2 @ R1.T
    W3 = np.stack([B0 * U @ R2[:, :7].T] * M)
    mask = [(i, (i + o) % M) for i in range(M) for o in (-1, 0, 1, 2)]
    losses = []
    for _ in range(steps):
        dW1, dW2, dW3 = np.zeros_like(W1), np.zeros_like(W2), np.zeros_like(W3)
        loss = 0.0
        for i, j in mask:
            error = ITEMS.T - W3[j] @ W2 @ W1[i]
            loss += np.mean(error**2)
            step = 2 * RATE / error.size * error
            dW1[i] += W2.T @ W3[j].T @ step
            dW2 += W3[j].T @ step @ W1[i].T
            dW3[j] += step @ W1[i].T @ W2.T
        losses.append(loss)
        W1, W2, W3 = W1 + dW1, W2 + dW2, W3 + dW3
    for dynamics in (
        theory.RoutingDynamics(S, D, M, TAU),
        theory.BalancedRoutingDynamics(S, D, M, TAU),
    ):
        states = theory.euler(dynamics, dynamics.start(B0), steps)
        predicted = theory.summed_loss(dynamics.strength(states), S, D, outputs=7, M=M, K=K)
        assert predicted.shape == (steps + 1,)
        assert np.abs(predicted[:-1] - np.array(losses)).max() < 1e-9
        assert np.allclose(states.B2[-1], np.diag(R2[:, :4].T @ W2 @ R1[:, :4]), rtol=0, atol=1e-11)


def test_gradient_descent_of_figure_4_rises_halfway_at_epochs_79_161_337():
    dynamics = theory.BalancedRoutingDynamics(S, D, M, TAU)
    strength = dynamics.strength(theory.euler(dynamics, dynamics.start(B0), 500))
    assert np.argmax(strength > SINGULAR / 2, axis=0).tolist() == [79, 161, 337, 337]


def test_euler_approaches_the_flow_as_its_step_shrinks():
    dynamics = theory.BalancedRoutingDynamics(S, D, M, TAU)
    end = at(fine(dynamics), 80).B2
    coarse, finer = (
        np.abs(theory.euler(dynamics, dynamics.start(B0), n, step=80 / n).B2[-1] - end).max()
        for n in (8000, 16000)
    )
    assert coarse / finer == pytest.approx(2, rel=0.05)


def test_a_loose_tolerance_is_looser_and_too_few_steps_are_an_error():
    dynamics = theory.BalancedRoutingDynamics(S, D, M, TAU)
    start = dynamics.start(B0)
    exact = fine(dynamics)
    loose = theory.integrate(dynamics, start, TIMES, rtol=1e-5, atol=1e-7)
    assert 1e-8 < np.abs(loose.B2 - exact.B2).max() < 1e-2
    with pytest.raises(Exception, match="maximum number of solver steps"):
        theory.integrate(dynamics, start, TIMES, max_steps=5)


def test_single_precision_works():
    with jax.enable_x64(False):
        dynamics = theory.BalancedRoutingDynamics(S, D, M, TAU)
        end = theory.integrate(dynamics, dynamics.start(B0), np.array([0.0, 800.0]))
        assert end.B2.dtype == jnp.float32
        expected = theory.routing_fixed_point(S, D, M, C).B2
        assert expected.dtype == jnp.float32
        assert np.allclose(end.B2[-1], expected, rtol=1e-4)
