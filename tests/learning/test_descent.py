"""The rule of passed parts, against plain loops with Optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from recombine import data, learning, models, tasks
from recombine.learning._batches import OF_OBJECTIVE

KEY = jax.random.key(0)


class Line(eqx.Module):
    """w x + b, with a number and a function that do not learn."""

    w: jax.Array
    b: jax.Array
    scale: float = 2.0
    function: object = jnp.tanh

    def __call__(self, x):
        return self.function(self.scale * x @ self.w + self.b)


def line():
    return Line(jnp.array([0.5, -1.0]), jnp.asarray(0.1))


class Noisy(tasks.AbstractTask):
    """Two numbers, and the sign of the first."""

    def sample(self, size, *, key):
        x = jax.random.normal(key, (size, 2))
        return {"x": x, "y": jnp.sign(x[:, 0])}


def with_dropout(model, batch, key):
    """A loss that uses its key, and reports how much was dropped."""
    keep = jax.random.bernoulli(key, 0.7, batch["y"].shape)
    loss = jnp.mean(keep * (model(batch["x"]) - batch["y"]) ** 2)
    return loss, {"kept": keep.mean(), "size": len(keep)}


def plain(model, batch, key):
    return with_dropout(model, batch, key)[0]


def slow_loop(optimizer, steps, size=8, trainable=eqx.is_inexact_array):
    """What `Descent` says that it does, one step at a time."""
    learns, rest = eqx.partition(line(), trainable)
    opt_state, losses, kept = optimizer.init(learns), [], []

    @jax.jit
    def slope(learns, t):
        key = jax.random.fold_in(KEY, t)
        batch = Noisy().sample(size, key=key)
        own = jax.random.fold_in(key, OF_OBJECTIVE)
        return jax.value_and_grad(
            lambda learns: with_dropout(eqx.combine(learns, rest), batch, own), has_aux=True
        )(learns)

    for t in range(steps):
        (loss, extras), gradient = slope(learns, t)
        losses.append(float(loss))
        kept.append(float(extras["kept"]))
        updates, opt_state = optimizer.update(gradient, opt_state, learns)
        learns = optax.apply_updates(learns, updates)
    return eqx.combine(learns, rest), losses, kept


ADAMW = learning.chain(learning.clip(0.3), learning.adamw(0.1, weight_decay=0.05))
OPTAX = optax.chain(optax.clip_by_global_norm(0.3), optax.adamw(0.1, weight_decay=0.05))


def descent(objective=plain, optimizer=ADAMW, **options):
    return learning.Descent(objective, learning.Sampled(Noisy(), 8), optimizer, key=KEY, **options)


@pytest.mark.parametrize("optimizer", [ADAMW, OPTAX], ids=["ours", "optax"])
def test_steps_are_those_of_a_plain_loop_with_optax(optimizer):
    rule = descent(optimizer=optimizer)
    state, curves = learning.train(rule, rule.init(line()), 12)
    slow, losses, _ = slow_loop(OPTAX, 12)
    np.testing.assert_allclose(state.model.w, slow.w, rtol=1e-4)
    np.testing.assert_allclose(state.model.b, slow.b, rtol=1e-4)
    # At step 0 the loss of the first batch, then that of each step.
    np.testing.assert_allclose(curves["loss"], [losses[0], *losses], rtol=1e-4)


def test_what_is_recorded_is_the_mean_over_the_steps_since_the_last_observation():
    rule = descent(with_dropout, every=4)
    _, curves = learning.train(rule, rule.init(line()), 12)
    _, losses, kept = slow_loop(OPTAX, 12)
    for name, values in (("loss", losses), ("kept", kept)):
        means = np.reshape(values, (3, 4)).mean(axis=1)
        np.testing.assert_allclose(curves[name], [values[0], *means], rtol=1e-4)
    np.testing.assert_allclose(curves["size"], 8)


def test_a_second_run_from_the_same_state_begins_with_what_was_recorded_last():
    rule = descent(every=3)
    state, first = learning.train(rule, rule.init(line()), 6)
    _, second = learning.train(rule, state, 3)
    assert second["loss"][0] == first["loss"][-1]
    assert second["loss"][1] != first["loss"][-1]


def test_measurements_stand_beside_extras_and_take_the_place_of_the_loss():
    def measure(model):
        return {"w": model.w}

    rule = descent(with_dropout, measure=measure, every=2)
    state, curves = learning.train(rule, rule.init(line()), 4)
    assert set(curves) == {"step", "kept", "size", "w"}
    np.testing.assert_array_equal(curves["w"][0], line().w)
    np.testing.assert_array_equal(curves["w"][-1], state.model.w)
    alone = descent(measure=measure)
    assert set(learning.train(alone, alone.init(line()), 1)[1]) == {"step", "w"}


def test_the_objective_has_a_key_that_no_batch_can_have():
    """`split(key)[1]` is `fold_in(key, 1)`: a batch must not draw what the objective draws."""

    def batches(t, key):
        return jax.random.split(key, 1000)

    def objective(model, batch, key):
        same = (jax.random.key_data(batch) == jax.random.key_data(key)).all(axis=1)
        seed = jax.random.key_data(key)[0].astype(jnp.uint32) % 10_000
        return model.sum(), {"reused": same.sum(), "key": seed.astype(float)}

    rule = learning.Descent(objective, batches, learning.sgd(0.1), key=KEY)
    _, curves = learning.train(rule, rule.init(jnp.zeros(2)), 8)
    np.testing.assert_array_equal(curves["reused"], 0)
    assert len(set(curves["key"][1:])) == 8


def test_another_key_draws_other_batches_and_the_same_key_the_same():
    ends = []
    for seed in (0, 0, 1):
        rule = eqx.tree_at(lambda r: r.key, descent(), jax.random.key(seed))
        ends.append(learning.train(rule, rule.init(line()), 3)[0].model.w)
    np.testing.assert_array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


def test_only_what_is_trainable_learns():
    only_b = Line(False, True, False, False)
    rule = descent(trainable=only_b)
    state, _ = learning.train(rule, rule.init(line()), 5)
    np.testing.assert_array_equal(state.model.w, line().w)
    slow, _, _ = slow_loop(OPTAX, 5, trainable=only_b)
    np.testing.assert_allclose(state.model.b, slow.b, rtol=1e-4)
    assert state.model.b != line().b
    assert state.model.function is jnp.tanh
    assert state.model.scale == 2.0


def test_the_network_that_is_kept_is_the_one_that_was_measured_best():
    def measure(model):
        return {"height": jnp.sin(40 * model.w[0]), "w": model.w}

    rule = descent(
        optimizer=learning.sgd(0.5), measure=measure, keep=learning.Best("height"), every=2
    )
    state, curves = learning.train(rule, rule.init(line()), 40, chunk=6)
    place = 1 + len(curves["height"][1:]) - 1 - curves["height"][1:][::-1].argmax()
    network, step = rule.kept(state)
    assert step == curves["step"][place]
    assert 0 < step < 40
    np.testing.assert_array_equal(network.w, curves["w"][place])
    assert network.function is jnp.tanh
    last = descent()
    state, _ = learning.train(last, last.init(line()), 4, every=2)
    network, step = last.kept(state)
    assert step == 4
    np.testing.assert_array_equal(network.w, state.model.w)


def test_a_stream_goes_on_from_batch_to_batch_and_after_an_interruption():
    numbers = jnp.arange(12.0)

    def objective(model, batch, key):
        return jnp.sum(model * batch), {"batch": jnp.sort(batch)}

    rule = learning.Descent(
        objective, learning.Shuffled(numbers, 3), learning.sgd(0.0), key=KEY, every=1
    )
    reports = []
    _, curves = learning.train(rule, rule.init(jnp.ones(())), 8, chunk=2, on_chunk=reports.append)
    seen = curves["batch"][1:].reshape(2, 12)
    np.testing.assert_array_equal(np.sort(seen, axis=1), [np.arange(12)] * 2)
    _, resumed = learning.train(rule, rule.init(jnp.ones(())), 8, chunk=2, resume=reports[0])
    np.testing.assert_array_equal(resumed["batch"], curves["batch"])


class Counting(learning.AbstractCarryingObjective):
    """Carries the sum of all batches."""

    def initial(self, model):
        return jnp.zeros(())

    def __call__(self, model, batch, key, carry):
        carry = carry + batch["x"].sum()
        return jnp.sum(model.w**2), {"carried": carry}, carry


def test_what_an_objective_carries_goes_from_batch_to_batch_and_to_the_measurements():
    rule = descent(Counting(), measure=lambda model, carry: {"carry": carry})
    state, curves = learning.train(rule, rule.init(line()), 5)
    sums = [Noisy().sample(8, key=jax.random.fold_in(KEY, t))["x"].sum() for t in range(5)]
    np.testing.assert_allclose(curves["carry"], np.cumsum([0, *sums]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(curves["carried"][1:], np.cumsum(sums), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state.carry, np.sum(sums), rtol=1e-4, atol=1e-5)


def test_rates_decays_norms_and_keys_share_one_compilation():
    traces = []

    def counted(model, batch, key):
        traces.append(1)
        return plain(model, batch, key)

    ends = []
    for rate, decay, norm, seed in ((0.1, 0.0, 1.0, 0), (0.2, 0.1, 0.5, 1)):
        optimizer = learning.chain(
            learning.clip(norm), learning.adamw(learning.WarmupLinear(rate, 2), weight_decay=decay)
        )
        rule = descent(counted, optimizer, measure=lambda m: {"b": m.b})
        rule = eqx.tree_at(lambda r: r.key, rule, jax.random.key(seed))
        if not ends:
            measure = rule.measure
        rule = eqx.tree_at(lambda r: r.measure, rule, measure, is_leaf=lambda x: x is None)
        traces.clear()
        state = rule.init(line())
        initial = len(traces)
        ends.append(learning.train(rule, state, 4)[0].model.b)
    assert ends[0] != ends[1]
    assert len(traces) == initial


def test_batches_of_different_shapes_give_the_gradient_of_the_one_that_is_drawn():
    sets = tuple(jnp.full((4, width), float(width)) for width in (2, 3))

    def objective(model, batch, key):
        return model @ jnp.array([batch.shape[1], batch[0, 0]])

    rule = learning.Descent(
        objective, learning.Mixture.of_sets(sets, 2), learning.sgd(1.0), key=KEY,
        measure=lambda model: {"model": model},
    )  # fmt: skip
    _, curves = learning.train(rule, rule.init(jnp.zeros(2)), 30)
    moves = -np.diff(curves["model"], axis=0)
    assert set(moves[:, 0]) == {2, 3}
    np.testing.assert_array_equal(moves[:, 0], moves[:, 1])


def test_every_must_be_a_count():
    with pytest.raises(ValueError, match="every=0 is less than 1"):
        descent(every=0)


# Running statistics


@pytest.fixture(scope="module")
def slots():
    images = data.template_mixtures(key=KEY, shape=(2, 3), train=40, test=20)
    return tasks.CompositionalImages(2, images, noise=0.5)


def test_slot_classification_is_adam_with_running_statistics(slots):
    network = jax.jit(
        lambda key: models.ModularImageNetwork(2, 6, modules=3, width=4, trunk=(5,), key=key)
    )(KEY)
    fixed = network.trainable(learn_projections=False)
    rule = learning.Descent(
        learning.SlotLoss(), learning.Sampled(slots, 16), learning.adam(0.01), key=KEY,
        measure=learning.Accuracy({"": slots.sample_test(20, key=KEY)}), trainable=fixed,
    )  # fmt: skip
    state, curves = learning.train(rule, rule.init(network), 3)
    learns, rest = eqx.partition(network, fixed)
    optimizer, statistics = optax.adam(0.01), network.initial()
    opt_state = optimizer.init(learns)

    @jax.jit
    def slope(learns, statistics, t):
        batch = slots.sample(16, key=jax.random.fold_in(KEY, t))

        def loss(learns):
            logits, after = eqx.combine(learns, rest)(batch.x, statistics, training=True)
            chosen = jnp.take_along_axis(
                jax.nn.log_softmax(logits), batch.labels[..., None], axis=-1
            )
            return -chosen.mean(), after

        return jax.grad(loss, has_aux=True)(learns)

    for t in range(3):
        gradient, statistics = slope(learns, statistics, t)
        updates, opt_state = optimizer.update(gradient, opt_state)
        learns = optax.apply_updates(learns, updates)
    ours = jax.tree.leaves((state.learns, state.carry))
    for a, b in zip(ours, jax.tree.leaves((learns, statistics)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-5)
    np.testing.assert_array_equal(state.model.U, network.U)
    # Measurements are by the running statistics, which they leave alone.
    test = rule.measure.sets[""]
    logits, after = state.model(test.x, state.carry)
    assert jax.tree.all(jax.tree.map(np.array_equal, after, state.carry))
    assert curves["accuracy"][-1] == pytest.approx((logits.argmax(-1) == test.labels).mean())


def test_a_batch_of_one_has_no_variance(slots):
    network = jax.jit(lambda key: models.BatchNormMLP(2, 6, hidden=(4,), key=key))(KEY)
    rule = learning.Descent(
        learning.SlotLoss(), learning.Sampled(slots, 1), learning.adam(0.01), key=KEY
    )
    with pytest.raises(ValueError, match="a batch of 1 has no variance"):
        rule.init(network)
