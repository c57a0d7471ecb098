"""Modules of a network in one call, and the mistakes that it names."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from recombine import learning, models, tasks
from recombine._errors import UserError

KEY = jax.random.key(0)
X = jax.random.normal(KEY, (64, 4))
EXAMPLES = tasks.Examples(X, X[:, :1], jnp.ones(64))
NETWORK = eqx.tree_at(
    lambda n: n.layers[0].weight, models.MLP((4, 1), key=KEY), jnp.array([[1.0], [0], [0], [0]])
)
"""It hands on its first input."""


def explained(network):
    return 1 - jnp.square(network(X) - EXAMPLES.y).mean() / jnp.square(EXAMPLES.y).mean()


def find(network=NETWORK, accuracy=explained, **options):
    settings = {"beta": 0.01, "batch_size": 16, "steps": 40, "rate": 0.1} | options
    return learning.find_masks(
        network, learning.half_squared_loss, {"copy": learning.Drawn(EXAMPLES, 16)},
        {"copy": accuracy}, key=KEY, **settings,
    )  # fmt: skip


def test_a_module_is_found_and_the_network_stays_as_it_is():
    found = find()
    assert found.masks["copy"].layers["layers[0].weight"][:, 0].tolist() == [True] + 3 * [False]
    assert found.unmasked == found.under_own == {"copy": 1.0}
    assert eqx.tree_equal(found.masked.network, NETWORK)


def test_a_function_that_the_network_cannot_do_is_named():
    wrong = eqx.tree_at(lambda n: n.layers[0].weight, NETWORK, jnp.zeros((4, 1)))
    with pytest.raises(UserError, match=r"right on 0% of 'copy'.*train it for longer"):
        find(wrong)


def test_a_price_that_removes_everything_is_named():
    with pytest.raises(UserError, match=r"beta=1000 removes too much.*0 of 4 weights.*lower beta"):
        find(beta=1000.0)


def test_too_few_steps_are_refused():
    with pytest.raises(UserError, match=r"20 steps remove no weight"):
        find(steps=20)


def test_a_filter_that_matches_nothing_is_refused():
    with pytest.raises(UserError, match="matches no weights"):
        find(filter=lambda leaf: False)
