"""Streams are contiguous, memories are carried, and losses are what they are called."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models
from recombine.models import specs

KEY = jax.random.key(0)
TEXT = np.arange(103) % 7


@functools.cache
def small(**options):
    spec = specs.TransformerXLSpec(
        width=8, hidden=12, heads=2, head_width=None, layers=1, dropout=0.0, **options
    )
    return eqx.filter_jit(spec.build)(specs.LanguageSizes(7), KEY)


def test_segments_of_a_stream_follow_each_other_and_begin_again():
    segments = learning.Segments(TEXT, streams=3, length=8)
    assert segments.count == 4
    own = [segments(jnp.array(t)) for t in range(5)]
    joined = np.concatenate([s.tokens for s in own[:4]], axis=1)
    np.testing.assert_array_equal(joined, TEXT[:102].reshape(3, 34)[:, :32])
    targets = np.concatenate([s.targets for s in own[:4]], axis=1)
    np.testing.assert_array_equal(targets, TEXT[:102].reshape(3, 34)[:, 1:33])
    np.testing.assert_array_equal(own[4].tokens, own[0].tokens)
    assert [bool(s.first) for s in own] == [True, False, False, False, True]


def test_a_stream_shorter_than_a_segment_gets_one_clear_line():
    with pytest.raises(ValueError, match="a stream of 25 tokens is shorter than a segment of 25"):
        learning.Segments(TEXT, streams=4, length=25)
    with pytest.raises(ValueError, match="streams=0 and length=3 must be at least 1"):
        learning.Segments(TEXT, streams=0, length=3)


def test_a_vocabulary_that_does_not_match_gets_one_clear_line():
    learning.check_vocabulary(Uniform(7), TEXT)
    with pytest.raises(ValueError, match="has token 6, and the network a vocabulary of 5"):
        learning.check_vocabulary(Uniform(5), TEXT)


class Uniform(eqx.Module):
    """All tokens are equally likely."""

    vocabulary: int

    def memory(self, streams, places):
        return models.SegmentMemory(jnp.zeros((1, streams, places, 1)), jnp.array(0))

    def __call__(self, tokens, memory, *, key=None, every=False):
        return models.Prediction(jnp.zeros((*tokens.shape, self.vocabulary)), memory, {})


def test_a_uniform_model_has_as_many_bits_as_its_vocabulary():
    nats = learning.text_loss(Uniform(205), learning.Segments(TEXT, 2, 5), 4)
    assert learning.bits_per_token(nats) == pytest.approx(np.log2(205), rel=1e-5)
    assert learning.perplexity(nats) == pytest.approx(205, rel=1e-4)


def test_the_memory_is_carried_and_is_empty_where_a_text_begins():
    model, segments = small(), learning.Segments(TEXT, 3, 8)
    loss = learning.LanguageLoss(streams=3, places=8)
    step = eqx.filter_jit(lambda batch, carry: loss(model, batch, KEY, carry))
    values, carry = [], loss.initial(model)
    for t in range(5):
        value, recorded, carry = step(segments(jnp.array(t)), carry)
        values.append(value)
        assert recorded["nats"] == value
    np.testing.assert_allclose(values[4], values[0], rtol=1e-5)
    alone = step(segments(jnp.array(1)), loss.initial(model))[0]
    assert abs(alone - values[1]) > 1e-4


def test_unbalanced_experts_have_their_price():
    model = small(feed_forward=specs.MixtureSpec(experts=4, size=3, chosen=1))
    batch = learning.Segments(TEXT, 3, 8)(jnp.array(0))
    loss = learning.LanguageLoss(3, 8, balance=0.5)
    value, recorded, _ = eqx.filter_jit(loss)(model, batch, KEY, loss.initial(model))
    price = 0.5 * float(recorded["balance"])
    assert float(value) == pytest.approx(float(recorded["nats"]) + price, rel=1e-5)
    assert -np.log(4) <= recorded["balance"] < 0


def test_a_text_that_repeats_itself_is_learned():
    segments = learning.Segments(TEXT, 3, 8)
    rule = learning.Descent(
        learning.LanguageLoss(3, 8), segments, learning.adam(0.02), key=KEY,
        measure=learning.TextLoss({"valid": segments}, 16), every=20,
    )  # fmt: skip
    _, curves = learning.train(rule, rule.init(small()), 60)
    assert curves["valid_nats"][0] > 1.5
    assert curves["valid_nats"][-1] < 0.2
    assert set(curves) == {"step", "loss", "valid_nats", "nats", "balance"}
