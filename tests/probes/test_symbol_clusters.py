from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import probes


def slow_clusters(points):
    """Complete linkage by its definition: join the two clusters of the least diameter."""
    distance = np.linalg.norm(points[:, None] - points, axis=-1)
    clusters = [{i} for i in range(len(points))]

    def diameter(pair):
        return max(distance[i, j] for i in pair[0] for j in pair[1])

    while len(clusters) > 1:
        a, b = min(combinations(clusters, 2), key=diameter)
        if diameter((a, b)) > distance.max() / 2:
            break
        clusters = [c for c in clusters if c not in (a, b)] + [a | b]
    return {frozenset(c) for c in clusters}


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_those_of_complete_linkage(seed):
    vectors = np.random.default_rng(seed).normal(size=(1, 9, 3))
    cosines = np.asarray(probes.cosine_maps(vectors)[0], float)
    found = probes.symbol_clusters(cosines)
    sets = {frozenset(np.flatnonzero(found == c).tolist()) for c in np.unique(found)}
    assert sets == slow_clusters(cosines)


def test_clusters_are_numbered_as_they_first_occur():
    cosines = np.array([[1, 0, 0.9, 0], [0, 1, 0, 0.9], [0.9, 0, 1, 0], [0, 0.9, 0, 1.0]])
    np.testing.assert_array_equal(probes.symbol_clusters(cosines), [0, 1, 0, 1])


def test_rounding_makes_no_clusters():
    cosines = 1 - 1e-6 * np.random.default_rng(0).random((5, 5))
    assert (probes.symbol_clusters(cosines) == 0).all()
    assert probes.symbol_clusters(cosines, least=0.0).max() > 0
    assert probes.symbol_clusters(np.ones((1, 1))) == 0


def test_cosines_within_and_across_groups_leave_the_diagonal_out():
    maps = np.array([[[1, 0.5, 0.1], [0.5, 1, 0.3], [0.1, 0.3, 1.0]]])
    within, across = probes.group_cosines(maps, np.array([0, 0, 1]))
    np.testing.assert_allclose([within, across], [[0.5], [0.2]])
    assert np.isnan(probes.group_cosines(maps, np.array([0, 1, 2])).within).all()


def slow_index(a, b):
    """The adjusted Rand index from the four kinds of pairs."""
    kinds = np.zeros((2, 2))
    for i, j in combinations(range(len(a)), 2):
        kinds[int(a[i] == a[j]), int(b[i] == b[j])] += 1
    (neither, second), (first, both) = kinds
    below = (neither + first) * (first + both) + (neither + second) * (second + both)
    return 2 * (neither * both - first * second) / below if below else 1.0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=9))
def test_the_adjusted_rand_index_counts_pairs(rows):
    a, b = np.array(rows).T
    index = probes.adjusted_rand_index(a, b)
    assert index == pytest.approx(slow_index(a, b), abs=1e-9)
    assert index == pytest.approx(probes.adjusted_rand_index(b, a))
    assert probes.adjusted_rand_index(a, 5 - a) == pytest.approx(1)
