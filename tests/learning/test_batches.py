"""What steps see: sets, passes, shuffles, mixtures, stages and what is done to batches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, tasks
from recombine.learning._batches import OF_PREPARE, on_batch

KEY = jax.random.key(0)
NUMBERS = {"x": jnp.arange(10.0), "y": -jnp.arange(10.0)}


def batches_of(batches, steps, use=lambda batch: batch):
    """What is used of the batches of the first steps, stacked."""

    @jax.jit
    def all_of_them():
        stream = batches.initial(KEY) if isinstance(batches, learning.AbstractStream) else None

        def one(stream, t):
            found, stream = on_batch(batches, use, t, jax.random.fold_in(KEY, t), stream)
            return stream, found

        return jax.lax.scan(one, stream, jnp.arange(steps))[1]

    return jax.tree.map(np.asarray, all_of_them())


def close(found, share, count):
    """Whether a frequency is within four standard deviations of a share."""
    return abs(found - share) <= 4 * np.sqrt(share * (1 - share) / count)


def test_a_task_is_sampled_with_the_key_of_the_step():
    class Letters(tasks.AbstractTask):
        def sample(self, size, *, key):
            return jax.random.randint(key, (size,), 0, 99)

    found = batches_of(learning.Sampled(Letters(), 5), 3)
    for t in range(3):
        np.testing.assert_array_equal(found[t], Letters().sample(5, key=jax.random.fold_in(KEY, t)))


def test_a_whole_set_is_every_batch_and_draws_are_uniform_with_replacement():
    found = batches_of(learning.Drawn(NUMBERS), 2)
    np.testing.assert_array_equal(found["x"], [np.arange(10)] * 2)
    drawn = batches_of(learning.Drawn(NUMBERS, 20), 200)
    np.testing.assert_array_equal(drawn["x"], -drawn["y"])
    for number in range(10):
        assert close((drawn["x"] == number).mean(), 0.1, 4000)


def test_draws_of_the_first_rows_are_those_of_a_smaller_set_in_one_program():
    traces = []

    @eqx.filter_jit
    def draw(batches):
        traces.append(1)
        return batches(jnp.asarray(0), KEY)["x"]

    for n in (3, 7):
        smaller = learning.Drawn(jax.tree.map(lambda a, n=n: a[:n], NUMBERS), 6)
        first = draw(learning.Drawn(NUMBERS, 6, jnp.asarray(n)))
        np.testing.assert_array_equal(first, smaller(jnp.asarray(0), KEY)["x"])
    assert len(traces) == 1


def test_a_shuffled_set_is_passed_over_without_replacement_in_new_orders():
    found = batches_of(learning.Shuffled(NUMBERS, 3), 9)["x"].reshape(3, 9)
    for one_pass in found:
        assert len(set(one_pass)) == 9
    assert len({tuple(one_pass) for one_pass in found}) == 3
    assert not any((one_pass == np.sort(one_pass)).all() for one_pass in found)
    np.testing.assert_array_equal(
        np.sort(batches_of(learning.Shuffled(NUMBERS, 5), 2)["x"].ravel()), np.arange(10)
    )


# Passes, against a network that is stepped neuron by neuron.


def network(outputs=1):
    return models.MLP((2, 4, outputs), layer=models.Dense.bounded, output=jnp.tanh, key=KEY)


def examples(count, outputs=1):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(count, 2)), rng.choice([-1.0, 1.0], size=(count, outputs))
    return tasks.Examples(*map(jnp.asarray, numbers), jnp.ones(count))


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


@pytest.mark.parametrize(
    ("count", "outputs", "updates"), [(11, 1, 6), (12, 2, 9), (11, 1, 5)],
    ids=["some wait", "none wait", "within a pass"],
)  # fmt: skip
def test_passes_agree_with_derivatives_that_add_up_one_example_at_a_time(
    count, outputs, updates, x64
):
    model, data = network(outputs), examples(count, outputs)
    batches = learning.Passes(data, 4)
    assert batches.updates == count // 4
    slow = slow_passes(model, data, 3, 4, 0.1, most_updates=updates)
    rule = learning.Descent(learning.half_squared_loss, batches, learning.sgd(0.1), key=KEY)
    trained = learning.train(rule, rule.init(model), updates)[0].model
    for layer, w, b in zip(trained.layers, slow.weights, slow.biases, strict=True):
        np.testing.assert_allclose(layer.weight, w, rtol=1e-10)
        np.testing.assert_allclose(layer.bias, b, rtol=1e-10)


@pytest.mark.parametrize("make", [learning.Passes, learning.Shuffled])
@pytest.mark.parametrize("size", [0, 12])
def test_a_batch_that_cannot_be_had_is_refused(make, size):
    with pytest.raises(ValueError, match=f"a batch of {size} of 11 examples; use 1 to all"):
        make(examples(11), size)


def test_empty_batches_are_refused():
    for make, source in ((learning.Drawn, NUMBERS), (learning.Sampled, tasks.XorTask())):
        with pytest.raises(ValueError, match="batch_size=0 is less than 1"):
            make(source, 0)


# Mixtures: batches of different shapes.

WIDTHS = tuple({"x": jnp.full((size, width), width)} for size, width in ((30, 2), (10, 3), (60, 5)))


def width(batch):
    """The same shape, whatever the batch's."""
    return jnp.asarray(batch["x"].shape)


def test_a_batch_is_of_one_set_and_sets_come_as_often_as_they_are_large():
    found = batches_of(learning.Mixture.of_sets(WIDTHS, 4), 1000, width)
    assert set(found[:, 0]) == {4}
    for size, number in ((30, 2), (10, 3), (60, 5)):
        assert close((found[:, 1] == number).mean(), size / 100, 1000)


def test_functions_are_sources_too_with_shares_of_their_own_and_keys_of_the_step():
    def of_width(width):
        return lambda t, key: {"x": jax.random.uniform(key, (2, width))}

    mixture = learning.Mixture((of_width(2), of_width(3)), [0.25, 0.75])
    found = batches_of(mixture, 400, lambda b: (jnp.asarray(b["x"].shape[1]), b["x"][0, 0]))
    assert close((found[0] == 3).mean(), 0.75, 400)
    assert len(set(found[1])) > 390


def test_which_source_is_drawn_and_what_is_drawn_from_it_have_keys_of_their_own():
    def source(t, key):
        return jax.random.key_data(key)

    mixture = learning.Mixture((source, source), [1.0, 1.0])
    found = batches_of(mixture, 5)
    for t in range(5):
        step = jax.random.fold_in(KEY, t)
        assert not np.array_equal(found[t], jax.random.key_data(step))
        np.testing.assert_array_equal(found[t], jax.random.key_data(jax.random.split(step)[1]))


@pytest.mark.parametrize(
    ("sources", "shares", "message"),
    [((), (), "nothing to draw batches from"), ((width,), (1.0, 2.0), "2 shares of 1 sources")],
)
def test_mixtures_that_make_no_sense_are_refused(sources, shares, message):
    with pytest.raises(ValueError, match=message):
        learning.Mixture(sources, jnp.array(shares))


def test_stages_change_at_the_step_that_is_named():
    first, then = (lambda t, key, n=n: jnp.asarray(n) for n in (1, 2))
    found = batches_of(learning.Stages(first, then, 2.5), 5)
    np.testing.assert_array_equal(found, [1, 1, 1, 2, 2])


def test_what_is_done_to_a_batch_has_a_key_of_its_own():
    """Not one of those that a batch gets by splitting its key, which `fold_in` gives too."""

    def keys(t, key):
        return jax.random.key_data(jax.random.split(key, 1000))

    def prepare(batch, key):
        return batch, jax.random.key_data(key)

    of_batch, own = batches_of(learning.Prepared(keys, prepare), 3)
    for t in range(3):
        assert not (of_batch[t] == own[t]).all(axis=1).any()
        step = jax.random.fold_in(KEY, t)
        expected = jax.random.key_data(jax.random.fold_in(step, OF_PREPARE))
        np.testing.assert_array_equal(own[t], expected)
    assert len({tuple(key) for key in own}) == 3
