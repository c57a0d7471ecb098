import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import data, learning, models, tasks

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def task():
    return tasks.PairedImages(data.prototypes(key=KEY, shape=(2, 2), train=40, test=20))


class Flat(eqx.Module):
    """A perceptron on pixels."""

    mlp: models.MLP

    def __call__(self, x):
        return self.mlp(x.reshape(len(x), -1))


def network():
    return Flat(jax.jit(lambda: models.MLP((8, 6, 10), key=KEY))())


@eqx.filter_jit
def draw(task, size, key):
    return task.sample(size, key=key)


def rule_of(task, **options):
    seen, test = (draw(task, 30, jax.random.key(k)) for k in (1, 2))
    return learning.Classification(task, seen, {"ood": test}, KEY, **options)


def slow_adam(rule, model, steps):
    """Adam by its definition, leaf by leaf."""
    leaves, shape = jax.tree.flatten(model)
    m, v = ([np.zeros(leaf.shape) for leaf in leaves] for _ in range(2))

    @jax.jit
    @jax.grad
    def slope(model, batch):
        scores = model(batch.x)
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(len(scores)), batch.labels])

    for t in range(steps):
        batch = draw(rule.task, rule.batch, jax.random.fold_in(rule.key, t))
        slopes = jax.tree.leaves(slope(jax.tree.unflatten(shape, leaves), batch))
        for i, g in enumerate(map(np.asarray, slopes)):
            m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g**2
            corrected = m[i] / (1 - 0.9 ** (t + 1)), v[i] / (1 - 0.999 ** (t + 1))
            step = rule.learning_rate * corrected[0] / (np.sqrt(corrected[1]) + 1e-7)
            leaves[i] = jnp.asarray(leaves[i] - step, jnp.float32)
    return leaves


def test_steps_are_those_of_adam_on_fresh_batches(task):
    rule = rule_of(task, loss=learning.softmax_cross_entropy, learning_rate=0.01, batch=30)
    state, _ = learning.train(rule, rule.init(network()), 3)
    for a, b in zip(jax.tree.leaves(state.model), slow_adam(rule, network(), 3), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)


def test_observations_are_loss_and_accuracy_of_what_is_seen_and_of_every_test(task):
    rule, model = rule_of(task), network()
    found = rule.observe(rule.init(model))
    assert set(found) == {"loss", "accuracy", "ood_loss", "ood_accuracy"}
    for prefix, batch in (("", rule.seen), ("ood_", rule.tests["ood"])):
        scores = model(batch.x)
        right = [int(scores[i].argmax()) == int(batch.labels[i]) for i in range(30)]
        np.testing.assert_allclose(found[f"{prefix}accuracy"], np.mean(right), rtol=1e-6)
        loss = learning.categorical_hinge(scores, batch.labels)
        np.testing.assert_allclose(found[f"{prefix}loss"], loss, rtol=1e-6)


def test_a_batch_may_be_prepared_and_another_objective_descended(task):
    """Of blank images the sum of pixels and slopes is 0; what is left shrinks the first layer."""

    def blank(batch, key):
        return batch._replace(x=jnp.zeros_like(batch.x))

    def objective(model, batch, key):
        return 10 * jnp.sum(model.mlp.layers[0].weight ** 2) + model(batch.x).sum() * batch.x.sum()

    rule = rule_of(task, prepare=blank, objective=objective, learning_rate=0.01)
    model = network()
    after, _ = learning.train(rule, rule.init(model), 1)
    (first, last), (first_now, last_now) = (m.mlp.layers for m in (model, after.model))
    np.testing.assert_allclose(
        first_now.weight, first.weight - 0.01 * np.sign(first.weight), atol=1e-5
    )
    np.testing.assert_array_equal(last_now.weight, last.weight)


def test_an_empty_batch_is_refused(task):
    with pytest.raises(ValueError, match="a batch of 0 inputs"):
        rule_of(task, batch=0)
