"""Sharing schemes alone and against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import theory
from recombine.theory._race import race_outcome
from recombine.theory._routing_dynamics import Strengths

pytestmark = pytest.mark.usefixtures("x64")

ITEMS = np.array(
    [
        [6, 4, 0, 3, 0, 0, 0],
        [6, 4, 0, 0, 3, 0, 0],
        [6, 0, 4, 0, 0, 3, 0],
        [6, 0, 4, 0, 0, 0, 3],
    ],
    float,
)
S, D = np.linalg.svd(ITEMS, compute_uv=False) / 4, 0.25
Q = np.array([1.0, 2.0, 5.0, 10.0])


def fine(dynamics, start, times):
    return theory.integrate(dynamics, start, times, rtol=1e-12, atol=1e-13)


def test_rates_are_the_printed_equations_by_hand():
    # M = 3, tau = 2, S = 5, D = 1; q = 1 and 3 with (B1, B2) = (1, 2) and (2, 0.5): error 1.
    state = Strengths(jnp.array([[1.0], [2.0]]), jnp.array([[2.0], [0.5]]))
    race = theory.RaceDynamics([5.0], 1.0, 3, [1.0, 3.0], 2.0)
    assert np.allclose(race.strength(state), [4.0])
    assert np.allclose(race.rate(state).B1, np.array([[1 * 2], [3 * 1]]) / 9 / 2)
    assert np.allclose(race.rate(state).B2, np.array([[1 * 1], [9 * 4]]) / 9 / 2)
    assert np.allclose(race.shares(state), [[0.5], [0.5]])


def test_a_race_of_one_is_the_scheme_alone_and_full_sharing_the_routing_network():
    state = Strengths(jnp.array([0.5, 0.6, 0.7, 0.8]), jnp.array([0.4, 0.3, 0.2, 0.1]))
    alone = theory.SharingDynamics(S, D, 6, 3, 2.5)
    race = theory.RaceDynamics(S, D, 6, [3.0], 2.5)
    several = jax.tree.map(lambda x: x[None], state)
    for one, of_race in zip(alone.rate(state), race.rate(several), strict=True):
        assert np.allclose(one, of_race[0], rtol=1e-15)
    shared = theory.SharingDynamics(S, D, 6, 6, 2.5).rate(state)
    routing = theory.BalancedRoutingDynamics(S, D, 6, 2.5).rate(state)
    assert np.allclose(jnp.stack(shared), jnp.stack(routing), rtol=1e-14)


def test_more_sharing_is_faster_in_the_ratios_of_figure_5b():
    # The schemes are independent of each other, so they can stand in for modes.
    dynamics = theory.SharingDynamics(np.full(4, 3.0), 1.0, 10, Q)
    times = np.linspace(0, 4000, 40001)
    states = fine(dynamics, dynamics.start(0.01), times)
    strength = np.asarray(dynamics.strength(states))
    halves = np.array([np.interp(1.5, strength[:, k], times) for k in range(4)])
    assert halves == pytest.approx([3313.7, 1301.2, 366.8, 137.9], abs=0.1)
    assert halves / halves[-1] == pytest.approx([24.0, 9.43, 2.66, 1], rel=0.005)
    drift = dynamics.conserved(states) - dynamics.conserved(dynamics.start(0.01))
    assert np.abs(drift).max() < 1e-9
    ratio = (states.B2 / states.B1)[-1]
    assert ratio == pytest.approx(np.sqrt(Q), rel=1e-3)


def simulate(q, M, b0, steps, rate):
    """Gradient descent on a full network in which the routes of a block share a hidden weight."""
    rng = np.random.default_rng(1)
    T, width = ITEMS.T, 8
    U, _, Vt = np.linalg.svd(T)
    nets = []
    for k in q:
        R1, R2 = (np.linalg.qr(rng.normal(size=(width, width)))[0] for _ in range(2))
        blocks = M // k
        # One input weight per domain and output block, one hidden weight per pair of blocks.
        nets.append(
            [
                np.tile(b0 * R1[:, :4] @ Vt, (M, blocks, 1, 1)),
                np.tile(b0 * R2 @ R1.T, (blocks, blocks, 1, 1)),
                np.tile(b0 * U @ R2[:, :7].T, (M, blocks, 1, 1)),
                k,
            ]
        )
    for _ in range(steps):
        steps_taken = [[np.zeros_like(W) for W in net[:3]] for net in nets]
        for i in range(M):
            for j in range(M):
                output = sum(
                    W3[j, i // k] @ W2[i // k, j // k] @ W1[i, j // k] for W1, W2, W3, k in nets
                )
                error = rate * (T - output) / (4 * M**2)
                for (W1, W2, W3, k), (d1, d2, d3) in zip(nets, steps_taken, strict=True):
                    a, h, c = W1[i, j // k], W2[i // k, j // k], W3[j, i // k]
                    d1[i, j // k] += h.T @ c.T @ error
                    d2[i // k, j // k] += c.T @ error @ a.T
                    d3[j, i // k] += error @ a.T @ h.T
        for net, change in zip(nets, steps_taken, strict=True):
            net[:3] = [W + dW for W, dW in zip(net[:3], change, strict=True)]
    return np.array(
        [np.diag(U[:, :4].T @ W3[0, 0] @ W2[0, 0] @ W1[0, 0] @ Vt.T) for W1, W2, W3, _ in nets]
    )


@pytest.mark.parametrize("q", [(1,), (2,), (4,), (1, 2, 4)])
def test_the_dynamics_are_gradient_descent_on_gated_networks(q):
    steps, rate = 200, 0.1
    strengths = simulate(q, M=4, b0=0.3, steps=steps, rate=rate)
    race = theory.RaceDynamics(S, D, 4, q, 1 / rate)
    states = theory.euler(race, race.start(0.3), steps)
    predicted = (states.B2 * states.B1**2)[-1]
    assert predicted.sum(0)[0] > 10
    assert np.abs(strengths - predicted).max() < 1e-10


def test_the_most_shared_pathway_takes_every_mode():
    race = theory.RaceDynamics(S, D, 10, Q)
    states = fine(race, race.start(0.1), np.linspace(0, 3000, 31))
    shares = race.shares(states)
    assert np.allclose(shares[0], 0.25)
    assert shares[-1, :, 0] == pytest.approx([0.0001, 0.0001, 0.0003, 0.9995], abs=5e-5)
    assert np.all(shares[-1, -1] > 0.997)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.abs(race.conserved(states) - race.conserved(race.start(0.1))).max() < 1e-9
    assert np.allclose(race.strength(states)[-1], S / D, rtol=1e-9)


def test_the_exact_outcome_is_where_the_race_ends():
    b0 = np.array([0.3, 0.2, 0.1, 0.1])
    race = theory.RaceDynamics(S, D, 10, Q)
    states = fine(race, race.start(b0[:, None]), np.linspace(0, 3000, 31))
    outcome = race_outcome(S, D, q=Q, b0=b0)
    assert outcome.shape == (4, 4)
    assert np.abs((states.B2 * states.B1**2)[-1] - outcome).max() < 1e-8
    assert np.allclose(outcome.sum(0), S / D, rtol=1e-12)


def test_equal_schemes_share_equally():
    outcome = race_outcome(S, D, q=np.array([3.0, 3.0]), b0=0.05)
    assert np.allclose(outcome, S / D / 2, rtol=1e-12)
    assert theory.head_start_ratio(S, D, b0=0.05, shared=3, dedicated=3) == pytest.approx(1)


@pytest.mark.parametrize("dedicated", [1, 2])
def test_with_the_head_start_both_take_half_and_beyond_it_the_dedicated_pathway_wins(dedicated):
    ratio = theory.head_start_ratio(S, D, b0=0.1, shared=10, dedicated=dedicated)
    # Each mode with the initial strength that should divide it equally, and 5 % to either side.
    race = theory.RaceDynamics(S, D, 10, [dedicated, 10.0])
    shares = []
    for factor in (0.95, 1.0, 1.05):
        start = race.start(np.stack([0.1 * factor * ratio, np.full(4, 0.1)]))
        shares.append(race.shares(fine(race, start, np.linspace(0, 3000, 31)))[-1, 0])
    assert np.allclose(shares[1], 0.5, atol=1e-8)
    assert np.all(shares[0] < 0.45)
    assert np.all(shares[2] > 0.55)


def test_from_ever_smaller_weights_the_head_start_is_the_ratio_of_escape_times():
    ratio = theory.head_start_ratio(3.0, 1.0, b0=1e-5, shared=10)
    expected = theory.escape_time(3.0, b0=1, M=10, q=1) / theory.escape_time(3.0, b0=1, M=10)
    assert ratio == pytest.approx([expected], rel=1e-3)
    larger = theory.head_start_ratio(3.0, 1.0, b0=0.1, shared=10)
    assert 1 < larger < ratio


def test_a_race_that_is_over_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="below S / D"):
        race_outcome(1.0, 1.0, q=Q, b0=1.0)
    with pytest.raises(ValueError, match="below half"):
        theory.head_start_ratio(1.0, 1.0, b0=0.9, shared=10)
