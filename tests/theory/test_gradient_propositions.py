"""Propositions on derivatives, information and gradient steps, and where they fail."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import splits, theory
from recombine.splits._information import entropy


def test_the_sign_tells_a_bit_and_has_no_slope():
    found = theory.proposition_1_counterexamples()["sign"]
    assert found.information == 1
    assert not found.slopes.any()
    assert not found.agree


def test_a_square_of_signs_has_slopes_and_tells_nothing():
    found = theory.proposition_1_counterexamples()["square of a sign"]
    assert found.information == 0
    assert list(found.slopes) == [-2, 2]
    assert not found.agree


@pytest.mark.parametrize(("f", "bits"), [(jnp.tanh, 3), (lambda x: 0 * x, 0), (jnp.square, 2)])
def test_on_a_connected_support_smooth_functions_agree(f, bits):
    found = theory.derivative_and_information(f, (jnp.arange(8) - 3.5) / 4)
    assert found.information == pytest.approx(bits)
    assert found.agree


def test_predictions_tell_no_more_of_the_target_than_of_the_input():
    rng = np.random.default_rng(0)
    data = rng.dirichlet(np.ones(12)).reshape(3, 4)
    predictions = rng.dirichlet(np.ones(5) / 3, size=(20, 4))
    found = theory.information_along_training(data, predictions)
    assert found.bounded(1e-12)
    chain = data[:, :, None] * predictions[0]
    assert found.of_target[0] == pytest.approx(splits.mutual_information(chain, 0, 2))
    assert found.of_input[0] == pytest.approx(splits.mutual_information(chain, 1, 2))
    assert not found._replace(of_input=found.of_target - 1e-3).bounded()


def test_information_begins_with_the_first_step_that_lowers_the_loss():
    # Four numbered inputs with targets 0, 0, 1, 1; answers: constant, constant, half right, right.
    data = np.eye(2)[[0, 0, 1, 1]].T
    answers = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    found = theory.information_along_training(data, np.eye(2)[answers])
    some = entropy([1, 3]) - 0.5
    assert found.of_target == pytest.approx([0, 0, some, 1])
    assert found.of_input == pytest.approx([0, 0, entropy([1, 3]), 1])
    assert found.after_first_gain([1, 1.1, 0.7, 0.2]) == pytest.approx(some)
    assert np.isnan(found.after_first_gain([1, 1, 1, 1]))


@pytest.mark.parametrize("fitted", [False, True])
def test_cross_weights_of_a_linear_model_start_with_the_correlation(x64, fitted):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=(500, 2)) * 1.0
    y[:, 1] = np.where(y[:, 0] == 1, 0, y[:, 1])
    x = y - rng.random((500, 2))
    step = jax.jit(theory.linear_first_step, static_argnames="bias_is_fitted")
    found = step(jnp.asarray(x), jnp.asarray(y), learning_rate=0.3, bias_is_fitted=fitted)
    centre = y.mean(axis=0) if fitted else 0
    slow = sum(np.outer(b - centre, a) for a, b in zip(x, y, strict=True)) / 500
    assert np.allclose(found.step, 0.3 * slow, atol=1e-12)
    assert np.allclose(found.predicted, found.step, atol=1e-12)


def test_a_centred_input_gets_a_cross_weight_only_if_it_correlates():
    # All four combinations equally often, then three of them, then all four with targets 0 and 1.
    four = jnp.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    three = four[:3] - four[:3].mean(axis=0)
    step = jax.jit(theory.linear_first_step)
    assert step(four, four).step[0, 1] == 0
    assert abs(step(three, four[:3]).step[0, 1]) > 0.1
    assert step(four, (four + 1) / 2).step[0, 1] == 0
