import jax
import numpy as np
import pytest

from recombine import models, tasks


def test_equal_signs_are_one_class_and_the_other_convention_flips_it():
    x, y = tasks.XorTask().examples()
    assert sorted(map(tuple, x.tolist())) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    assert np.array_equal(y[:, 0], x[:, 0] * x[:, 1])
    flipped = tasks.XorTask(exclusive=True).examples()
    assert np.array_equal(flipped.x, x)
    assert np.array_equal(flipped.y, -y)


def test_no_linear_map_helps():
    x, y = tasks.XorTask().examples()
    assert np.array_equal(y.T @ x, [[0, 0]])


@pytest.mark.parametrize("exclusive", [False, True])
def test_samples_are_the_four_points_about_equally_often(exclusive):
    task = tasks.XorTask(exclusive=exclusive)
    batch = task.sample(4000, key=jax.random.key(0))
    assert batch.x.shape == (4000, 2)
    assert batch.y.shape == (4000, 1)
    sign = -1 if exclusive else 1
    assert np.array_equal(batch.y[:, 0], sign * batch.x[:, 0] * batch.x[:, 1])
    _, counts = np.unique(batch.x, axis=0, return_counts=True)
    assert len(counts) == 4
    assert counts.min() > 850
    again = task.sample(4000, key=jax.random.key(0))
    assert np.array_equal(batch.x, again.x)
    assert not np.array_equal(batch.x, task.sample(4000, key=jax.random.key(1)).x)


def test_each_pathway_is_on_for_one_example():
    task = tasks.XorTask()
    examples = task.gated_examples()
    graph = models.pathway_graph(4)
    examples.check(graph)
    gates = np.stack([examples.node_gates[f"h{p}"] for p in range(4)])
    assert np.array_equal(gates, np.eye(4))
    x, y = task.examples()
    perfect = models.decoupled_pathways(1 / np.sqrt(2), x / np.sqrt(2), y, key=jax.random.key(0))
    assert np.allclose(perfect(examples)["y"], y, atol=1e-6)
