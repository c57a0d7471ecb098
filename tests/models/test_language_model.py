"""A language model sees the past only, and a memory is the past."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import specs

KEY = jax.random.key(0)
VOCABULARY, LENGTH = 7, 6
SMALL = {"width": 8, "hidden": 12, "heads": 2, "head_width": 3, "layers": 2, "dropout": 0.1}
TOKENS = jax.random.randint(KEY, (2, 3 * LENGTH), 0, VOCABULARY)
FEED_FORWARDS = {
    "dense": specs.DepthScaledFeedForwardSpec(),
    "top-k": specs.TopKSpec(largest=4),
    "mixture": specs.MixtureSpec(experts=4, size=3, chosen=2),
}


@functools.cache
def small(feed_forward="dense"):
    spec = specs.TransformerXLSpec(**SMALL, feed_forward=FEED_FORWARDS[feed_forward])
    return eqx.filter_jit(spec.build)(specs.LanguageSizes(VOCABULARY), KEY)


@eqx.filter_jit
def logits(model, tokens, memory=None, places=0, key=None, every=False):
    memory = model.memory(len(tokens), places) if memory is None else memory
    return model(tokens, memory, key=key, every=every)


@pytest.mark.parametrize("name", ["top-k", "mixture"])
def test_later_tokens_change_no_earlier_scores(name):
    model = small(name)
    changed = TOKENS.at[:, 9].set((TOKENS[:, 9] + 1) % VOCABULARY)
    one, other = logits(model, TOKENS).logits, logits(model, changed).logits
    np.testing.assert_allclose(one[:, :9], other[:, :9], atol=1e-5)
    assert not np.allclose(one[:, 9:], other[:, 9:], atol=1e-3)


def test_with_one_layer_segments_with_a_memory_are_the_whole_text():
    spec = specs.TransformerXLSpec(**SMALL | {"layers": 1})
    model = eqx.filter_jit(spec.build)(specs.LanguageSizes(VOCABULARY), KEY)
    whole = logits(model, TOKENS).logits
    memory, parts = model.memory(2, 2 * LENGTH), []
    for part in jnp.split(TOKENS, 3, axis=1):
        found = logits(model, part, memory)
        memory = found.memory
        parts.append(found.logits)
    np.testing.assert_allclose(jnp.concatenate(parts, axis=1), whole, atol=1e-4)
    assert memory.filled == 2 * LENGTH
    # Without it, later segments know less.
    alone = logits(model, TOKENS[:, LENGTH : 2 * LENGTH], places=2 * LENGTH).logits
    assert not np.allclose(alone, parts[1], atol=1e-3)


def test_an_empty_memory_is_none_however_many_places_it_has():
    model = small()
    none, many = (logits(model, TOKENS, places=places).logits for places in (0, 11))
    np.testing.assert_allclose(none, many, atol=1e-5)


def test_nothing_is_learned_through_the_memory():
    model = small()

    @eqx.filter_jit
    @eqx.filter_grad
    def slope(memory):
        return model(TOKENS[:, :LENGTH], memory).logits.sum()

    memory = logits(model, TOKENS[:, :LENGTH], places=LENGTH).memory
    assert not np.any(slope(memory).columns)


def test_extras_of_every_token_are_kept_if_asked():
    model = small("mixture")
    assert logits(model, TOKENS).extras["balance"].shape == (2,)
    every = logits(model, TOKENS, every=True).extras
    assert every["chosen"].shape == (2, 2, 3 * LENGTH, 2)


def test_dropout_is_for_training():
    model = small()
    dropped = logits(model, TOKENS, key=KEY).logits
    assert not np.allclose(dropped, logits(model, TOKENS).logits, atol=1e-3)


SIGMA = {"size": 128, "chosen": 4}
WT_S = {"width": 412, "heads": 10, "head_width": 41, "layers": 16}
WT_B = {"width": 1024, "heads": 16, "head_width": 64, "layers": 18}
E8 = {"width": 512, "heads": 8, "head_width": 64, "layers": 12}
PUBLISHED = [
    (8000, WT_S | {"hidden": 2053}, None, 47_260_136),
    (8000, WT_S | {"hidden": 16480}, None, 237_696_536),
    (8000, WT_B | {"hidden": 4110}, None, 262_479_968),
    (205, E8 | {"hidden": 2053}, None, 41_234_721),
    (8000, WT_S, specs.MixtureSpec(experts=16, **SIGMA), 47_260_248),
    (8000, WT_S, specs.MixtureSpec(experts=128, **SIGMA), 237_004_376),
    (8000, WT_B, specs.MixtureSpec(experts=32, **SIGMA), 262_461_284),
    (205, E8, specs.MixtureSpec(experts=16, **SIGMA), 41_240_805),
    (8000, WT_S, specs.ProductKeysSpec(keys=46), 35_315_544),
    (8000, WT_B, specs.ProductKeysSpec(keys=64), 191_092_580),
    (205, E8, specs.ProductKeysSpec(keys=46), 30_107_877),
    (8000, WT_S, specs.ProductKeysSpec(keys=62), 47_128_408),
    (8000, WT_B, specs.ProductKeysSpec(keys=89), 263_438_180),
    (205, E8, specs.ProductKeysSpec(keys=62), 41_117_925),
]


@pytest.mark.parametrize(("vocabulary", "sizes", "sparse", "count"), PUBLISHED)
def test_parameters_are_as_many_as_published(vocabulary, sizes, sparse, count):
    """The published relative attention also holds one number per layer that nothing reads."""
    options = {} if sparse is None else {"feed_forward": sparse}
    spec = specs.TransformerXLSpec(**sizes, **options)
    made = jax.eval_shape(lambda key: spec.build(specs.LanguageSizes(vocabulary), key), KEY)
    assert models.count_parameters(made) == count - sizes["layers"]
    d = sizes["width"]
    if sparse is None:
        block = models.dense_parameters(d, sizes["hidden"])
    elif isinstance(sparse, specs.MixtureSpec):
        block = models.mixture_parameters(d, sparse.experts, sparse.size)
    else:
        block = models.product_key_parameters(d, sparse.keys)
    whole = models.language_parameters(
        vocabulary, d, sizes["layers"], sizes["heads"], sizes["head_width"], block
    )
    assert whole == count - sizes["layers"]
