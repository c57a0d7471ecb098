"""Passes over a fixed set, held against a network that is stepped neuron by neuron."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from recombine import learning, models, tasks

KEY = jax.random.key(0)


def network(outputs=1):
    return models.MLP((2, 4, outputs), layer=models.Dense.bounded, output=jnp.tanh, key=KEY)


def examples(count, outputs=1):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(count, 2)), rng.choice([-1.0, 1.0], size=(count, outputs))
    return tasks.Examples(*map(jnp.asarray, numbers), jnp.ones(count))


@eqx.filter_jit
def taken(rule, model, steps):
    return jax.lax.fori_loop(0, steps, lambda t, m: rule.step(m, jnp.asarray(t)), model)


class Accumulator:
    """One example at a time: derivatives add up, and an update divides by how many there are."""

    def __init__(self, model):
        self.weights = [np.array(layer.weight) for layer in model.layers]
        self.biases = [np.array(layer.bias) for layer in model.layers]
        self.clear()

    def clear(self):
        self.count = 0
        self.sums = (
            [np.zeros_like(w) for w in self.weights],
            [np.zeros_like(b) for b in self.biases],
        )

    def learn(self, x, y):
        activities, inputs = [x], []
        for depth, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            inputs.append(activities[-1] @ w + b)
            last = depth == len(self.weights) - 1
            activities.append(np.tanh(inputs[-1]) if last else np.maximum(inputs[-1], 0))
        error = (activities[-1] - y) * (1 - activities[-1] ** 2)
        for depth in reversed(range(len(self.weights))):
            self.sums[0][depth] += np.outer(activities[depth], error)
            self.sums[1][depth] += error
            if depth:
                error = (self.weights[depth] @ error) * (inputs[depth - 1] > 0)
        self.count += 1

    def update(self, rate):
        for numbers, sums in zip((self.weights, self.biases), self.sums, strict=True):
            for number, total in zip(numbers, sums, strict=True):
                number -= rate * total / self.count
        self.clear()


def slow_passes(model, data, passes, batch, rate, most_updates=None):
    slow, updates = Accumulator(model), 0
    for _ in range(passes):
        for i, (x, y) in enumerate(zip(np.asarray(data.x), np.asarray(data.y), strict=True)):
            slow.learn(x, y)
            if (i + 1) % batch == 0 and updates != most_updates:
                slow.update(rate)
                updates += 1
    return slow


@pytest.mark.parametrize(("count", "outputs"), [(11, 1), (12, 2)])
def test_passes_agree_with_derivatives_that_add_up_one_example_at_a_time(count, outputs, x64):
    model, data = network(outputs), examples(count, outputs)
    slow = slow_passes(model, data, 3, 4, 0.1)
    trained = taken(learning.EpochDescent(data, 0.1, batch=4), model, 3)
    for layer, w, b in zip(trained.layers, slow.weights, slow.biases, strict=True):
        np.testing.assert_allclose(layer.weight, w, rtol=1e-10)
        np.testing.assert_allclose(layer.bias, b, rtol=1e-10)


def test_updates_counted_one_by_one_go_the_same_way(x64):
    model, data = network(), examples(11)
    rule = learning.EpochDescent(data, 0.1, batch=4, by_update=True)
    assert rule.updates == 2
    trained = taken(rule, model, 5)
    slow = slow_passes(model, data, 3, 4, 0.1, most_updates=5)
    np.testing.assert_allclose(trained.layers[0].weight, slow.weights[0], rtol=1e-10)


def test_the_gradient_agrees_with_finite_differences(x64):
    model, data = network(), examples(9)
    vector, unravel = ravel_pytree(model)
    loss = jax.jit(lambda v: learning.half_squared_loss(unravel(v), data))
    gradient = jax.jit(jax.grad(loss))(vector)
    for i, step in enumerate(1e-6 * np.eye(len(vector))):
        slope = (loss(vector + step) - loss(vector - step)) / 2e-6
        np.testing.assert_allclose(gradient[i], slope, atol=1e-8)


def test_examples_may_be_arranged_anew_in_every_pass(x64):
    """In pass t the examples are turned by t places; those that wait are of the pass before."""
    model, data = network(), examples(5)

    def turned(examples, t):
        return jax.tree.map(lambda a: jnp.roll(a, t, axis=0), examples)

    rule = learning.EpochDescent(data, 0.1, batch=3, arrange=turned)
    trained = taken(rule, model, 2)
    slow = Accumulator(model)
    for i in (0, 1, 2, 3, 4, 4, 0, 1):
        slow.learn(np.asarray(data.x)[i], np.asarray(data.y)[i])
        if i == 2 or slow.count == 5:
            slow.update(0.1)
    np.testing.assert_allclose(trained.layers[0].weight, slow.weights[0], rtol=1e-10)


def test_another_loss_may_be_given(x64):
    model, data = network(), examples(8)

    def doubled(model, examples):
        return 2 * learning.half_squared_loss(model, examples)

    rules = learning.EpochDescent(data, 0.2, 4), learning.EpochDescent(data, 0.1, 4, doubled)
    plain, other = (taken(rule, model, 1) for rule in rules)
    np.testing.assert_allclose(plain.layers[0].weight, other.layers[0].weight, rtol=1e-12)


@pytest.mark.parametrize("batch", [0, 12])
def test_a_batch_that_cannot_be_had_is_refused(batch):
    with pytest.raises(ValueError, match=f"a batch of {batch} of 11 examples; use 1 to all"):
        learning.EpochDescent(examples(11), 0.1, batch=batch)
