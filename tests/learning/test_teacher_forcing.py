"""Teacher forcing: the loss by hand, the step by optax, and two ways to decode that agree."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, probes, tasks

KEY = jax.random.key(0)


class Few(tasks.AbstractTask):
    """The same sentences again and again."""

    sentences: tasks.SequenceBatch

    def sample(self, size, *, key):
        rows = jax.random.randint(key, (size,), 0, len(self.sentences.inputs))
        return jax.tree.map(lambda column: column[rows], self.sentences)


def short(count):
    """Some short commands, and rows no longer than they need."""
    commands = tasks.scan_commands()
    chosen = [c for c in commands if len(commands[c].split()) <= 4][:: 1352 // count][:count]
    inputs, outputs = (
        vocabulary.encode(sentences)
        for vocabulary, sentences in (
            (tasks.SCAN_WORDS, chosen),
            (tasks.SCAN_ACTIONS, [commands[c] for c in chosen]),
        )
    )
    return tasks.SequenceBatch(*map(jnp.asarray, inputs + outputs))


SENTENCES = short(16)
NETWORK = eqx.filter_jit(models.Seq2Seq)(14, 7, embedding=8, units=32, key=KEY)
LEARNS, STAYS = eqx.partition(NETWORK, eqx.is_inexact_array)
RULE = learning.TeacherForcing(Few(SENTENCES), STAYS, SENTENCES, KEY, 0.02, batch=32)
START = eqx.filter_jit(RULE.init)(LEARNS)


@eqx.filter_jit
def step(rule, state, t):
    return rule.step(state, t)


@eqx.filter_jit
def matches(model, batch):
    """Which sentences are right under teacher forcing, and which greedily."""
    forced = model(*batch).argmax(axis=2)
    greedy = model.greedy(batch.inputs, batch.input_lengths, batch.outputs.shape[1])
    return [
        probes.sentence_matches(p, batch.outputs, batch.output_lengths) for p in (forced, greedy)
    ]


def test_the_loss_is_summed_over_symbols_and_averaged_over_sentences():
    logits = jnp.log(jnp.array([[[0.5, 0.5], [0.25, 0.75]], [[0.9, 0.1], [0.1, 0.9]]]))
    outputs, lengths = jnp.array([[1, 0], [0, 0]]), jnp.array([2, 1])
    loss = learning.sequence_cross_entropy(logits, outputs, lengths)
    np.testing.assert_allclose(loss, -(np.log(0.5) + np.log(0.25) + np.log(0.9)) / 2, rtol=1e-6)


def test_the_rate_falls_in_stairs():
    rates = learning.staircase(0.01, 0.96, 100, jnp.array([0, 99, 100, 199, 200, 1999]))
    np.testing.assert_allclose(rates, 0.01 * 0.96 ** np.array([0, 0, 1, 1, 2, 19]), rtol=1e-6)


def test_a_step_is_clipped_adam_at_the_rate_of_its_time():
    after = step(RULE, START, jnp.asarray(250))
    _, (moments, *_) = after.memory
    # The gradient is longer than 1; Adam takes a tenth of it, cut, into its mean.
    trees = (LEARNS, after.learns, moments.mu, moments.nu)
    leaves = [[np.asarray(leaf) for leaf in jax.tree.leaves(tree)] for tree in trees]
    norm = np.sqrt(sum(np.square(mean).sum() for mean in leaves[2]))
    np.testing.assert_allclose(norm, 0.1, rtol=1e-4)
    for before, new, mean, square in zip(*leaves, strict=True):
        np.testing.assert_allclose(square, 0.001 * (10 * mean) ** 2, rtol=1e-4, atol=1e-12)
        # The first step of Adam is the rate times the sign, but for its epsilon.
        cut = 10 * mean
        moved = -0.02 * 0.96**2 * cut / (np.abs(cut) + 1e-8)
        np.testing.assert_allclose(new - before, moved, atol=1e-5)


def test_both_ways_to_decode_agree_at_every_checkpoint_and_are_right_on_a_memorised_batch():
    state, shares = START, []
    for t in range(101):
        if t % 10 == 0:
            forced, greedy = map(np.asarray, matches(RULE.model(state), SENTENCES))
            np.testing.assert_array_equal(forced, greedy)
            shares.append(forced.mean())
        state = step(RULE, state, jnp.asarray(t))
    assert (shares[0], shares[-1]) == (0, 1)
    assert any(0 < share < 1 for share in shares)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="batch=0 is less than 1"):
        learning.TeacherForcing(RULE.task, STAYS, SENTENCES, KEY, batch=0)
    with pytest.raises(ValueError, match="decay_every=0 is less than 1"):
        learning.TeacherForcing(RULE.task, STAYS, SENTENCES, KEY, decay_every=0)
