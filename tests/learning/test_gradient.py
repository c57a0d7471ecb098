import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.learning import GradientDescent, gradient_flow, train


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


def test_one_step_is_the_weights_minus_the_scaled_gradient():
    loss, model = quadratic()
    after = GradientDescent(loss, 0.1).step(model, jnp.asarray(0))
    np.testing.assert_allclose(after.w, [0.0 + 0.1 * 2.0, 3.0 - 0.1 * 16.0], rtol=1e-6)
    np.testing.assert_array_equal(after.steps_are_not_for_integers, [0, 1, 2])


def test_descent_on_a_quadratic_has_its_closed_form(x64):
    loss, model = quadratic()
    trained, curves = train(GradientDescent(loss, 0.1), model, 20)
    steps = np.arange(21)[:, None]
    error = np.array([-2.0, 4.0]) * (1 - 0.1 * np.array([1.0, 4.0])) ** steps
    np.testing.assert_allclose(trained.w, loss.target + error[-1], rtol=1e-12)
    losses = 0.5 * np.sum(np.array([1.0, 4.0]) * error**2, axis=1)
    np.testing.assert_allclose(curves["loss"], losses, rtol=1e-12)


def test_observers_are_recorded_beside_the_loss():
    loss, model = quadratic()
    rule = GradientDescent(loss, 0.1, lambda model: {"first": model.w[0], "all": model.w})
    _, curves = train(rule, model, 4, every=2)
    assert set(curves) == {"step", "loss", "first", "all"}
    np.testing.assert_allclose(curves["first"], 2 - 2 * 0.9 ** np.array([0, 2, 4]), rtol=1e-6)
    assert curves["all"].shape == (3, 2)


def test_the_data_in_a_loss_are_inputs_of_one_compiled_program():
    traces = []

    class Counting(eqx.Module):
        inner: Quadratic

        def __call__(self, model):
            traces.append(1)
            return self.inner(model)

    loss, model = quadratic()
    first, _ = train(GradientDescent(Counting(loss), 0.1), model, 10)
    before = len(traces)
    other = Quadratic(loss.curvature, loss.target + 1)
    second, _ = train(GradientDescent(Counting(other), 0.05), model, 10)
    assert len(traces) == before > 0
    assert not np.allclose(first.w, second.w)


def test_the_learning_rate_does_not_change_the_precision_of_the_model(x64):
    loss, model = quadratic()
    single = jax.tree.map(
        lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, (loss, model)
    )
    trained, _ = train(GradientDescent(single[0], 0.1), single[1], 3)
    assert trained.w.dtype == jnp.float32


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
    weights, static = eqx.partition(mlp, eqx.is_inexact_array)
    errors = []
    for steps in (100, 200):
        rule = GradientDescent(lambda weights: loss(eqx.combine(weights, static)), 1 / steps)
        trained, _ = train(rule, weights, steps, every=steps)
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
