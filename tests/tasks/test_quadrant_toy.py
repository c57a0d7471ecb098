"""The toy of two coordinates: where its points lie, and how often."""

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.tasks import QuadrantToy

KEY = jax.random.key(0)
TOYS = {"playground": QuadrantToy(), "paper": QuadrantToy.paper_coordinates()}
SIZE = 30_000
# Both kinds of coordinates share these programs.
trained = eqx.filter_jit(lambda toy, key=KEY: toy.sample(SIZE, key=key))
held_out = eqx.filter_jit(lambda toy, key=KEY: toy.sample_held_out(SIZE, key=key))
COORDINATES = pytest.mark.parametrize("toy", TOYS.values(), ids=TOYS)


@COORDINATES
def test_three_quadrants_are_trained_equally_often_and_the_fourth_never(toy):
    x = np.asarray(trained(toy).x) > 0
    counts = {(a, b): np.sum((x[:, 0] == a) & (x[:, 1] == b)) for a in (0, 1) for b in (0, 1)}
    assert counts.pop((1, 1)) == 0
    # Four standard deviations of a binomial count.
    np.testing.assert_allclose(list(counts.values()), 10_000, atol=4 * np.sqrt(30_000 * 2 / 9))


@COORDINATES
def test_tests_lie_in_the_held_out_quadrant_only(toy):
    batch = held_out(toy)
    assert (np.asarray(batch.x) > 0).all()
    assert (np.asarray(batch.labels) == 1).all()
    assert (np.asarray(batch.targets) == 1).all()


@COORDINATES
def test_sizes_fill_the_range_between_the_margin_and_the_edge(toy):
    for batch in (trained(toy), held_out(toy)):
        size = np.abs(batch.x)
        assert size.min() >= toy.margin
        assert size.max() <= toy.margin + toy.reach + 1e-6
        middle = toy.margin + toy.reach / 2
        np.testing.assert_allclose(size.mean(axis=0), middle, atol=0.015 * toy.reach)


@given(seed=st.integers(0, 2**31 - 1), informative=st.booleans())
@settings(max_examples=6, deadline=None)
def test_labels_are_the_signs_of_the_coordinates(seed, informative):
    toy = QuadrantToy.paper_coordinates(informative=informative)
    x, labels = trained(toy, jax.random.key(seed))
    np.testing.assert_array_equal(labels, np.asarray(x) > 0)


def test_without_information_the_second_coordinate_covers_its_range_whatever_the_target():
    toy = QuadrantToy(informative=False)
    batch = trained(toy)
    positive = np.asarray(batch.labels[:, 0]) == 1
    assert abs(positive.mean() - 1 / 3) < 0.012
    deciles = np.linspace(-5.3, 5.3, 11)
    for chosen in (positive, ~positive):
        counts, _ = np.histogram(np.asarray(batch.x[:, 1])[chosen], deciles)
        np.testing.assert_allclose(counts / chosen.sum(), 0.1, atol=0.014)
    assert np.abs(np.asarray(batch.x[:, 0])).min() >= 0.3


def test_second_coordinates_in_the_papers_coordinates_have_the_known_moments():
    """Cov(Y_1, X_1) = 2/9 and Cov(Y_1, X_2) = −1/9."""
    x, labels = map(np.asarray, trained(TOYS["paper"]))
    first = labels[:, :1] - 1 / 3
    # Three standard errors.
    np.testing.assert_allclose(np.mean(first * x, axis=0), [2 / 9, -1 / 9], atol=0.005)


@COORDINATES
def test_the_grid_covers_the_held_out_quadrant_evenly(toy):
    x = np.asarray(toy.held_out_grid(4).x)
    places = toy.margin + toy.reach * np.array([1, 3, 5, 7]) / 8
    for coordinate in x.T:
        np.testing.assert_allclose(np.unique(coordinate.round(5)), places, rtol=1e-4)
    assert len(np.unique(x.round(5), axis=0)) == 16
