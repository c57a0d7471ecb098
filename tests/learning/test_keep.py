"""Which network is kept, against a plain choice among all measurements."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.learning._keep import Best, Last


def kept(keep, values, steps):
    """What is kept when networks that are their own step are measured."""
    state = keep.initial(jnp.asarray(0.0))
    for value, step in zip(values, steps, strict=True):
        model, t = jnp.asarray(float(step)), jnp.asarray(step)
        state = keep.update(state, model, {"value": jnp.asarray(value)}, t)
    found = keep.choice(state, jnp.asarray(float(steps[-1])))
    assert found.model == found.step
    return int(found.step)


def slow_best(values, steps, sign):
    """The last of the best trained networks, or the untrained one."""
    trained = [
        (sign * v, s) for v, s in zip(values, steps, strict=True) if s > 0 and not np.isnan(v)
    ]
    return max(trained, default=(0, 0))[1]


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, np.nan]), min_size=1, max_size=8),
    st.booleans(),
)
def test_the_last_of_the_best_trained_networks_is_kept(values, highest):
    steps = 10 * np.arange(len(values))
    sign = 1 if highest else -1
    assert kept(Best("value", highest), values, steps) == slow_best(values, steps, sign)


@pytest.mark.parametrize(
    ("values", "highest", "step"),
    [
        ([0.1, 0.5, 0.9, 0.7, 0.9, 0.8], True, 40),
        ([0.1, 0.5, 0.2, 0.7, 0.2, 0.8], False, 40),
        ([0.9, 0.3, 0.2], True, 10),
        ([0.9], True, 0),
        ([0.1, np.nan, 0.2, np.nan], True, 20),
        ([0.1, np.nan, np.nan], False, 0),
    ],
    ids=["highest", "lowest", "untrained", "no other", "not a number", "nothing else"],
)
def test_ties_untrained_networks_and_measurements_that_failed(values, highest, step):
    assert kept(Best("value", highest), values, 10 * np.arange(len(values))) == step


def test_the_last_network_is_kept_by_default():
    assert kept(Last(), [0.9, 0.1, 0.2], [0, 5, 10]) == 10


def test_a_measurement_that_is_not_made_is_named():
    with pytest.raises(ValueError, match="nothing that is measured is called 'accuracy': loss"):
        Best("accuracy").update(
            Best("accuracy").initial(jnp.zeros(2)), jnp.zeros(2), {"loss": jnp.zeros(())},
            jnp.asarray(1),
        )  # fmt: skip


def test_all_of_a_network_is_kept():
    keep, network = Best("value"), {"w": jnp.arange(3.0), "n": jnp.asarray(2)}
    later = jax.tree.map(lambda a: a + 1, network)
    state = keep.update(keep.initial(network), later, {"value": jnp.asarray(1.0)}, jnp.asarray(7))
    assert all(map(np.array_equal, *map(jax.tree.leaves, (state.model, later))))
