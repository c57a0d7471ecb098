"""Learning to translate: losses, schedules, and what is seen of every pair."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from recombine import learning, probes, tasks
from recombine.learning._translation import forced_scores, in_batches
from recombine.models import specs

KEY = jax.random.key(0)
PAIRS = tasks.trimmed(tasks.Scan(tasks.length_resplit(8)).lines("iid"), range(0, 40, 3))
SIZE = len(PAIRS.inputs)


def network(seed=0, scale=3.0):
    """A small network with confident opinions."""
    spec = specs.UniversalSpec(width=8, hidden=8, heads=2, layers=1)
    sizes = specs.TranslationSizes(13, 6)
    made = eqx.filter_jit(spec.build)(sizes, jax.random.key(seed))
    return eqx.tree_at(lambda m: m.decoder.embedding.weight, made, replace_fn=lambda w: scale * w)


MODEL = network()


STEPS = 9


@eqx.filter_jit
def greedy(model):
    return model.greedy(PAIRS.inputs, PAIRS.input_lengths, STEPS)


class TableDecoder(eqx.Module):
    """A decoder that looks its logits up, by the place and the symbol before, and adds a column."""

    table: jax.Array

    def __call__(self, outputs, memory, mask, *, key=None):
        before = jnp.pad(outputs[:, :-1], ((0, 0), (1, 0)))
        return self.table[jnp.arange(before.shape[1]), before] + memory[:, 2, None, :7]

    def start(self, memory, mask, steps):
        return memory

    def write(self, memory, t, symbols):
        return self.table[t, symbols] + memory[:, 2, :7], memory


def ending():
    """A network that ends outputs after one symbol, or two, or more, and what it writes."""
    for seed in range(50):
        table = 2 * jax.random.normal(jax.random.key(seed), (STEPS, 7, 7))
        model = eqx.tree_at(lambda m: m.decoder, MODEL, TableDecoder(table))
        written = np.asarray(greedy(model))
        lengths = (written > 0).sum(axis=1)
        ended = (lengths > 0) & (lengths < STEPS - 1)
        if ended[::4].any() and len(set(lengths)) > 2:
            return model, written
    raise AssertionError("no table lets the network end")


@eqx.filter_jit
def looked(model, pairs):
    """What is seen of a network, and what it really writes."""
    log = learning.TranslationLog({"iid": pairs, "": pairs}, free=("iid",), batch_size=5)
    told = model.greedy_to_length(pairs.inputs, pairs.input_lengths, pairs.output_lengths, STEPS)
    return log(model), model.free_running(*pairs), told, model(*pairs)


def test_what_is_seen_without_decoding_is_what_the_network_writes():
    model, written = ending()
    # Some outputs are what the network writes, some are shorter, some longer, some others.
    outputs, true = np.zeros_like(written), np.asarray(PAIRS.outputs)
    for i, row in enumerate(written):
        symbols = list(row[: (row > 0).sum()])
        case = (symbols, symbols[:-1], [*symbols, 1], list(true[i][true[i] > 0]))[i % 4]
        case = case[: STEPS - 1]
        outputs[i, : len(case)] = case
    lengths = jnp.asarray((outputs > 0).sum(axis=1) + 1)
    pairs = PAIRS._replace(outputs=jnp.asarray(outputs), output_lengths=lengths)
    seen, free, told, logits = looked(model, pairs)
    np.testing.assert_array_equal(free.symbols, written)
    right = probes.written_right(free.symbols, outputs)
    np.testing.assert_array_equal(seen["iid_right"], right.whole)
    # An empty output is right as a whole, and has no prefix.
    np.testing.assert_array_equal(seen["iid_prefix"], right.prefix | right.whole)
    np.testing.assert_array_equal(seen["iid_told"], probes.written_right(told, outputs).whole)
    assert 0 < right.whole.sum() < right.prefix.sum() < SIZE
    assert (np.asarray(seen["iid_told"]) >= right.whole).all()
    np.testing.assert_allclose(seen["iid_free_loss"], free.losses.sum(axis=1), rtol=1e-4)
    # A network that is right reads the true symbols.
    np.testing.assert_allclose(
        np.asarray(seen["iid_loss"])[right.whole], np.asarray(seen["iid_free_loss"])[right.whole],
        rtol=1e-3, atol=1e-4,
    )  # fmt: skip
    losses = np.asarray(optax.softmax_cross_entropy_with_integer_labels(logits, pairs.outputs))
    mask = np.arange(STEPS) < np.asarray(lengths)[:, None]
    np.testing.assert_allclose(seen["iid_loss"], np.where(mask, losses, 0).sum(axis=1), rtol=1e-4)
    np.testing.assert_allclose(seen["iid_token_loss"], losses[mask].mean(), rtol=1e-4)
    assert seen["loss"] == seen["iid_token_loss"]
    np.testing.assert_allclose(seen["iid_accuracy"], right.whole.mean(), rtol=1e-6)


def test_scores_of_hand_made_predictions():
    outputs = jnp.array([[1, 2, 0], [1, 2, 0], [1, 2, 0], [1, 0, 0], [1, 2, 0], [1, 2, 0]])
    lengths = jnp.array([3, 3, 3, 2, 3, 3])
    chosen = jnp.array([[1, 2, 0], [1, 0, 0], [2, 2, 0], [1, 3, 0], [0, 2, 0], [1, 3, 0]])
    # The second choice is the true symbol, where there is one.
    logits = 3.0 * jax.nn.one_hot(chosen, 4) + 2.0 * jax.nn.one_hot(outputs, 4)
    batch = tasks.SequenceBatch(outputs, lengths, outputs, lengths)
    seen = forced_scores(logits, batch)
    np.testing.assert_array_equal(seen["right"], [True, False, False, False, False, False])
    # Too short, wrong at once, too long, nothing written, wrong in the middle.
    np.testing.assert_array_equal(seen["prefix"], [True, True, False, True, False, False])
    np.testing.assert_array_equal(seen["told"], [True, True, False, True, True, False])


def test_the_loss_is_the_mean_over_all_symbols_of_a_batch():
    logits = eqx.filter_jit(lambda model: model(*PAIRS, key=KEY))(MODEL)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, PAIRS.outputs)
    mask = np.arange(PAIRS.outputs.shape[1]) < np.asarray(PAIRS.output_lengths)[:, None]
    expected = np.asarray(losses)[mask].mean()
    found = eqx.filter_jit(learning.token_loss)(MODEL, PAIRS, KEY)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_noams_rate_peaks_at_the_end_of_the_warmup():
    rate, t = learning.Noam(2.0, 512, 4000), jnp.arange(20_000)
    rates = np.asarray(rate(t))
    assert rates.argmax() == 3999
    np.testing.assert_allclose(rates[3999], 2.0 / (512 * 4000) ** 0.5, rtol=1e-5)
    np.testing.assert_allclose(rates[1999], rates[3999] / 2, rtol=1e-4)
    np.testing.assert_allclose(rates[15999], rates[3999] / 2, rtol=1e-4)
    with pytest.raises(ValueError, match="warmup_steps=0 is less than 1"):
        learning.Noam(1.0, 8, 0)


def test_a_cosine_rises_first_and_ends_at_zero():
    rate = learning.WarmupCosine(0.5, 10, 110)
    found = np.asarray(rate(jnp.array([0, 4, 9, 60, 110, 200])))
    np.testing.assert_allclose(found, [0.05, 0.25, 0.5, 0.25, 0, 0], atol=1e-6)
    with pytest.raises(ValueError, match="decay_steps=10 is not after warmup_steps=10"):
        learning.WarmupCosine(0.5, 10, 10)


def test_looking_in_batches_is_looking_at_once():
    look = lambda batch: {"sum": batch.inputs.sum(axis=1), "rows": batch.outputs}  # noqa: E731
    for size in (1, 4, SIZE, 100):
        found = in_batches(look, PAIRS, size)
        np.testing.assert_array_equal(found["sum"], PAIRS.inputs.sum(axis=1))
        np.testing.assert_array_equal(found["rows"], PAIRS.outputs)


def test_sets_that_cannot_be_looked_at_are_refused():
    with pytest.raises(ValueError, match="there is no set 'ood', only iid"):
        learning.TranslationLog({"iid": PAIRS}, free=("ood",))
    empty = jax.tree.map(lambda x: x[:0], PAIRS)
    with pytest.raises(ValueError, match="the set 'iid' is empty"):
        learning.TranslationLog({"iid": empty})
    with pytest.raises(ValueError, match="batch_size=0 is less than 1"):
        learning.TranslationLog({"iid": PAIRS}, batch_size=0)
