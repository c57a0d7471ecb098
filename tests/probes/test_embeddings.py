import numpy as np
import pytest

from recombine import probes


def test_pairwise_cosine_is_the_mean_over_pairs(x64):
    vectors = np.random.default_rng(0).normal(size=(7, 4)) + 1
    pairs = [
        a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        for i, a in enumerate(vectors)
        for j, b in enumerate(vectors)
        if i != j
    ]
    assert probes.pairwise_cosine(vectors) == pytest.approx(np.mean(pairs))


def test_pairwise_cosine_of_simple_sets(x64):
    assert probes.pairwise_cosine(np.eye(3)) == pytest.approx(0)
    assert probes.pairwise_cosine(np.outer([1.0, 2, 5], [3.0, 4])) == pytest.approx(1)
    assert probes.pairwise_cosine(np.array([[1.0, 0], [-2.0, 0]])) == pytest.approx(-1)
    assert np.isnan(probes.pairwise_cosine(np.ones((1, 3))))


def test_a_vector_of_zeros_has_cosine_0_with_all_others(x64):
    vectors = np.array([[1.0, 0], [1.0, 0], [0, 0]])
    assert probes.pairwise_cosine(vectors) == pytest.approx(1 / 3)
