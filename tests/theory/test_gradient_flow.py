"""Gradient flow, against closed forms and small steps of gradient descent."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.learning import GradientDescent, train
from recombine.theory import gradient_flow


class Weights(eqx.Module):
    w: jax.Array
    steps_are_not_for_integers: jax.Array


class Quadratic(eqx.Module):
    """½ Σ curvature (w − target)²."""

    curvature: jax.Array
    target: jax.Array

    def __call__(self, model):
        return 0.5 * jnp.sum(self.curvature * (model.w - self.target) ** 2)


def quadratic():
    loss = Quadratic(jnp.array([1.0, 4.0]), jnp.array([2.0, -1.0]))
    return loss, Weights(jnp.array([0.0, 3.0]), jnp.arange(3))


@pytest.mark.parametrize("solver", [None, diffrax.Tsit5()], ids=["default", "Tsit5"])
def test_gradient_flow_on_a_quadratic_decays_exponentially(x64, solver):
    loss, model = quadratic()
    times = np.array([0.0, 0.3, 1.0, 5.0])
    flow = gradient_flow(loss, model, times, tau=2.0, rtol=1e-11, atol=1e-12, solver=solver)
    decay = np.exp(-np.array([1.0, 4.0]) * times[:, None] / 2.0)
    np.testing.assert_allclose(flow.w, [2.0, -1.0] + np.array([-2.0, 4.0]) * decay, atol=1e-9)
    np.testing.assert_array_equal(flow.steps_are_not_for_integers, [0, 1, 2])


def test_gradient_descent_with_small_steps_approaches_gradient_flow(x64):
    """An ordinary network, with functions among its leaves."""
    mlp = eqx.nn.MLP(2, 1, 4, 1, activation=jnp.tanh, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (8, 2))
    y = jnp.prod(x, axis=1, keepdims=True)

    def loss(model):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    flow = gradient_flow(loss, mlp, [0.0, 1.0], rtol=1e-9, atol=1e-10)
    final = jax.tree.map(lambda w: w[-1] if eqx.is_inexact_array(w) else w, flow)
    errors = []
    for steps in (100, 200):
        trained, _ = train(GradientDescent(loss, 1 / steps), mlp, steps, every=steps)
        errors.append(float(jnp.abs(trained.layers[0].weight - final.layers[0].weight).max()))
    assert errors[0] < 0.01
    assert errors[1] == pytest.approx(errors[0] / 2, rel=0.1)


def test_gradient_flow_works_in_32_bit_numbers():
    loss, model = quadratic()
    flow = gradient_flow(loss, model, [0.0, 1.0], rtol=1e-5, atol=1e-6)
    assert flow.w.dtype == jnp.float32
    np.testing.assert_allclose(flow.w[-1], [2 - 2 * np.exp(-1), -1 + 4 * np.exp(-4)], rtol=1e-4)


def test_a_flow_that_needs_too_many_steps_is_an_error(x64):
    loss, model = quadratic()
    with pytest.raises(eqx.EquinoxRuntimeError, match="maximum number of"):
        gradient_flow(loss, model, [0.0, 100.0], rtol=1e-10, atol=1e-10, max_steps=3)
