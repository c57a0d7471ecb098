import jax
import jax.numpy as jnp
import numpy as np

from recombine.probes import demonstration_scores
from recombine.tasks import Examples


def examples(actions, weight, number=4):
    y = jax.nn.one_hot(jnp.array(actions), number)
    return Examples(jnp.zeros((*y.shape[:-1], 2)), y, jnp.array(weight, float))


def scores(outputs, demonstration):
    return [np.asarray(s).tolist() for s in jax.jit(demonstration_scores)(outputs, demonstration)]


def test_scores_of_a_demonstration_by_hand():
    demonstration = examples(
        [[3, 1, 2, 0], [3, 1, 2, 0], [3, 1, 2, 0]], [[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
    )
    outputs = jax.nn.one_hot(jnp.array([[3, 0, 2, 3], [3, 1, 1, 1], [0, 1, 2, 1]]), 4) - 0.3
    accuracy, exact_path, first_step, last_step = scores(outputs, demonstration)
    assert np.allclose(accuracy, [2 / 3, 1, 1 / 2])
    assert exact_path == [0, 1, 0]
    assert first_step == [1, 1, 0]
    assert last_step == [1, 1, 0]


def test_steps_without_weight_do_not_count_wherever_they_are():
    demonstration = examples([0, 1, 2, 3, 0], [0, 1, 0, 1, 0])
    outputs = jax.nn.one_hot(jnp.array([3, 1, 3, 3, 3]), 4)
    assert scores(outputs, demonstration) == [1, 1, 1, 1]


def test_accuracy_follows_the_weights():
    demonstration = examples([0, 1], [3, 1])
    assert scores(jax.nn.one_hot(jnp.array([0, 0]), 4), demonstration) == [0.75, 0, 1, 0]


def test_scores_agree_with_counting_one_by_one():
    keys = jax.random.split(jax.random.key(0), 3)
    steps, tasks = 6, 50
    outputs = jax.random.normal(keys[0], (tasks, steps, 2))
    actions = jax.random.randint(keys[1], (tasks, steps), 0, 2)
    lengths = np.asarray(jax.random.randint(keys[2], (tasks,), 1, steps + 1))
    demonstration = examples(actions, np.arange(steps) < lengths[:, None], number=2)
    found = np.array(scores(outputs, demonstration))
    for t in range(tasks):
        right = [
            int(outputs[t, s, 1] > outputs[t, s, 0]) == int(actions[t, s])
            for s in range(lengths[t])
        ]
        assert np.allclose(found[:, t], [np.mean(right), all(right), right[0], right[-1]])


def test_a_random_policy_hardly_ever_demonstrates_a_whole_path():
    demonstration = examples(np.zeros((2000, 12), int), np.ones((2000, 12)), number=6)
    outputs = jax.random.normal(jax.random.key(0), (2000, 12, 6))
    accuracy, exact_path, first_step, last_step = (
        np.mean(s) for s in scores(outputs, demonstration)
    )
    assert np.allclose([accuracy, first_step, last_step], 1 / 6, atol=0.03)
    assert exact_path == 0
