"""Classification of sequences: steps by a slow AdamW, buckets, measurements and the choice."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, tasks

KEY = jax.random.key(0)


class Remainders(NamedTuple):
    remainder: jax.Array


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

    def ponder(self, tokens, lengths, *, key):
        """The remainder of a column is its place."""
        places = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape).astype(float)
        return self(tokens, lengths, key=key), Remainders(places)


def sequences(count, longest, seed, shortest=1):
    """Letters a to d; the label is whether there are more of the first two than of the others."""
    random = np.random.default_rng(seed)
    lengths = random.integers(shortest, longest + 1, count)
    tokens = random.integers(1, 5, (count, longest)) * (np.arange(longest) < lengths[:, None])
    labels = (np.isin(tokens, (1, 2)).sum(axis=1) > np.isin(tokens, (3, 4)).sum(axis=1)).astype(int)
    return tasks.LabelledSequences(tokens, lengths, labels, ("", "a", "b", "c", "d"), 2)


TRAIN, VALID, LONGER = sequences(200, 5, 0), sequences(50, 5, 1), sequences(30, 8, 2, shortest=7)
TABLE = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
LEARNS, STAYS = eqx.partition(Bag(jnp.asarray(TABLE)), eqx.is_inexact_array)


def rule_of(sources=(TRAIN,), **options):
    settings = {
        "learning_rate": 0.3, "weight_decay": 0.1, "clip": 0.1, "batch": 16, "measure_every": 2,
    }  # fmt: skip
    tests = {"depth_valid": VALID, "longer": LONGER}
    return learning.SequenceClassification(
        sources, STAYS, TRAIN[:40], tests, KEY, **(settings | options)
    )


RULE = rule_of(
    TRAIN.buckets(2), chosen_on="depth_valid", warm_up=3, at_once=7, falls_until=30, b2=0.9
)


@eqx.filter_jit
def measure(rule, learns):
    return rule.measure(learns)


@pytest.fixture(scope="module")
def trained():
    """Where training stands after every four steps, and the curves."""
    seen = []
    start = eqx.filter_jit(RULE.init)(LEARNS)
    _, curves = learning.train(RULE, start, 24, every=2, chunk=4, on_chunk=seen.append)
    return [progress.state for progress in seen], curves


def slow_adamw(rule, steps):
    """AdamW after clipping, by its definition in double precision."""
    gradient = eqx.filter_jit(rule.gradient)
    weights = TABLE.astype(float)
    m, v = np.zeros_like(weights), np.zeros_like(weights)
    for t in range(steps):
        learns = eqx.tree_at(lambda bag: bag.table, LEARNS, jnp.asarray(weights, "float32"))
        g = np.asarray(gradient(learns, jnp.asarray(t)).table, float)
        assert np.sqrt((g**2).sum()) > rule.clip
        g = g * rule.clip / np.sqrt((g**2).sum())
        m, v = 0.9 * m + 0.1 * g, rule.b2 * v + (1 - rule.b2) * g**2
        falling = (rule.falls_until - t) / (rule.falls_until - rule.warm_up)
        rate = rule.learning_rate * min((t + 1) / rule.warm_up, falling, 1)
        move = m / (1 - 0.9 ** (t + 1)) / (np.sqrt(v / (1 - rule.b2 ** (t + 1))) + 1e-8)
        weights = weights - rate * (move + rule.weight_decay * weights)
    return weights


def test_steps_are_those_of_adamw_with_a_scheduled_rate_after_clipping(trained):
    states, _ = trained
    np.testing.assert_allclose(states[0].learns.table, slow_adamw(RULE, 4), atol=1e-4)


def slow_muon(rule, steps):
    """Nesterov's momentum whose singular values five steps of Newton and Schulz make alike."""
    gradient = eqx.filter_jit(rule.gradient)
    weights, mean = TABLE.astype(float), np.zeros(TABLE.shape)
    assert TABLE.shape[0] > TABLE.shape[1]
    for t in range(steps):
        learns = eqx.tree_at(lambda bag: bag.table, LEARNS, jnp.asarray(weights, "float32"))
        g = np.asarray(gradient(learns, jnp.asarray(t)).table, float)
        g = g * min(rule.clip / np.sqrt((g**2).sum()), 1)
        mean = 0.95 * mean + 0.05 * g
        ahead = 0.95 * mean / (1 - 0.95 ** (t + 2)) + 0.05 * g / (1 - 0.95 ** (t + 1))
        x = ahead.T / np.linalg.norm(ahead)
        for _ in range(5):
            A = x @ x.T
            x = 3.4445 * x + (-4.775 * A + 2.0315 * A @ A) @ x
        rate = rule.matrix_rate * min((t + 1) / rule.warm_up, 1)
        weights = weights - rate * (x.T + rule.weight_decay * weights)
    return weights


def test_matrices_take_steps_of_muon_if_they_have_a_rate():
    rule = rule_of(matrix_rate=0.05, warm_up=2)
    state, _ = learning.train(rule, rule.init(LEARNS), 4, every=4)
    np.testing.assert_allclose(state.learns.table, slow_muon(rule, 4), atol=1e-4)


def test_the_last_of_the_best_networks_is_chosen(trained):
    """The network in the state is the one that `last_best` finds in the curves."""
    states, curves = trained
    state = states[-1]
    place = learning.last_best(curves["step"], curves["depth_valid_accuracy"])
    assert curves["step"][place] == state.chosen_at
    # A choice is worth a test only if it is not the last network.
    assert 0 < state.chosen_at < 24
    assert state.highest == curves["depth_valid_accuracy"][1:].max()
    found = measure(RULE, state.best)
    for name in ("depth_valid_accuracy", "longer_accuracy", "loss"):
        np.testing.assert_allclose(found[name], curves[name][place], rtol=1e-5)
    np.testing.assert_array_equal(RULE.best(state).table, state.best.table)
    np.testing.assert_array_equal(RULE.model(state).table, state.learns.table)


def test_measurements_are_those_of_each_set_by_itself_without_dropout():
    """However many sequences are looked at together, and however wide the widest set is."""
    found = measure(RULE, LEARNS)
    assert len(found) == 6
    for prefix, part in {"": TRAIN[:40], "depth_valid_": VALID, "longer_": LONGER}.items():
        tokens, labels = np.asarray(part.tokens), np.asarray(part.labels)
        scores = np.array([TABLE[row[row > 0]].sum(axis=0) for row in tokens], float)
        right = scores.argmax(axis=1) == labels
        np.testing.assert_allclose(found[f"{prefix}accuracy"], right.mean(), rtol=1e-6)
        of_label = scores[np.arange(len(labels)), labels]
        loss = np.mean(np.log(np.exp(scores).sum(axis=1)) - of_label)
        np.testing.assert_allclose(found[f"{prefix}loss"], loss, rtol=1e-5)


@pytest.mark.parametrize(
    ("warm_up", "falls_until", "rates"),
    [
        (0, 0, [0.4] * 8),
        (4, 0, [0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.4]),
        (2, 6, [0.2, 0.4, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0]),
        (0, 4, [0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_the_rate_rises_in_equal_steps_and_stays_or_falls(warm_up, falls_until, rates):
    found = learning.scheduled(0.4, warm_up, falls_until, jnp.arange(8))
    np.testing.assert_allclose(found, rates, rtol=1e-6, atol=1e-7)


def test_objectives_are_the_cross_entropy_with_dropout_and_the_mean_remainder_of_tokens():
    """Three sequences of 2, 1 and 3 tokens: remainders 0 1, 0 and 0 1 2."""
    bag = eqx.combine(LEARNS, STAYS)
    batch = tasks.LabelledSequences(
        [[1, 2, 0], [3, 0, 0], [1, 1, 4]], [2, 1, 3], [0, 0, 1], TRAIN.vocabulary, 2
    )

    @eqx.filter_jit
    def both(bag, key):
        scores = bag(batch.tokens, batch.lengths, key=key)
        objectives = (learning.label_loss, learning.PonderLoss(0.3))
        return scores, [objective(bag, batch, key) for objective in objectives]

    scores, (plain, pondering) = both(bag, KEY)
    scores = np.asarray(scores, float)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = -np.log(probabilities[[0, 1, 2], [0, 0, 1]]).mean()
    np.testing.assert_allclose(plain, expected, rtol=1e-5)
    np.testing.assert_allclose(pondering, expected + 0.3 * 4 / 6, rtol=1e-5)
    assert plain != both(bag, jax.random.key(1))[1][0]


def width_and_share(model, batch, key):
    """A function whose slope at a row is the batch's width, and how many are as long as that."""
    width = batch.tokens.shape[1]
    return model.table[0] @ jnp.array([width, (batch.lengths == width).mean()])


@eqx.filter_jit
def slopes(rule, steps):
    return jax.lax.map(lambda t: rule.gradient(LEARNS, t).table[0], jnp.arange(steps))


def close(found, share, count):
    """Whether a frequency is within four standard deviations of a share."""
    return abs(found - share) <= 4 * np.sqrt(share * (1 - share) / count)


def test_a_batch_is_of_one_bucket_and_buckets_come_as_often_as_they_are_large():
    buckets = TRAIN.buckets(3)
    rule = rule_of(buckets, objective=width_and_share, batch=64)
    widths, longest = np.asarray(slopes(rule, 2000)).T
    for bucket in buckets:
        width = bucket.tokens.shape[1]
        chosen = widths == width
        assert close(chosen.mean(), len(bucket) / len(TRAIN), 2000)
        share = float((bucket.lengths == width).mean())
        assert close(longest[chosen].mean(), share, 64 * chosen.sum())


def test_items_of_one_source_are_drawn_uniformly():
    rule = rule_of(objective=width_and_share, batch=64)
    widths, longest = np.asarray(slopes(rule, 200)).T
    assert (widths == 5).all()
    assert close(longest.mean(), float((TRAIN.lengths == 5).mean()), 200 * 64)


class OneLetter(tasks.AbstractTask):
    """Sequences of one letter, drawn afresh."""

    length: int

    def sample(self, size, *, key):
        labels = jax.random.bernoulli(key, 0.5, (size,)).astype(int)
        tokens = jnp.broadcast_to(3 - 2 * labels[:, None], (size, self.length))
        return tasks.LabelledSequences(
            tokens, jnp.full(size, self.length), labels, TRAIN.vocabulary, 2
        )


AFRESH = OneLetter(2).sample, OneLetter(3).sample


def test_functions_that_draw_afresh_are_sources_too_with_shares_of_their_own():
    rule = rule_of(AFRESH, shares=jnp.array([0.25, 0.75]), objective=width_and_share)
    widths, _ = np.asarray(slopes(rule, 400)).T
    assert set(widths) == {2, 3}
    assert close((widths == 3).mean(), 0.75, 400)


def test_without_a_set_to_choose_on_no_network_is_chosen(trained):
    states, _ = trained
    with pytest.raises(ValueError, match="chosen_on"):
        rule_of().best(states[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch=0 is less than 1"),
        ({"warm_up": -1}, "warm_up=-1 is negative"),
        ({"warm_up": 9, "falls_until": 9}, "falls_until=9 is not after warm_up=9"),
        ({"chosen_on": "deep"}, "no test is called 'deep': depth_valid, longer"),
        ({"sources": ()}, "nothing to draw batches from"),
        ({"sources": AFRESH}, "several functions need `shares`"),
        ({"shares": jnp.ones(2)}, "2 shares of 1 sources"),
        ({"sources": (TRAIN.framed(),)}, "one vocabulary"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        rule_of(**change)
