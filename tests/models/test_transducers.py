"""Networks that write at every step: shapes, padding, and what their specs say."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine._spec import known_specs
from recombine.models import specs

KEY = jax.random.key(0)
SIZES = specs.TransducerSizes(3, 2)
SPECS = {
    "dnc": specs.MemorySpec(cells=3, word=2, masks=True),
    "lstm": specs.LSTMTransducerSpec(units=4, layers=2),
    "encoder": specs.EncoderTransducerSpec(
        encoder=specs.NDRSpec(width=4, hidden=4, heads=2, layers=2)
    ),
}


def test_every_spec_has_a_row():
    assert set(SPECS) == set(known_specs(specs.AbstractTransducerSpec))


@pytest.mark.parametrize("name", SPECS)
def test_padding_changes_nothing_and_gradients_reach_every_weight(name):
    network = eqx.filter_jit(SPECS[name].build)(SIZES, KEY)
    x = jax.random.normal(KEY, (2, 6, 3))
    call = eqx.filter_jit(lambda network, x, lengths: network(x, lengths))
    logits = call(network, x, jnp.array([6, 4]))
    assert logits.shape == (2, 6, 2)
    other = call(network, x.at[1, 4:].set(9.0), jnp.array([6, 4]))
    np.testing.assert_allclose(other[0], logits[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other[1, :4], logits[1, :4], rtol=1e-5, atol=1e-6)

    @eqx.filter_jit
    @eqx.filter_grad
    def slope(network):
        return (network(x, jnp.array([6, 4]))[:, :4] ** 2).sum()

    for leaf in jax.tree.leaves(slope(network)):
        assert np.isfinite(leaf).all()
        assert np.asarray(leaf).any()


def test_words_are_embedded_and_no_input_is_a_word_too():
    network = SPECS["lstm"].build(SIZES, KEY)
    table = jax.random.normal(KEY, (4, 3))
    told = models.TokenTransducer(models.Embedding(table), network)
    tokens, lengths = jnp.array([[0, 3, 1]]), jnp.array([3])
    np.testing.assert_allclose(told(tokens, lengths), network(table[tokens], lengths), rtol=1e-6)


def test_variants_are_called_by_their_letters():
    assert specs.MemorySpec().title == "DNC"
    assert specs.MemorySpec(masks=True, sharpens=True).title == "DNC-MS"
    with pytest.raises(ValueError, match="cells=0 is less than 1"):
        specs.MemorySpec(cells=0)
    with pytest.raises(ValueError, match=r"mask_min=1\.0 is not below 1"):
        specs.MemorySpec(mask_min=1.0)


def test_every_network_that_reads_sequences_has_a_memory_card():
    cards = specs.memory_cards()
    named = set(specs.sequence_specs()) | set(known_specs(specs.AbstractTransducerSpec))
    assert set(cards) == named
    assert cards["lstm"].cells == "1"
    assert not cards["lstm"].extensible
    assert cards["dnc"].extensible
    assert cards["dnc"].read == "few"
    assert cards["ndr"].recurrence == "over shared layers"
    unshared = specs.TransformerSpec(shared_layers=False)
    assert specs.card_of(unshared).recurrence == "none"
