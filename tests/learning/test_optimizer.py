"""Optimizers and schedules, against plain Optax and by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest

from recombine import learning

RNG = np.random.default_rng(0)
PARAMS = {
    "W": jnp.asarray(RNG.normal(size=(4, 3)), jnp.float32),
    "b": jnp.asarray(RNG.normal(size=3), jnp.float32),
}
GRADIENTS = [
    jax.tree.map(lambda p, s=size: jnp.asarray(s * RNG.normal(size=p.shape), p.dtype), PARAMS)
    for size in (3.0, 0.1, 1.0, 30.0)
]


def moved(optimizer):
    """Parameters after all gradients."""
    params, opt_state = PARAMS, optimizer.init(PARAMS)
    for gradient in GRADIENTS:
        updates, opt_state = optimizer.update(gradient, opt_state, params)
        params = optax.apply_updates(params, updates)
    return params


SCHEDULE = learning.WarmupLinear(0.1, 2, 6)


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        (learning.adam(0.1, eps=1e-3), optax.adam(0.1, eps=1e-3)),
        (learning.adamw(0.1, weight_decay=0.3), optax.adamw(0.1, weight_decay=0.3)),
        (learning.sgd(0.1, momentum=0.7), optax.sgd(0.1, momentum=0.7)),
        (learning.Optimizer(optax.lion, 0.1, b1=0.8), optax.lion(0.1, b1=0.8)),
        (learning.adam(SCHEDULE), optax.adam(SCHEDULE)),
        (
            learning.chain(learning.clip(1.0), learning.adamw(0.1, weight_decay=0.3)),
            optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1, weight_decay=0.3)),
        ),
        (
            learning.chain(optax.clip_by_global_norm(1.0), learning.sgd(0.1)),
            optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)),
        ),
        (
            learning.muon(0.05, 0.1, weight_decay=0.3, b2=0.9),
            optax.contrib.muon(
                0.05, weight_decay=0.3, adam_learning_rate=0.1, adam_b2=0.9, adam_weight_decay=0.3
            ),
        ),
    ],
    ids=["adam", "adamw", "sgd", "any", "schedule", "chain", "mixed", "muon"],
)
def test_steps_are_those_of_optax(ours, plain):
    found, expected = jax.jit(lambda: (moved(ours), moved(plain)))()
    for name in PARAMS:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-7)


def test_clipping_before_adam_is_not_clipping_after_it():
    """Adam's steps do not depend on the length of all gradients, but on that of each."""
    before = learning.chain(learning.clip(0.5), learning.adam(0.1))
    after = learning.chain(learning.adam(0.1), learning.clip(0.5))
    assert np.abs(moved(before)["W"] - moved(after)["W"]).max() > 1e-3


def test_a_grid_of_numbers_anywhere_in_an_optimizer_shares_one_compilation():
    traces = []

    @eqx.filter_jit
    def step(optimizer):
        traces.append(1)
        return optimizer.update(PARAMS, optimizer.init(PARAMS), PARAMS)[0]

    ends = []
    for rate, decay, norm in ((0.1, 0.0, 1.0), (0.2, 0.5, 2.0)):
        schedule = learning.WarmupLinear(jnp.asarray(rate), 2, 9)
        decayed = learning.adamw(schedule, weight_decay=jnp.asarray(decay))
        ends.append(step(learning.chain(learning.clip(jnp.asarray(norm)), decayed)))
    assert len(traces) == 1
    assert not np.allclose(ends[0]["W"], ends[1]["W"])


def slow_muon(steps, rate, decay):
    """Nesterov's momentum whose singular values five steps of Newton and Schulz make alike."""
    weights, mean = np.asarray(PARAMS["W"], float), np.zeros((4, 3))
    for t in range(steps):
        g = np.asarray(GRADIENTS[t]["W"], float)
        mean = 0.95 * mean + 0.05 * g
        ahead = 0.95 * mean / (1 - 0.95 ** (t + 2)) + 0.05 * g / (1 - 0.95 ** (t + 1))
        x = ahead.T / np.linalg.norm(ahead)
        for _ in range(5):
            A = x @ x.T
            x = 3.4445 * x + (-4.775 * A + 2.0315 * A @ A) @ x
        weights = weights - rate * (x.T + decay * weights)
    return weights


def test_matrices_take_steps_of_muon_and_vectors_those_of_adamw():
    found = jax.jit(lambda: moved(learning.muon(0.05, 0.1, weight_decay=0.3)))()
    np.testing.assert_allclose(found["W"], slow_muon(4, 0.05, 0.3), atol=1e-4)
    expected = moved(optax.adamw(0.1, weight_decay=0.3, nesterov=True))["b"]
    np.testing.assert_allclose(found["b"], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("warmup", "decay", "rates"),
    [
        (0, 0, [0.4] * 8),
        (4, 0, [0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.4]),
        (2, 6, [0.2, 0.4, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0]),
        (0, 4, [0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_the_rate_rises_in_equal_steps_and_stays_or_falls(warmup, decay, rates):
    found = learning.WarmupLinear(0.4, warmup, decay)(jnp.arange(8))
    np.testing.assert_allclose(found, rates, rtol=1e-6, atol=1e-7)


def test_the_rate_falls_in_stairs():
    rates = learning.Staircase(0.01, 0.96, 100)(jnp.array([0, 99, 100, 199, 200, 1999]))
    np.testing.assert_allclose(rates, 0.01 * 0.96 ** np.array([0, 0, 1, 1, 2, 19]), rtol=1e-6)


def test_the_rate_is_annealed_along_half_a_cosine():
    rates = learning.Cosine(1.0, 0.2, 8)(jnp.arange(9))
    np.testing.assert_allclose(rates[jnp.array([0, 4, 8])], [1, 0.6, 0.2], rtol=1e-6)
    schedule = optax.cosine_decay_schedule(1.0, 8, alpha=0.2)
    np.testing.assert_allclose(rates, [schedule(t) for t in range(9)], rtol=1e-5)
    warmed = learning.Cosine(1.0, 0.2, 8, warmup_steps=4)(jnp.arange(13))
    np.testing.assert_allclose(warmed[:4], [0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(warmed[4:], rates, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: learning.WarmupLinear(0.1, -1), "warmup_steps=-1 is negative"),
        (lambda: learning.WarmupLinear(0.1, 9, 9), "decay_steps=9 is not after warmup_steps=9"),
        (lambda: learning.Staircase(0.1, 0.9, 0), "decay_steps=0 is less than 1"),
    ],
)
def test_schedules_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
