from itertools import product

import numpy as np
import pytest
from designs import diagonal, l_shape, stair

from recombine.splits._difficulty import Difficulty, predicted_difficulty
from recombine.splits._encoded_split import EncodedSplit

EVERY = np.array(list(product(range(5), repeat=3)))


def difficulty_of(trained, **options):
    values = tuple(tuple(range(5)) for _ in range(3))
    return Difficulty(EncodedSplit(("a", "b", "c"), values, np.array(trained)), **options)


def new_items(trained):
    known = set(map(tuple, trained))
    return np.array([item for item in EVERY.tolist() if tuple(item) not in known])


@pytest.mark.parametrize("trained", [diagonal(), l_shape(), stair()], ids=["D", "L", "S"])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_open_effects_are_the_posterior_variance_of_a_gaussian_process(trained, noise):
    def kernel(first, second):
        return (first[:, None] == second[None]).mean(axis=2)

    X = np.array(trained)
    cross = kernel(EVERY, X)
    K = kernel(X, X) + noise * np.eye(len(X))
    expected = 1 - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
    found = difficulty_of(trained, noise=noise).open_effects(EVERY)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_diagonal_is_harder_than_l_and_l_is_harder_than_stair():
    means = [
        difficulty_of(trained).of(new_items(trained)).mean()
        for trained in (diagonal(), l_shape(), stair())
    ]
    assert means[0] > means[1] + 0.01 > means[2] + 0.02


def test_more_training_is_never_harder():
    rng = np.random.default_rng(0)
    order = rng.permutation(len(EVERY))
    asked = EVERY[order[60:]]
    before = np.ones(len(asked))
    for size in (5, 10, 20, 40, 60):
        now = difficulty_of(EVERY[order[:size]]).of(asked)
        assert np.all(now <= before + 1e-12)
        before = now


def test_trained_items_are_no_difficulty_and_new_values_a_large_one():
    trained = np.array(list(product(range(4), repeat=2)))
    found = predicted_difficulty(trained, np.array([[0, 0], [4, 0], [4, 4]]))
    assert found[0] == 0
    assert 0.4 < found[1] < found[2] <= 1
