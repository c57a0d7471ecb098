import numpy as np
import pytest

from recombine import learning


def test_the_last_of_equal_maxima_is_the_best():
    steps = np.arange(0, 7000, 1000)
    accuracy = [0.1, 0.5, 0.9, 0.7, 0.9, 0.8, 0.2]
    assert learning.last_best(steps, accuracy) == 4


def test_a_limit_leaves_later_observations_out():
    steps = np.arange(0, 7000, 1000)
    accuracy = [0.1, 0.5, 0.9, 0.7, 0.9, 0.8, 1.0]
    assert learning.last_best(steps, accuracy, until=3000) == 2
    assert learning.last_best(steps, accuracy, until=4000) == 4
    with pytest.raises(ValueError, match="nothing was observed until step -1"):
        learning.last_best(steps, accuracy, until=-1)


def test_the_untrained_network_is_chosen_only_if_there_is_no_other():
    assert learning.last_best([0, 10, 20], [0.9, 0.3, 0.2]) == 1
    assert learning.last_best([0, 10, 20], [0.9, 0.3, 0.2], until=5) == 0


def test_a_run_leaves_chance_if_it_is_once_beyond_what_guesses_reach():
    """Of 400 guesses at 0.2 the standard deviation is 0.02."""
    assert not learning.left_chance([0.2, 0.279, 0.25], 0.2, 400)
    assert learning.left_chance([0.2, 0.281, 0.25], 0.2, 400)
    assert learning.left_chance([0.2, 0.25], 0.2, 400, deviations=2.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        learning.left_chance([0.5], 1.0, 400)


def test_guesses_do_not_leave_chance():
    random = np.random.default_rng(0)
    runs = random.binomial(500, 0.25, (200, 30)) / 500
    assert np.mean([learning.left_chance(run, 0.25, 500) for run in runs]) < 0.02
