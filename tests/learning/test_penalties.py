"""Prices on slopes and on hidden layers, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, tasks

KEY = jax.random.key(0)
SECOND = jnp.array([False, True])
EXAMPLES = tasks.Examples(
    jnp.array([[1.0, -2.0], [-3.0, 4.0], [-1.0, -5.0]]), jnp.ones((3, 1)), jnp.ones(3)
)


def test_the_penalty_of_one_output_is_the_squared_slope_whatever_the_key():
    def model(x):
        return x @ jnp.array([[2.0], [3.0]])

    plain = learning.half_squared_loss(model, EXAMPLES)
    for key in jax.random.split(KEY, 3):
        ours = learning.SlopePenalty(learning.half_squared_loss, 0.5, SECOND)
        assert float(ours(model, EXAMPLES, key) - plain) == pytest.approx(0.5 * 9)


def test_examples_of_weight_0_have_no_price():
    def model(x):
        return x[:, 1:] ** 2  # the slope is 2 x

    penalty = learning.SlopePenalty(lambda *_: 0.0, 1.0, SECOND)
    some = EXAMPLES._replace(weight=jnp.array([1.0, 0.0, 1.0]))
    assert float(penalty(model, EXAMPLES, KEY)) == pytest.approx((16 + 64 + 100) / 3)
    assert float(penalty(model, some, KEY)) == pytest.approx((16 + 100) / 2)


def linear(x):
    """Scores of which one weighs the first part, and both the second one."""
    first, second = x[:, :, :1].sum((1, 2, 3)), x[:, :, 1:].sum((1, 2, 3))
    return jnp.stack([3 * first + second, 2 * second], axis=1)


def test_the_penalty_of_several_outputs_is_an_unbiased_estimate_of_the_squared_derivative():
    x, labels = jnp.ones((4000, 1, 2, 1)), jnp.zeros(4000, int)
    batch = tasks.PairBatch(x, labels, labels)
    loss = learning.ScoreLoss(learning.categorical_hinge)
    part = jnp.array([False, True])[None, :, None]
    with_it, without = (
        jax.jit(lambda key, s=s: learning.SlopePenalty(loss, s, part)(linear, batch, key))(KEY)
        for s in (0.5, 0.0)
    )
    # ∂Ŷ/∂X_2 is (1, 2), its square 5.
    assert with_it - without == pytest.approx(0.5 * 5, rel=0.1)
    assert without == pytest.approx(float(learning.categorical_hinge(linear(x), labels)))


def halves(model):
    W, V = model
    return lambda x: x @ W, lambda h: h @ V


NETWORK = jnp.array([[1.0, 2.0], [0.5, -1.0]]), jnp.array([[2.0], [-1.0]])


def test_a_hidden_layer_has_noise_and_a_price():
    h = np.asarray(EXAMPLES.x) @ np.asarray(NETWORK[0])
    size = np.square(h).sum(axis=1).mean()
    plain = learning.half_squared_error(jnp.asarray(h @ np.asarray(NETWORK[1])), EXAMPLES)

    def ours(weight, deviation, key=KEY):
        objective = learning.HiddenNoise(halves, learning.half_squared_error, weight, deviation)
        return float(objective(NETWORK, EXAMPLES, key))

    assert ours(0.0, 0.0) == pytest.approx(float(plain), rel=1e-5)
    assert ours(2.0, 0.0) == pytest.approx(float(plain) + 2 * size, rel=1e-5)
    noise = 3 * np.asarray(jax.random.normal(KEY, h.shape))
    noisy = learning.half_squared_error(jnp.asarray((h + noise) @ np.asarray(NETWORK[1])), EXAMPLES)
    assert ours(0.0, 3.0) == pytest.approx(float(noisy), rel=1e-4)
    assert ours(0.0, 3.0, jax.random.key(1)) != pytest.approx(float(noisy), rel=1e-2)
