from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.theory import irreducibility_conditions, irreducible, minimal_network, relu_equality
from recombine.theory._irreducibility import canonical_form, fuse_neurons, irreducible_smooth


def relu(u):
    return np.maximum(u, 0)


def test_the_identities_behind_the_conditions_hold_with_their_right_signs():
    rng = np.random.default_rng(0)
    x, w, W, a = rng.normal(size=(200, 3)), *(rng.normal(size=s) for s in (3, (4, 3), 4))
    u, alpha = x @ w, 1.7
    assert np.abs(relu(u) - u - relu(-u)).max() < 1e-12
    opposite = a[0] * relu(u) + a[1] * relu(-alpha * u)
    fused = (a[0] + alpha * a[1]) * relu(u) - alpha * a[1] * u
    assert np.abs(opposite - fused).max() < 1e-12
    absorbed = relu(x @ W.T) @ a - x @ (a @ W)
    assert np.abs(absorbed - relu(-x @ W.T) @ a).max() < 1e-12


def test_the_canonical_form_is_the_function():
    rng = np.random.default_rng(1)
    W, a = rng.normal(size=(5, 3)), rng.normal(size=5)
    W[3], W[4] = -2 * W[0], 0.5 * W[1]
    u, beta, v = canonical_form(W, a)
    assert u.shape == (3, 3)
    x = rng.normal(size=(100, 3))
    assert np.abs(np.abs(x @ u.T) @ beta + x @ v - relu(x @ W.T) @ a).max() < 1e-12


def test_a_teacher_without_collinear_rows_and_zero_readouts_is_irreducible():
    rng = np.random.default_rng(2)
    W, a = rng.normal(size=(7, 4)), rng.normal(size=7)
    assert irreducible(W, a)
    assert irreducibility_conditions(W, a)


@pytest.mark.parametrize(
    ("W", "a", "width"),
    [
        ([[1, 0], [0, 1]], [1, 0], 1),  # an idle neuron
        ([[1, 0], [2, 0]], [1, 1], 1),  # positively collinear
        ([[1, 0], [2, 0]], [2, -1], 0),  # which cancel
        ([[1, 0], [-1, 0]], [1, 2], 2),  # an opposite pair alone
        ([[1, 0], [-1, 0]], [1, -1], 2),  # a linear function
        ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, -1, 1, -1], 2),  # two make one
        # ψ(x) + 2ψ(-x) = 3ψ(x) - 2x, and -2x is absorbed by 2ψ(x + y) + 2ψ(-y), I = both.
        ([[1, 0], [-1, 0], [1, 1], [0, -1]], [1, 2, 2, 2], 3),
    ],
)
def test_small_networks_have_the_width_counted_by_hand(W, a, width):
    smallest = minimal_network(W, a)
    assert len(smallest.a) == width
    assert relu_equality(W, a, *smallest).equal
    assert irreducible(W, a) == (width == len(a))
    assert irreducibility_conditions(W, a) == (width == len(a))


def test_a_pair_that_makes_a_linear_function_may_be_half_absorbed():
    # ψ(x) + ψ(y) - x - 2y = ψ(-x) + 2ψ(-y) - ψ(y): three neurons, though no subset absorbs (1, 2).
    W, a = [[1, 0], [0, 1], [1, 2], [-1, -2]], [1, 1, -1, 1]
    assert irreducibility_conditions(W, a)
    assert relu_equality(W, a, [[-1, 0], [0, -1], [0, 1]], [1, 2, -1]).equal
    assert len(minimal_network(W, a).a) == 3
    assert not irreducible(W, a)


def test_two_opposite_pairs_can_be_irreducible():
    # ψ(x) + 2ψ(-x) + ψ(y) + 2ψ(-y): with one neuron on a line the linear part is ±3/2 there, not ½.
    W, a = [[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 2, 1, 2]
    assert not irreducibility_conditions(W, a)
    assert irreducible(W, a)


def smallest_width_by_fitting(W, a):
    """The least number of neurons on the function's own lines that fit it at many points."""
    x = np.random.default_rng(0).normal(size=(200, W.shape[1]))
    y = relu(x @ W.T) @ a
    u = canonical_form(W, a).u
    features = relu(x @ np.vstack([u, -u]).T)
    for width in range(len(u), len(u) + 2):
        for chosen in combinations(range(2 * len(u)), width):
            fit = np.linalg.lstsq(features[:, chosen], y, rcond=None)[0]
            if np.abs(features[:, chosen] @ fit - y).max() < 1e-9:
                return width
    return len(u) + 2


@settings(deadline=None, max_examples=150)
@given(data=st.data(), n=st.integers(1, 3), h=st.integers(1, 6))
def test_the_minimal_network_is_the_same_function_and_no_narrower_one_fits(data, n, h):
    entries = st.lists(st.integers(-2, 2), min_size=h * (n + 1), max_size=h * (n + 1))
    drawn = np.array(data.draw(entries), float)
    W, a = drawn[: h * n].reshape(h, n), drawn[h * n :]
    smallest = minimal_network(W, a)
    assert len(smallest.a) == smallest_width_by_fitting(W, a)
    assert len(smallest.a) <= h
    x = np.random.default_rng(1).normal(size=(200, n))
    assert np.abs(relu(x @ W.T) @ a - relu(x @ smallest.W.T) @ smallest.a).max() < 1e-9


def test_a_split_and_padded_network_is_reduced_to_its_first_width():
    rng = np.random.default_rng(3)
    W, a = rng.normal(size=(4, 5)), rng.normal(size=(2, 4))
    extra = rng.normal(size=5)
    wide = np.vstack([W, 3 * W[:2], extra, 2 * extra, np.zeros(5)])
    readout = np.hstack([a, a[:, :2], np.array([[1.0], [2.0]]), [[-0.5], [-1.0]], np.ones((2, 1))])
    fused = fuse_neurons(wide, readout)
    assert fused.W.shape == (4, 5)
    assert fused.a.shape == (2, 4)
    assert relu_equality(wide, readout, *fused).equal
    first = fuse_neurons(wide, readout[0])
    assert first.a.shape == (4,)
    assert len(minimal_network(wide, readout[0]).a) == 4


def test_fusing_keeps_opposite_neurons_and_any_function():
    W = np.array([[1.0, 0.0], [-2.0, 0.0], [3.0, 0.0]])
    fused = fuse_neurons(W, [1.0, 1.0, 1.0])
    np.testing.assert_allclose(fused.W, [[1, 0], [-2, 0]])
    np.testing.assert_allclose(fused.a, [4, 1])
    assert fuse_neurons(W, np.zeros(3)).W.shape == (0, 2)


def test_the_search_over_signs_has_a_limit():
    rng = np.random.default_rng(4)
    assert irreducible(rng.normal(size=(16, 3)), np.ones(16))
    with pytest.raises(ValueError, match="stops at 16"):
        irreducible(rng.normal(size=(17, 3)), np.ones(17))
    with pytest.raises(ValueError, match="one output at a time"):
        irreducible(rng.normal(size=(3, 3)), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("W", "a", "wanted"),
    [
        ([[1, 0], [2, 0], [-1, 0]], [1, 1, 1], True),  # collinear rows are different functions
        ([[1, 0], [1, 0]], [1, 2], False),
        ([[1, 0], [0, 0]], [1, 2], False),
        ([[1, 0], [0, 1]], [1, 0], False),
    ],
)
def test_smooth_networks_are_irreducible_unless_idle_or_doubled(W, a, wanted):
    assert irreducible_smooth(W, a) == wanted
