"""Gradients are clipped group by group, and the published RMSProp is PyTorch's."""

import jax
import jax.numpy as jnp
import numpy as np

from recombine import learning, models, tasks


def layer(weight, bias):
    return models.Dense(jnp.asarray(weight, float), jnp.asarray(bias, float))


def test_every_group_has_a_norm_of_its_own():
    gradient = {
        "one": layer([[3.0, 4.0]], [0.0, 1.0]),
        "embedding": layer([[0.0, 20.0]], [0.0, 0.0]),
    }
    clipped, _ = learning.clip_groups(2.5).update(
        gradient, learning.clip_groups(2.5).init(gradient)
    )
    np.testing.assert_allclose(clipped["one"].weight, [[1.5, 2.0]], rtol=1e-6)
    np.testing.assert_allclose(clipped["one"].bias, [0.0, 1.0])


def test_rmsprop_takes_the_steps_of_the_published_code(x64):
    """v ← 0.99 v + 0.01 g², m ← 0.9 m + g / (√v + ε), w ← w − rate m, by hand; weights decay."""
    model = layer([[1.0, -2.0]], [0.5, 0.5])
    optimizer = learning.published_rmsprop(0.1, norm=1e9)
    state = optimizer.init(model)
    w, v, m = np.array([[1.0, -2.0]]), 0.0, 0.0
    for g in (np.array([[0.3, -0.1]]), np.array([[0.2, 0.4]])):
        updates, state = optimizer.update(layer(g, [0.0, 0.0]), state, model)
        model = layer(model.weight + updates.weight, model.bias + updates.bias)
        g = g + 1e-5 * w
        v = 0.99 * v + 0.01 * g**2
        m = 0.9 * m + g / (np.sqrt(v) + 1e-10)
        w = w - 0.1 * m
        np.testing.assert_allclose(model.weight, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.bias, [0.5, 0.5])


def test_the_loss_of_bits_is_summed_over_rows_and_divided_by_sequences():
    batch = tasks.BitmapBatch(
        jnp.zeros((2, 3, 1)), jnp.zeros((2, 3, 1)).at[0, 1].set(1.0), jnp.array([2, 2]),
        jnp.zeros((2, 3), int), jnp.zeros((2, 3), int),
    )  # fmt: skip
    logits = jnp.zeros((2, 3, 1)).at[0, 1].set(2.0).at[1, 2].set(50.0)
    expected = (3 * np.log(2) + np.log1p(np.exp(-2))) / 2
    np.testing.assert_allclose(learning.binary_cross_entropy(logits, batch), expected, rtol=1e-6)


def test_the_loss_of_stories_counts_answers_alone():
    batch = tasks.StoryBatch(
        jnp.ones((2, 3), int),
        jnp.array([[0, 2, 0], [0, 0, 1]]),
        jnp.array([3, 3]),
        jnp.ones(2, int),
    )
    logits = jnp.zeros((2, 3, 4)).at[:, 0].set(9.0)
    found = learning.story_loss(lambda tokens, lengths, key: logits, batch, jax.random.key(0))
    np.testing.assert_allclose(found, np.log(4), rtol=1e-6)
