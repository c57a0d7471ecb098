"""LSTMs that read one sequence and write another one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models

KEY = jax.random.key(0)
SENTENCES = (
    jnp.array([[1, 2, 0, 0], [3, 0, 0, 0]]), jnp.array([3, 2]),
    jnp.array([[2, 1, 0], [1, 0, 0]]), jnp.array([3, 2]),
)  # fmt: skip


@pytest.fixture(scope="module")
def network():
    return models.RecurrentEncoderDecoder(4, 3, embedding=3, units=5, key=KEY)


def test_padding_changes_nothing(network):
    inputs, *rest = SENTENCES
    assert np.allclose(network(*SENTENCES), network(inputs[:, :3], *rest), atol=1e-6)


def test_what_is_written_greedily_is_most_probable_after_itself(network):
    inputs, lengths, *_ = SENTENCES
    chosen = network.greedy(inputs, lengths, 6)
    logits = network(inputs, lengths, chosen, jnp.full(2, 6))
    # Up to the end, which is the first 0.
    due = jnp.cumsum(chosen == 0, axis=1) <= 1
    assert ((logits.argmax(axis=2) == chosen) | ~due).all()


@pytest.mark.parametrize("key", [None, KEY])
def test_a_network_that_reads_its_own_choices_gives_the_logits_after_them(network, key):
    inputs, lengths, _, output_lengths = SENTENCES
    own = network.self_fed(*SENTENCES, key=key)
    again = network(inputs, lengths, own.argmax(axis=2), output_lengths, key=key)
    assert np.allclose(own, again, atol=1e-5)


def test_free_running_writes_as_greedily_and_has_losses_up_to_the_length(network):
    inputs, lengths, outputs, output_lengths = SENTENCES
    written = network.free_running(*SENTENCES)
    assert (written.symbols == network.greedy(inputs, lengths, 3)).all()
    losses = -jax.nn.log_softmax(network.self_fed(*SENTENCES))
    true = jnp.take_along_axis(losses, outputs[..., None], axis=2)[..., 0]
    due = jnp.arange(3) < output_lengths[:, None]
    assert np.allclose(written.losses, jnp.where(due, true, 0), atol=1e-5)
