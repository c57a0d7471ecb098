from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from recombine import models, tasks


def test_the_target_is_the_input_that_the_context_names():
    batch = tasks.ContextTask().sample(2000, key=jax.random.key(0))
    assert batch.x.shape == (2000, 2)
    assert batch.y.shape == (2000, 1)
    assert set(np.unique(batch.context)) == {0, 1}
    expected = [x[c] for x, c in zip(np.asarray(batch.x), np.asarray(batch.context), strict=True)]
    assert np.array_equal(batch.y[:, 0], expected)
    assert 0.45 < batch.context.mean() < 0.55
    assert np.abs(batch.x).max() <= 1
    assert np.abs(batch.x).max() > 0.99


def test_contexts_do_not_depend_on_any_input():
    batch = tasks.ContextTask().sample(4000, key=jax.random.key(0))
    # A key that were used twice would tie context i to number i of all inputs.
    for inputs in (batch.x[:, 0], batch.x[:, 1], batch.x.ravel()[:4000], batch.x.ravel()[4000:]):
        assert abs(np.corrcoef(inputs, batch.context)[0, 1]) < 5 / 4000**0.5


def test_samples_depend_on_the_key_alone():
    task = tasks.ContextTask()
    first, again, other = (task.sample(20, key=jax.random.key(k)) for k in (0, 0, 1))
    assert np.array_equal(first.x, again.x)
    assert np.array_equal(first.context, again.context)
    assert not np.array_equal(first.x, other.x)


def test_sampled_statistics_by_hand():
    batch = tasks.ContextTask().sample(3, key=jax.random.key(4))
    x, c, y = (np.asarray(a) for a in batch)
    statistics = tasks.ContextTask().statistics(batch)
    for p in range(2):
        on = c == p
        assert np.allclose(statistics.Sigma_yx[p], y[on].T @ x[on] / 3, atol=1e-6)
        assert np.allclose(statistics.Sigma_x[p, p], x[on].T @ x[on] / 3, atol=1e-6)
        assert np.all(statistics.Sigma_x[p, 1 - p] == 0)
    assert np.allclose(statistics.linear_Sigma_yx, y.T @ x / 3, atol=1e-6)
    assert np.allclose(statistics.linear_Sigma_x, x.T @ x / 3, atol=1e-6)
    assert np.allclose(statistics.Sigma_y, np.mean(y**2), atol=1e-6)


def test_sampled_statistics_approach_the_population_as_one_over_the_root_of_the_size(x64):
    task = tasks.ContextTask()

    @partial(jax.jit, static_argnums=0)
    def sampled(size, key):
        return task.statistics(task.sample(size, key=key))

    def distance(size, seed):
        statistics = sampled(size, jax.random.key(seed))
        gaps = jax.tree.map(lambda a, b: np.abs(a - b).max(), statistics, task.population())
        return max(gaps)

    small, large = (np.mean([distance(n, s) for s in range(8)]) for n in (400, 40_000))
    assert small < 2 / np.sqrt(400)
    assert 4 < small / large < 25


def test_gates_follow_the_context():
    task = tasks.ContextTask()
    batch = task.sample(30, key=jax.random.key(0))
    V = jnp.eye(2)
    perfect = models.decoupled_pathways(1.0, V, jnp.ones((2, 1)), key=jax.random.key(0))
    examples = task.gated_examples(batch)
    assert np.allclose(perfect(examples)["y"], batch.y, atol=1e-6)
    ungated = task.gated_examples(batch, gated=False)
    assert ungated.node_gates == {}
    assert np.allclose(perfect(ungated)["y"], batch.x.sum(1, keepdims=True), atol=1e-6)
