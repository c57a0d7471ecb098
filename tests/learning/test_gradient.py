import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from recombine.learning import GradientDescent, train


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


def test_measurements_are_recorded_beside_the_loss():
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


def test_a_network_may_have_functions_among_its_leaves(x64):
    mlp = eqx.nn.MLP(2, 1, 4, 1, activation=jnp.tanh, key=jax.random.key(0))

    def loss(model):
        return jnp.mean(jax.vmap(model)(jnp.eye(2)) ** 2)

    trained, curves = train(GradientDescent(loss, 0.1), mlp, 10, every=10)
    assert trained.activation is mlp.activation
    assert curves["loss"][-1] < curves["loss"][0]
