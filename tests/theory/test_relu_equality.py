import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.theory import relu_equality
from recombine.theory._relu_equality import NeuronPartition


def respond(W, a, x):
    return np.maximum(x @ np.asarray(W, float).T, 0) @ np.atleast_2d(np.asarray(a, float)).T


def largest_difference(W, a, W_hat, a_hat, n=1000):
    x = np.random.default_rng(0).normal(size=(n, np.shape(W)[1]))
    return np.abs(respond(W, a, x) - respond(W_hat, a_hat, x)).max()


def with_linear_subset(rng, inputs=5):
    """A teacher whose first three neurons have weights that add up to zero, with readout 1."""
    W = rng.normal(size=(6, inputs))
    W[2] = -(W[0] + W[1])
    return W, np.ones(6)


def test_permuted_and_rescaled_neurons_are_the_same_function():
    rng = np.random.default_rng(1)
    W, a = rng.normal(size=(5, 4)), rng.normal(size=5)
    order, scale = rng.permutation(5), rng.uniform(0.1, 10, 5)
    found = relu_equality(W, a, scale[:, None] * W[order], a[order] / scale)
    assert found.equal
    assert found.residual < 1e-15
    (partition,) = found.outputs
    # Teacher neuron order[j] is student neuron j.
    assert [order[j] for j in partition.permutation] == list(range(5))
    assert partition.flipped == ()
    assert partition.S0 == partition.S1_prime == ()


def test_neurons_whose_weighted_rows_cancel_can_be_flipped():
    W, a = with_linear_subset(np.random.default_rng(2))
    flipped = W * np.array([-1, -1, -1, 1, 1, 1])[:, None]
    found = relu_equality(W, a, flipped, a)
    assert found.equal
    assert found.outputs[0].flipped == (0, 1, 2)
    assert found.outputs[0].permutation == (0, 1, 2, 3, 4, 5)
    assert largest_difference(W, a, flipped, a) < 1e-12


def test_neurons_whose_weighted_rows_do_not_cancel_can_not():
    W, a = with_linear_subset(np.random.default_rng(2))
    flipped = W * np.array([-1, -1, -1, -1, 1, 1])[:, None]
    found = relu_equality(W, a, flipped, a)
    assert not found.equal
    # Line by line nothing is wrong: it is the linear part that differs.
    assert found.outputs[0].permutation == (0, 1, 2, 3, 4, 5)
    assert largest_difference(W, a, flipped, a) > 0.1


def test_a_wider_student_may_split_a_neuron_and_add_what_cancels():
    rng = np.random.default_rng(3)
    W, a = rng.normal(size=(2, 3)), np.array([1.5, -0.5])
    extra = rng.normal(size=3)
    W_hat = np.array([2 * W[0], W[0], W[1], extra, 3 * extra, np.zeros(3), W[0]])
    a_hat = np.array([0.5, 0.5, -0.5, 1.2, -0.4, 7.0, 0.0])
    found = relu_equality(W, a, W_hat, a_hat)
    assert found.equal
    assert found.outputs[0] == NeuronPartition(
        equal=True,
        S1=((0, 1), (2,)),
        S2=((), ()),
        S1_prime=((3, 4),),
        S2_prime=((),),
        S0=(5, 6),
        residual=found.residual,
    )
    assert found.outputs[0].permutation is None
    assert largest_difference(W, a, W_hat, a_hat) < 1e-12


def test_opposite_student_neurons_are_counted_with_their_sign():
    # ψ(x) + ψ(y) = ½|x| + ½|y| + ½(x + y), each term by two opposite neurons.
    W, a = np.eye(2), np.ones(2)
    W_hat = np.array([[1, 0], [-1, 0], [0, 1], [1, 1], [-1, -1], [0, -1]])
    a_hat = np.array([0.5, 0.5, 0.5, 0.5, -0.5, 0.5])
    found = relu_equality(W, a, W_hat, a_hat)
    assert found.equal
    assert found.outputs[0].S1 == ((0,), (2,))
    assert found.outputs[0].S2 == ((1,), (5,))
    assert found.outputs[0].S1_prime == ((3,),)
    assert found.outputs[0].S2_prime == ((4,),)
    assert largest_difference(W, a, W_hat, a_hat) < 1e-12


def test_a_student_without_one_of_the_neurons_is_another_function():
    rng = np.random.default_rng(4)
    W, a = rng.normal(size=(4, 4)), rng.normal(size=4)
    found = relu_equality(W, a, W[:3], a[:3])
    assert not found.equal
    assert found.outputs[0].S1 == ((0,), (1,), (2,), ())


@pytest.mark.parametrize("perturbation", [1e-6, 1e-3])
def test_a_perturbed_student_is_another_function(perturbation):
    rng = np.random.default_rng(5)
    W, a = rng.normal(size=(4, 4)), rng.normal(size=4)
    moved = W.copy()
    moved[2] += perturbation * rng.normal(size=4)
    assert not relu_equality(W, a, moved, a).equal
    assert relu_equality(W, a, moved, a, tolerance=0.01).equal


def test_every_output_is_compared():
    rng = np.random.default_rng(6)
    W, a = rng.normal(size=(4, 3)), rng.normal(size=(3, 4))
    order = np.array([2, 0, 3, 1])
    found = relu_equality(W, a, W[order], a[:, order])
    assert found.equal
    assert len(found.outputs) == 3
    wrong = a[:, order].copy()
    wrong[1, 0] += 0.1
    found = relu_equality(W, a, W[order], wrong)
    assert [p.equal for p in found.outputs] == [True, False, True]
    assert not found.equal


def test_weights_in_single_precision_can_be_compared_with_a_wider_tolerance():
    rng = np.random.default_rng(7)
    W, a = rng.normal(size=(8, 5)), rng.normal(size=8)
    scale = rng.uniform(0.5, 2, 8)
    W_hat, a_hat = np.float32(scale[:, None] * W), np.float32(a / scale)
    assert relu_equality(np.float32(W), np.float32(a), W_hat, a_hat, tolerance=1e-5).equal


def test_networks_that_do_nothing_are_equal():
    assert relu_equality(np.zeros((2, 3)), np.ones(2), np.ones((1, 3)), np.zeros(1)).equal


SMALL = st.integers(-1, 1)


@settings(deadline=None, max_examples=300)
@given(data=st.data(), n=st.integers(1, 3), h=st.integers(1, 5), h_hat=st.integers(1, 5))
def test_the_exact_test_agrees_with_sampling(data, n, h, h_hat):
    """Entries of -1, 0 and 1 make collinear rows, idle neurons and chance equalities common."""

    def draw(*shape):
        size = int(np.prod(shape))
        return np.reshape(data.draw(st.lists(SMALL, min_size=size, max_size=size)), shape)

    W, a, W_hat, a_hat = draw(h, n), draw(h), draw(h_hat, n), draw(h_hat)
    if data.draw(st.booleans()):  # the same neurons, some of them flipped, in another order
        order = data.draw(st.permutations(range(h)))
        flip = np.array(data.draw(st.lists(st.booleans(), min_size=h, max_size=h)))
        W_hat, a_hat = (W * np.where(flip, -1, 1)[:, None])[list(order)], a[list(order)]
    same = largest_difference(W, a, W_hat, a_hat) < 1e-9
    found = relu_equality(W, a, W_hat, a_hat)
    assert found.equal == same
    sets = (*found.outputs[0].S1, *found.outputs[0].S2, *found.outputs[0].S1_prime,
            *found.outputs[0].S2_prime, found.outputs[0].S0)  # fmt: skip
    assert sorted(j for members in sets for j in members) == list(range(len(a_hat)))


@pytest.mark.parametrize(
    ("W_hat", "a_hat", "message"),
    [
        (np.ones((2, 4)), np.ones(2), "equally many inputs"),
        (np.ones((2, 3)), np.ones(3), "equally many outputs"),
        (np.ones((2, 3)), np.ones((2, 2)), "equally many outputs"),
    ],
)
def test_networks_that_cannot_be_compared_are_refused(W_hat, a_hat, message):
    with pytest.raises(ValueError, match=message):
        relu_equality(np.ones((3, 3)), np.ones(3), W_hat, a_hat)
