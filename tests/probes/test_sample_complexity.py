import numpy as np
import pytest

from recombine import probes


def complexity(steps, accuracy, **options):
    return probes.sample_complexity(np.array(steps), np.array(accuracy), **options)


def test_tasks_are_counted_up_to_the_first_evaluation_at_the_level():
    steps, accuracy = [0, 1000, 2000, 3000], [0.1, 0.5, 0.9, 0.95]
    found = complexity(steps, accuracy, tasks_per_step=128)
    assert found == (2000 * 128, True)


def test_falling_back_below_the_level_does_not_matter():
    found = complexity([0, 10, 20], [0.2, 0.92, 0.7], tasks_per_step=4, level=0.8)
    assert found == (40, True)


@pytest.mark.parametrize("accuracy", [[0.1, 0.89], [np.nan, np.nan]])
def test_a_level_that_is_not_reached_is_flagged(accuracy):
    found = complexity([0, 10], accuracy, tasks_per_step=4)
    assert np.isnan(found.tasks)
    assert found.reached is False


def test_a_learner_that_starts_at_the_level_needs_no_tasks():
    assert complexity([0, 10], [0.9, 0.9], tasks_per_step=4) == (0, True)
