"""Objectives, by hand and against loops over routes."""

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, probes, tasks
from recombine.data import prototypes
from recombine.splits import permuted_ring_mask

KEY = jax.random.key(0)
M = 4


class Batch(NamedTuple):
    x: jax.Array
    y: jax.Array


def test_squared_errors_are_means_over_samples():
    def model(x):
        return x[:, :1]

    batch = Batch(jnp.array([[1.0], [2.0], [9.0]]), jnp.array([0.0, 5.0, 0.0]))
    assert learning.mean_squared_error(model, batch) == pytest.approx((1 + 9 + 81) / 3)
    examples = tasks.Examples(batch.x, batch.y[:, None], jnp.array([1.0, 1.0, 0.0]))
    assert learning.half_squared_loss(model, examples) == pytest.approx((1 + 9) / 4)


def test_the_gradient_agrees_with_finite_differences(x64):
    model = models.MLP((2, 4, 1), layer=models.Dense.bounded, output=jnp.tanh, key=KEY)
    rng = np.random.default_rng(0)
    examples = tasks.Examples(*(jnp.asarray(rng.normal(size=(9, n))) for n in (2, 1)), jnp.ones(9))
    vector, unravel = jax.flatten_util.ravel_pytree(model)
    loss = jax.jit(lambda v: learning.half_squared_loss(unravel(v), examples))
    gradient = jax.jit(jax.grad(loss))(vector)
    for i, step in enumerate(1e-6 * np.eye(len(vector))):
        slope = (loss(vector + step) - loss(vector - step)) / 2e-6
        np.testing.assert_allclose(gradient[i], slope, atol=1e-8)


def test_a_loss_of_scores_is_that_of_what_the_network_says():
    labels = jnp.array([0, 1])
    batch = tasks.PairBatch(jnp.array([[1.0, 2.0], [0.5, 0.0]]), labels, labels)

    def model(x):
        return 2 * x

    for loss in (learning.softmax_cross_entropy, learning.multiclass_hinge):
        ours = learning.ScoreLoss(loss)
        assert ours(model, batch) == ours.of(2 * batch.x, batch) == loss(2 * batch.x, labels)


class Bag(eqx.Module):
    """Scores that are sums over tokens, some of which drop out; padding does not count."""

    table: jax.Array
    rate: float = 0.2

    def __call__(self, tokens, lengths, *, key=None):
        counts = (jnp.arange(tokens.shape[1]) < lengths[:, None]).astype(float)
        if key is not None:
            counts = counts * jax.random.bernoulli(key, 1 - self.rate, counts.shape)
        return jnp.einsum("bn,bnc->bc", counts, self.table[tokens])

    def ponder(self, tokens, lengths, *, key):
        """The remainder of a column is its place."""
        places = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape).astype(float)
        return self(tokens, lengths, key=key), {"remainder": places}


def test_objectives_of_sequences_are_cross_entropy_with_dropout_and_the_mean_remainder():
    """Three sequences of 2, 1 and 3 tokens: remainders 0 1, 0 and 0 1 2."""
    bag = Bag(jnp.asarray(np.random.default_rng(0).normal(size=(5, 2)), jnp.float32))
    batch = tasks.LabelledSequences(
        [[1, 2, 0], [3, 0, 0], [1, 1, 4]], [2, 1, 3], [0, 0, 1], ("", "a", "b", "c", "d"), 2
    )

    @eqx.filter_jit
    def all_of_them(bag, key):
        scores = bag(batch.tokens, batch.lengths, key=key)
        objectives = (
            learning.label_loss, learning.PonderLoss(0.3), learning.PonderLoss(0.3, padding=True),
        )  # fmt: skip
        return scores, [objective(bag, batch, key) for objective in objectives]

    scores, (plain, pondering, padded) = all_of_them(bag, KEY)
    scores = np.asarray(scores, float)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = -np.log(probabilities[[0, 1, 2], [0, 0, 1]]).mean()
    np.testing.assert_allclose(plain, expected, rtol=1e-5)
    np.testing.assert_allclose(pondering, expected + 0.3 * 4 / 6, rtol=1e-5)
    np.testing.assert_allclose(padded, expected + 0.3 * 9 / 9, rtol=1e-5)
    assert plain != all_of_them(bag, jax.random.key(1))[1][0]


# Teacher forcing


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


@eqx.filter_jit
def matches(model, batch):
    """Which sentences are right under teacher forcing, and which greedily."""
    forced = model(*batch).argmax(axis=2)
    greedy = model.greedy(batch.inputs, batch.input_lengths, batch.outputs.shape[1])
    return [
        probes.sentence_matches(p, batch.outputs, batch.output_lengths) for p in (forced, greedy)
    ]


def test_both_ways_to_decode_agree_at_every_checkpoint_and_are_right_on_a_memorised_batch():
    sentences = short(16)
    network = eqx.filter_jit(models.Seq2Seq)(14, 7, embedding=8, units=32, key=KEY)
    rule = learning.Descent(
        learning.teacher_forcing_loss, learning.Sampled(Few(sentences), 32),
        learning.chain(learning.clip(1.0), learning.adam(learning.Staircase(0.02, 0.96, 100))),
        key=KEY, measure=lambda model: {"loss": learning.teacher_forcing_loss(model, sentences)},
        every=10,
    )  # fmt: skip
    states = [eqx.filter_jit(rule.init)(network)]
    learning.train(
        rule, states[0], 100, chunk=10, on_chunk=lambda progress: states.append(progress.state)
    )
    shares = []
    for state in states:
        forced, greedy = map(np.asarray, matches(state.model, sentences))
        np.testing.assert_array_equal(forced, greedy)
        shares.append(forced.mean())
    assert (shares[0], shares[-1]) == (0, 1)
    assert any(0 < share < 1 for share in shares)


# Routes


@functools.cache
def small_task():
    images = prototypes(classes=5, shape=(4, 4), train=60, test=40, noise=0.2, key=KEY)
    return tasks.ImageRouting(
        images, tasks.pixel_permutations(M, 16), tasks.random_labels(M, 5, key=jax.random.key(1))
    )


def small_model(gain=1.0, **options):
    return models.GatedClassifier(M, 16, 6, 5, gain=gain, key=jax.random.key(2), **options)


def measure(mask):
    def accuracies(model):
        found = probes.route_accuracies(model, small_task().first_test(20))
        trained, untrained = probes.route_means(found, mask)
        loss = learning.RouteLoss(mask)(model, small_task().first_train(20))
        return {"loss": loss, "trained": trained, "untrained": untrained}

    return accuracies


def small_rule(mask=None, learning_rate=0.1, momentum=0.9):
    mask = permuted_ring_mask(M, 2, key=jax.random.key(9)) if mask is None else mask
    return learning.Descent(
        learning.RouteLoss(mask), learning.Sampled(small_task(), 8),
        learning.sgd(learning_rate, momentum=momentum), key=jax.random.key(3),
        measure=measure(mask), every=100,
    )  # fmt: skip


def slow_loss(model, batch, mask):
    """Route by route, each as a network of its own."""

    def module(layers, index, h):
        for n, layer in enumerate(layers):
            h = model.activation(h) if n else h
            W, b = layer.weight, layer.bias
            h = h @ W.T + b if index is None else h @ W[index].T + b[index]
        return h

    losses = []
    for i, j in np.argwhere(np.asarray(mask)):
        h = module(model.encoders, i, batch.inputs[:, i])
        z = module(model.decoders, j, module(model.hidden, None, h))
        right = z[np.arange(len(z)), batch.labels[:, j]]
        losses.append(jnp.mean(jnp.log(jnp.exp(z).sum(1)) - right))
    return sum(losses) / len(losses)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("layers", [1, 2])
def test_loss_and_gradient_agree_with_a_loop_over_routes(layers):
    mask = permuted_ring_mask(M, 2, key=jax.random.key(9))
    model = small_model(gain=2.0, layers_per_module=layers, activation=jax.nn.leaky_relu)
    batch = small_task().sample(3, key=jax.random.key(4))
    ours, gradient = jax.jit(jax.value_and_grad(learning.RouteLoss(mask)))(model, batch)
    slow, slow_gradient = jax.jit(jax.value_and_grad(lambda m, b: slow_loss(m, b, mask)))(
        model, batch
    )
    assert np.isclose(ours, slow, rtol=1e-10)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(slow_gradient), strict=True):
        assert np.allclose(a, b, rtol=1e-8, atol=1e-10)
        assert np.abs(a).max() > 0


@pytest.mark.usefixtures("x64")
def test_two_steps_are_gradient_descent_with_momentum_on_the_drawn_batches():
    rule = small_rule(learning_rate=0.2, momentum=0.7)
    model = small_model()
    state, velocity = rule.init(model), jax.tree.map(jnp.zeros_like, model)
    slow_gradient = jax.jit(jax.grad(lambda m, b: slow_loss(m, b, rule.objective.mask)))
    step = eqx.filter_jit(rule.step)
    for t in range(2):
        batch = small_task().sample(8, key=jax.random.fold_in(rule.key, t))
        velocity = jax.tree.map(lambda v, g: 0.7 * v + g, velocity, slow_gradient(model, batch))
        model = jax.tree.map(lambda w, v: w - 0.2 * v, model, velocity)
        state = step(state, jnp.asarray(t))
    for a, b in zip(jax.tree.leaves(state.learns), jax.tree.leaves(model), strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-12)


def test_one_step_changes_nothing_in_domains_without_a_trained_route():
    rule = small_rule(jnp.zeros((M, M), bool).at[1, 2].set(True))
    before = small_model()
    after = eqx.filter_jit(rule.step)(rule.init(before), jnp.asarray(0)).model
    encoders, decoders = (
        np.asarray(getattr(before, part)[0].weight) != np.asarray(getattr(after, part)[0].weight)
        for part in ("encoders", "decoders")
    )
    assert np.array_equal(encoders.any((1, 2)), [False, True, False, False])
    assert np.array_equal(decoders.any((1, 2)), [False, False, True, False])


def test_training_on_most_routes_teaches_all_of_them():
    rule = small_rule(~jnp.eye(M, dtype=bool))
    _, curves = learning.train(rule, rule.init(small_model(gain=0.3)), 500)
    assert curves["loss"][0] > 1.5
    assert curves["loss"][-1] < 0.1
    assert curves["trained"][-1] > 0.9
    assert curves["untrained"][-1] > 0.9


def test_an_unshared_network_learns_its_matched_pairs_and_no_crossed_one():
    rule = small_rule(jnp.eye(M, dtype=bool))
    model = models.UnsharedClassifier(M, 16, 6, 5, gain=0.3, key=jax.random.key(2))
    _, curves = learning.train(rule, rule.init(model), 500)
    assert curves["trained"][-1] > 0.9
    assert curves["untrained"][-1] < 0.5
