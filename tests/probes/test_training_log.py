"""Logs of training: made-up curves whose answers are known."""

import numpy as np
import pytest

from recombine import probes

STEPS = np.arange(0, 1000, 100)


def test_early_stopping_takes_the_best_network_when_patience_ends():
    losses = np.array([5, 4, 3, 3.5, 3.2, 3.1, 1, 1, 1, 1.0])
    assert probes.early_stop(STEPS, losses, 300) == 2
    assert probes.early_stop(STEPS, losses, 400) == 6
    assert probes.early_stop(STEPS, np.linspace(5, 1, 10), 300) == 9
    assert probes.early_stop(STEPS, np.ones(10), 300) == 0


def test_the_step_of_a_share_lies_between_two_looks():
    accuracies = np.array([0, 0, 0.2, 0.6, 1, 1, 1, 1, 1, 0.9])
    assert probes.steps_to_share(STEPS, accuracies) == pytest.approx(350)
    assert probes.steps_to_share(STEPS, 0.5 * accuracies) == pytest.approx(350)
    assert probes.steps_to_share(STEPS, np.ones(10)) == 0
    assert np.isnan(probes.steps_to_share(STEPS, np.zeros(10)))


def test_a_crash_is_a_fall_to_zero_that_lasts():
    learned = np.array([0, 0.5, 0.9, 1, 1, 1, 1, 1, 1, 1])
    crashed = np.array([0, 0.5, 0.9, 1, 0.3, 0, 0, 0, 0, 0])
    recovered = np.array([0, 0.5, 0.9, 0, 0, 0, 0.5, 0.8, 0.9, 1])
    assert probes.crash(learned) is None
    assert probes.crash(recovered) is None
    assert probes.crash(crashed) == 5
    assert probes.crash(np.zeros(10)) is None  # it never learned anything
    assert probes.crash(np.append(learned, 0.0)) is None  # one look may be a mishap


def test_a_loss_is_the_weighted_mean_of_good_and_bad():
    rng = np.random.default_rng(0)
    losses, right = rng.exponential(size=(6, 40)), rng.random((6, 40)) < 0.1
    symbols = rng.integers(1, 30, size=40)
    found = probes.good_and_bad(losses, right, symbols)
    mixed = found.share * found.good + (1 - found.share) * found.bad
    np.testing.assert_allclose(mixed, found.total, atol=1e-12)
    np.testing.assert_allclose(found.total, losses.sum(axis=1) / symbols.sum())
    np.testing.assert_array_equal(found.is_good, right.any(axis=0))
    one = found.is_good
    np.testing.assert_allclose(found.good, losses[:, one].sum(axis=1) / symbols[one].sum())
    nothing = probes.good_and_bad(losses, np.zeros_like(right), symbols)
    assert np.isnan(nothing.good).all()
    assert nothing.share == 0
    np.testing.assert_allclose(nothing.bad, nothing.total)


def test_a_second_descent_is_a_hump():
    losses = np.array([5, 2, 1, 2, 4, 3, 2, 1.5])
    assert probes.second_descent(losses) == (3.0, 2.5, 4)
    for curve in ([5, 4, 2, 1.0], [5, 1, 2, 3.0]):
        found = probes.second_descent(np.array(curve))
        assert min(found.rise, found.fall) == 0


def test_written_sequences_are_right_in_whole_or_up_to_the_shorter():
    outputs = np.array([[1, 2, 3, 0]] * 6)
    written = np.array([
        [1, 2, 3, 0, 0], [1, 2, 0, 0, 0], [1, 2, 3, 4, 0], [0, 0, 0, 0, 0], [1, 3, 3, 0, 0],
        [1, 2, 3, 1, 1],
    ])  # fmt: skip
    found = probes.written_right(written, outputs)
    np.testing.assert_array_equal(found.whole, [True, False, False, False, False, False])
    np.testing.assert_array_equal(found.prefix, [True, True, True, False, False, True])
