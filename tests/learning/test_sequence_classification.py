"""Classification of sequences: steps by a slow AdamW, buckets, measurements and the choice."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, tasks

KEY = jax.random.key(0)


class Bag(eqx.Module):
    """Scores that are sums over tokens, some of which drop out; padding does not count."""

    table: jax.Array
    rate: float = 0.2
    """Not to learn."""

    def __call__(self, tokens, lengths, *, key=None):
        counts = (jnp.arange(tokens.shape[1]) < lengths[:, None]).astype(float)
        if key is not None:
            counts = counts * jax.random.bernoulli(key, 1 - self.rate, counts.shape)
        return jnp.einsum("bn,bnc->bc", counts, self.table[tokens])


def sequences(count, longest, seed, shortest=1):
    """Letters a to d; the label is whether there are more of the first two than of the others."""
    random = np.random.default_rng(seed)
    lengths = random.integers(shortest, longest + 1, count)
    tokens = random.integers(1, 5, (count, longest)) * (np.arange(longest) < lengths[:, None])
    labels = (np.isin(tokens, (1, 2)).sum(axis=1) > np.isin(tokens, (3, 4)).sum(axis=1)).astype(int)
    return tasks.LabelledSequences(tokens, lengths, labels, ("", "a", "b", "c", "d"), 2)


TRAIN, VALID, LONGER = sequences(200, 5, 0), sequences(50, 5, 1), sequences(30, 8, 2, shortest=7)
LEARNS, STAYS = eqx.partition(Bag(jax.random.normal(KEY, (5, 2))), eqx.is_inexact_array)


def rule_of(sources=(TRAIN,), **options):
    settings = {
        "learning_rate": 0.05, "weight_decay": 0.1, "clip": 0.1, "batch": 16, "measure_every": 2,
    }  # fmt: skip
    tests = {"depth_valid": VALID, "longer": LONGER}
    return learning.SequenceClassification(
        sources, STAYS, TRAIN[:40], tests, KEY, **(settings | options)
    )


@eqx.filter_jit
def start(rule):
    return rule.init(LEARNS)


@eqx.filter_jit
def gradient(rule, learns, t):
    return rule.gradient(learns, t)


def slow_adamw(rule, steps):
    """AdamW after clipping, by its definition in double precision."""
    weights = np.asarray(LEARNS.table, float)
    m, v = np.zeros_like(weights), np.zeros_like(weights)
    for t in range(steps):
        learns = eqx.tree_at(lambda bag: bag.table, LEARNS, jnp.asarray(weights, "float32"))
        g = np.asarray(gradient(rule, learns, jnp.asarray(t)).table, float)
        g = g * min(1, rule.clip / np.sqrt((g**2).sum()))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        rate = rule.learning_rate * min((t + 1) / max(rule.warm_up, 1), 1)
        move = m / (1 - 0.9 ** (t + 1)) / (np.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)
        weights = weights - rate * (move + rule.weight_decay * weights)
    return weights


def test_steps_are_those_of_adamw_with_warm_up_after_clipping():
    rule = rule_of(warm_up=3)
    state, _ = learning.train(rule, start(rule), 4, every=4)
    np.testing.assert_allclose(state.learns.table, slow_adamw(rule, 4), atol=1e-5)


def test_the_rate_rises_in_equal_steps_and_stays():
    rates = learning.warmed_up(0.4, 4, jnp.arange(6))
    np.testing.assert_allclose(rates, [0.1, 0.2, 0.3, 0.4, 0.4, 0.4], rtol=1e-6)
    np.testing.assert_allclose(learning.warmed_up(0.4, 0, jnp.arange(2)), [0.4, 0.4], rtol=1e-6)


def test_the_objective_is_the_cross_entropy_with_dropout():
    model = eqx.combine(LEARNS, STAYS)
    scores = np.asarray(model(VALID.tokens, VALID.lengths, key=KEY), float)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = -np.log(probabilities[np.arange(50), np.asarray(VALID.labels)]).mean()
    np.testing.assert_allclose(learning.label_loss(model, VALID, KEY), expected, rtol=1e-5)
    assert learning.label_loss(model, VALID, KEY) != learning.label_loss(
        model, VALID, jax.random.key(1)
    )


def width_and_share(model, batch, key):
    """A function whose slope at a row is the batch's width, and how many are as long as that."""
    width = batch.tokens.shape[1]
    return model.table[0] @ jnp.array([width, (batch.lengths == width).mean()])


@eqx.filter_jit
def slopes(rule, steps):
    return jax.lax.map(lambda t: rule.gradient(LEARNS, t).table[0], jnp.arange(steps))


def test_a_batch_is_of_one_bucket_and_buckets_come_as_often_as_they_are_large():
    buckets = TRAIN.buckets(3)
    rule = rule_of(buckets, objective=width_and_share, batch=64)
    widths = np.asarray(slopes(rule, 2000))[:, 0]
    for bucket in buckets:
        share = len(bucket) / len(TRAIN)
        found = (widths == bucket.tokens.shape[1]).mean()
        assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / 2000)


def test_items_of_a_source_are_drawn_uniformly():
    """Also where there is one source only, and none is chosen."""
    rule = rule_of(objective=width_and_share, batch=64)
    found = np.asarray(slopes(rule, 200))
    assert (found[:, 0] == 5).all()
    share = float((TRAIN.lengths == 5).mean())
    assert abs(found[:, 1].mean() - share) < 4 * np.sqrt(share * (1 - share) / (200 * 64))


class OneLetter(tasks.AbstractTask):
    """Sequences of one letter, drawn afresh."""

    length: int

    def sample(self, size, *, key):
        labels = jax.random.bernoulli(key, 0.5, (size,)).astype(int)
        tokens = jnp.broadcast_to(3 - 2 * labels[:, None], (size, self.length))
        return tasks.LabelledSequences(
            tokens, jnp.full(size, self.length), labels, TRAIN.vocabulary, 2
        )


def test_tasks_that_sample_are_sources_too_with_shares_of_their_own():
    shares = jnp.array([0.0, 1.0])
    rule = rule_of((OneLetter(2), OneLetter(3)), shares=shares, objective=width_and_share)
    assert (np.asarray(slopes(rule, 50))[:, 0] == 3).all()
    rule = rule_of((OneLetter(3),), learning_rate=0.2, clip=5.0, weight_decay=0.0)
    state, _ = learning.train(rule, start(rule), 40, every=20)
    table = np.asarray(rule.model(state).table)
    assert table[1, 1] - table[1, 0] > 1
    assert table[3, 0] - table[3, 1] > 1
    np.testing.assert_array_equal(table[[0, 2, 4]], LEARNS.table[jnp.array([0, 2, 4])])


@pytest.mark.parametrize("at_once", [7, 512])
def test_measurements_are_those_of_each_set_by_itself_without_dropout(at_once):
    """However many sequences are looked at together, and however wide the widest set is."""
    rule = rule_of(at_once=at_once)
    found = rule.observe(start(rule))
    assert len(found) == 6
    for prefix, part in {"": TRAIN[:40], "depth_valid_": VALID, "longer_": LONGER}.items():
        scores = eqx.combine(LEARNS, STAYS)(part.tokens, part.lengths)
        right = [int(scores[i].argmax()) == int(part.labels[i]) for i in range(len(part))]
        np.testing.assert_allclose(found[f"{prefix}accuracy"], np.mean(right), rtol=1e-6)
        loss = learning.softmax_cross_entropy(scores, part.labels)
        np.testing.assert_allclose(found[f"{prefix}loss"], loss, rtol=1e-5)


def test_the_last_of_the_best_networks_is_chosen():
    """The network in the state is the one that `last_best` finds in the curves."""
    rule = rule_of(TRAIN.buckets(2), chosen_on="depth_valid", learning_rate=0.3)
    state, curves = learning.train(rule, start(rule), 24, every=2)
    place = learning.last_best(curves["step"], curves["depth_valid_accuracy"])
    assert curves["step"][place] == state.chosen_at
    # A choice is worth a test only if it is not the last network.
    assert 0 < state.chosen_at < 24
    assert state.highest == curves["depth_valid_accuracy"][1:].max()
    found = rule.measure(state.best)
    for name in ("depth_valid_accuracy", "longer_accuracy", "loss"):
        np.testing.assert_allclose(found[name], curves[name][place], rtol=1e-6)
    assert rule.best(state).rate == 0.2


def test_without_a_set_to_choose_on_no_network_is_kept():
    rule = rule_of()
    state = start(rule)
    assert state.best is None
    with pytest.raises(ValueError, match="chosen_on"):
        rule.best(state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch=0 is less than 1"),
        ({"warm_up": -1}, "warm_up=-1 is negative"),
        ({"chosen_on": "deep"}, "no test is called 'deep': depth_valid, longer"),
        ({"sources": ()}, "nothing to draw batches from"),
        ({"sources": (OneLetter(2), OneLetter(3))}, "several tasks need `shares`"),
        ({"shares": jnp.ones(2)}, "2 shares of 1 sources"),
        ({"sources": (TRAIN.framed(),)}, "one vocabulary"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        rule_of(**change)
