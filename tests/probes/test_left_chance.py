import numpy as np
import pytest

from recombine import probes


def test_a_run_leaves_chance_if_it_is_once_beyond_what_guesses_reach():
    """Of 400 guesses at 0.2 the standard deviation is 0.02."""
    assert not probes.left_chance([0.2, 0.279, 0.25], 0.2, 400)
    assert probes.left_chance([0.2, 0.281, 0.25], 0.2, 400)
    assert probes.left_chance([0.2, 0.25], 0.2, 400, deviations=2.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        probes.left_chance([0.5], 1.0, 400)


def test_guesses_do_not_leave_chance():
    random = np.random.default_rng(0)
    runs = random.binomial(500, 0.25, (200, 30)) / 500
    assert np.mean([probes.left_chance(run, 0.25, 500) for run in runs]) < 0.02
