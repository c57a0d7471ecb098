"""Addition, multiplication and double addition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import tasks

KEY = jax.random.key(0)


def numbers_of(hot, digits):
    """Numbers from one-hot digits, least significant first."""
    places = np.asarray(hot).reshape(*hot.shape[:-1], digits, 10).argmax(axis=-1)
    return (places * 10 ** np.arange(digits)).sum(axis=-1)


def test_sizes_are_those_of_the_thesis():
    assert (tasks.AddMultiply().inputs, tasks.DoubleAddition().inputs) == (42, 80)
    labels = tasks.AddMultiply().sample(3, key=KEY).labels
    assert labels.shape == (3, 1, 2), "20 outputs"
    assert tasks.DoubleAddition().sample(3, key=KEY).labels.shape == (3, 2, 2), "40 outputs"


def test_the_example_of_the_docstring():
    batch = tasks.AddMultiply().batch(jnp.array([[17, 85]] * 2), jnp.array([0, 1]))
    assert batch.labels.tolist() == [[[2, 0]], [[5, 4]]]
    assert np.flatnonzero(batch.x[1]).tolist() == [7, 10 + 1, 20 + 5, 30 + 8, 40 + 1]


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_results_are_those_of_python(digits):
    task = tasks.AddMultiply(digits)
    batch = task.sample(200, key=KEY)
    a, b = numbers_of(batch.x[:, :-2].reshape(200, 2, -1), digits).T
    kinds = np.asarray(batch.kinds)
    assert 0 < kinds.mean() < 1
    results = np.where(kinds == 1, a * b, a + b) % 10**digits
    labels = (np.asarray(batch.labels)[:, 0] * 10 ** np.arange(digits)).sum(axis=1)
    assert (labels == results).all()
    answers = np.asarray(task.answers(batch))
    assert (answers[np.arange(200), kinds] == batch.labels[:, 0]).all()
    assert (batch.x[:, -2:].argmax(axis=1) == kinds).all()


def test_operations_can_be_asked_for_alone():
    for share, kind in ((0.0, 0), (1.0, 1)):
        assert (tasks.AddMultiply(1, share).sample(50, key=KEY).kinds == kind).all()


def test_pairs_are_added_apart_from_each_other():
    batch = tasks.DoubleAddition().sample(100, key=KEY)
    numbers = numbers_of(batch.x.reshape(100, 2, 2, 20), 2)
    labels = (np.asarray(batch.labels) * np.array([1, 10])).sum(axis=2)
    assert (labels == numbers.sum(axis=2) % 100).all()


def test_a_pair_that_is_not_there_has_no_inputs_and_no_weight():
    both = tasks.DoubleAddition(1).sample(20, key=KEY)
    one = tasks.DoubleAddition(1, (1.0, 0.0)).sample(20, key=KEY)
    assert (one.x[:, :20] == both.x[:, :20]).all()
    assert not one.x[:, 20:].any()
    assert (one.weights == jnp.array([1.0, 0.0])).all()
    assert (one.labels == both.labels).all()
