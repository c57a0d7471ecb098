import numpy as np
import pytest

from recombine import probes


def random_codes(tasks, layers=2, modules=3, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (tasks, layers, modules)).astype(float)


def embeddings(codes, features=20, seed=7):
    """Random linear functions of the codes, with an offset."""
    rng = np.random.default_rng(seed)
    flat = codes.reshape(len(codes), -1)
    return 30 * flat @ rng.normal(size=(flat.shape[1], features)) + rng.normal(size=features)


def test_linear_codes_are_decoded_perfectly():
    fitted, scored = random_codes(200), random_codes(100, seed=1)
    found = probes.linear_decodability(embeddings(fitted), fitted, embeddings(scored), scored)
    assert found.r2.shape == (2, 3)
    assert found.defined.all()
    assert found.r2.min() > 0.9999
    assert 0.9999 < found.pooled <= 1


def test_more_features_than_tasks_are_no_obstacle():
    fitted, scored = random_codes(50), random_codes(100, seed=1)
    found = probes.linear_decodability(
        embeddings(fitted, 300), fitted, embeddings(scored, 300), scored
    )
    assert found.r2.min() > 0.999


def test_noise_decodes_nothing():
    rng = np.random.default_rng(0)
    fitted, scored = random_codes(300), random_codes(300, seed=1)
    found = probes.linear_decodability(
        rng.normal(size=(300, 10)), fitted, rng.normal(size=(300, 10)), scored
    )
    assert found.pooled < 0.05
    assert found.r2.max() < 0.05


@pytest.mark.parametrize("tasks", [30, 4])
@pytest.mark.parametrize("penalty", [1.0, 0.3])
def test_the_fit_is_the_minimum_of_the_penalised_error(tasks, penalty):
    """Against the normal equations with a column of ones whose slope is free."""
    rng = np.random.default_rng(3)
    x, codes = rng.normal(size=(tasks, 5)), random_codes(tasks)
    y = codes.reshape(tasks, -1)
    ones = np.column_stack([x, np.ones(tasks)])
    free = penalty * np.diag([1.0] * 5 + [0.0])
    coefficients = np.linalg.solve(ones.T @ ones + free, ones.T @ y)
    new, scored = rng.normal(size=(9, 5)), random_codes(9, seed=2)
    residual = scored.reshape(9, -1) - np.column_stack([new, np.ones(9)]) @ coefficients
    found = probes.linear_decodability(x, codes, new, scored, penalty=penalty)
    variation = ((scored - scored.mean(0)) ** 2).sum(0)
    expected = 1 - (residual**2).sum(0).reshape(2, 3) / variation
    np.testing.assert_allclose(found.r2, expected, atol=1e-10)
    about_fitted = ((scored - codes.mean(0)) ** 2).sum()
    assert found.pooled == pytest.approx(1 - (residual**2).sum() / about_fitted)


def test_pooled_r2_of_a_hand_computed_case():
    """Without any signal the prediction is the mean of the fit set, (1/2, 0)."""
    features = np.zeros((2, 1))
    codes = np.array([[[0.0, 0.0]], [[1.0, 0.0]]])
    scored = np.array([[[1.0, 1.0]], [[0.0, 1.0]]])
    found = probes.linear_decodability(features, codes, features, scored)
    assert found.pooled == pytest.approx(0)
    assert found.r2[0, 0] == pytest.approx(0)


def test_pooled_r2_of_a_hand_computed_slope():
    """x = -1, 1 and y = 0, 1 with penalty 1: slope 1/3, intercept 1/2.

    The prediction at x = 1 is 5/6; for y = 1 the residual is 1/6 and the deviation from the mean of
    the fit set 1/2, so that R² = 1 - (1/36) / (1/4) = 8/9. One task has no variation of its own.
    """
    x, y = np.array([[-1.0], [1.0]]), np.array([[[0]], [[1]]])
    found = probes.linear_decodability(x, y, x[1:], y[1:])
    assert found.pooled == pytest.approx(8 / 9)
    assert np.isnan(found.r2[0, 0])
    assert not found.defined[0, 0]


def test_a_module_that_training_never_used_is_undefined_and_lowers_the_pooled_r2():
    fitted, scored = random_codes(200), random_codes(100, seed=1)
    fitted[:, 1, 2], scored[:, 1, 2] = 0, 1
    found = probes.linear_decodability(embeddings(fitted), fitted, embeddings(scored), scored)
    expected = np.ones((2, 3), bool)
    expected[1, 2] = False
    assert np.array_equal(found.defined, expected)
    assert np.array_equal(np.isnan(found.r2), ~expected)
    assert found.pooled < 0.8


def test_a_constant_that_is_not_representable_is_undefined_too():
    fitted, scored = random_codes(50), random_codes(30, seed=1)
    scored[:, 0, 0] = 0.1
    found = probes.linear_decodability(embeddings(fitted), fitted, embeddings(scored), scored)
    assert not found.defined[0, 0]
    assert found.defined.sum() == 5


def test_a_penalty_must_be_positive():
    codes = random_codes(5)
    with pytest.raises(ValueError, match="must be positive, not 0"):
        probes.linear_decodability(embeddings(codes), codes, embeddings(codes), codes, penalty=0.0)
