import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import data, learning, models, tasks

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def task():
    images = data.template_mixtures(key=KEY, shape=(2, 3), train=40, test=20)
    return tasks.CompositionalImages(2, images, noise=0.5)


def modular(*, learn_projections=True):
    build = lambda key: models.ModularImageNetwork(  # noqa: E731
        2, 6, modules=3, width=4, trunk=(5,), key=key
    )
    return jax.jit(build)(KEY).partition(learn_projections=learn_projections)


def rule_of(task, stays, **options):
    return learning.SlotClassification(task, stays, task.sample_test(20, key=KEY), KEY, **options)


def test_the_loss_is_the_mean_of_minus_log_probabilities():
    logits = np.random.default_rng(0).normal(size=(3, 2, 4))
    labels = np.array([[0, 3], [1, 1], [2, 0]])
    slow = []
    for i in range(3):
        for slot in range(2):
            p = np.exp(logits[i, slot]) / np.exp(logits[i, slot]).sum()
            slow.append(-np.log(p[labels[i, slot]]))
    ours = learning.slot_cross_entropy(jnp.asarray(logits, jnp.float32), jnp.asarray(labels))
    np.testing.assert_allclose(ours, np.mean(slow), rtol=1e-6)


@eqx.filter_jit
def slope(learns, stays, x, labels, statistics):
    """The gradient by what learns, and the statistics after the batch."""

    def loss(learns):
        logits, after = eqx.combine(learns, stays)(x, statistics, training=True)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
        return -chosen.sum() / labels.size, after

    return jax.grad(loss, has_aux=True)(learns)


def slow_adam(rule, learns, steps):
    """Adam by its definition, leaf by leaf; statistics by PyTorch's convention."""
    stays, statistics = rule.stays, eqx.combine(learns, rule.stays).initial()
    leaves, shape = jax.tree.flatten(learns)
    m, v = ([np.zeros(leaf.shape) for leaf in leaves] for _ in range(2))
    for t in range(steps):
        x, labels = rule.task.sample(rule.batch, key=jax.random.fold_in(rule.key, t))

        found, statistics = slope(jax.tree.unflatten(shape, leaves), stays, x, labels, statistics)
        slopes = jax.tree.leaves(found)
        for i, g in enumerate(map(np.asarray, slopes)):
            m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g**2
            corrected = m[i] / (1 - 0.9 ** (t + 1)), v[i] / (1 - 0.999 ** (t + 1))
            step = rule.learning_rate * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
            leaves[i] = jnp.asarray(leaves[i] - step, jnp.float32)
    return jax.tree.unflatten(shape, leaves), statistics


def test_steps_are_those_of_adam_on_fresh_inputs(task):
    learns, stays = modular()
    rule = rule_of(task, stays, learning_rate=0.01, batch=16)
    state, _ = learning.train(rule, rule.init(learns), 3)
    slow, statistics = slow_adam(rule, learns, 3)
    for a, b in zip(jax.tree.leaves(state.learns), jax.tree.leaves(slow), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)
    for a, b in zip(jax.tree.leaves(state.statistics), jax.tree.leaves(statistics), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_what_stays_does_not_move_and_all_else_does(task):
    learns, stays = modular(learn_projections=False)
    rule = rule_of(task, stays, batch=16)
    state, _ = learning.train(rule, rule.init(learns), 2)
    before, after = eqx.combine(learns, stays), rule.model(state)
    np.testing.assert_array_equal(before.U, after.U)
    assert state.learns.U is None
    for a, b in zip(jax.tree.leaves(learns), jax.tree.leaves(state.learns), strict=True):
        assert not np.allclose(a, b)


def test_observations_are_on_the_tests_by_the_running_statistics(task):
    learns, stays = modular()
    rule = rule_of(task, stays, batch=16)
    state = eqx.filter_jit(lambda rule, state: rule.step(state, jnp.asarray(0)))(
        rule, rule.init(learns)
    )
    seen = rule.observe(state)
    x, labels = rule.tests
    logits, after = rule.model(state)(x, state.statistics)
    assert jax.tree.all(jax.tree.map(np.array_equal, after, state.statistics))
    right = [logits[i, s].argmax() == labels[i, s] for i in range(20) for s in range(2)]
    np.testing.assert_allclose(seen["accuracy"], np.mean(right), rtol=1e-6)
    np.testing.assert_allclose(seen["loss"], learning.slot_cross_entropy(logits, labels), rtol=1e-6)


def test_a_batch_of_one_is_refused(task):
    _, stays = modular()
    with pytest.raises(ValueError, match="a batch of 1 has no variance"):
        rule_of(task, stays, batch=1)
