from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from recombine import learning, models
from recombine.learning._adaptation import query_loss
from recombine.models import NonlinearGenerator
from recombine.tasks import Episode, Examples

KEY = jax.random.key(0)
SIZES = (3, 4, 2)
SMALL = partial(NonlinearGenerator.create, width=3, depth=1)


def linear(key):
    return models.mlp_hypernetwork(SIZES, 3, differentiate_norm=True, key=key)


def nonlinear(key):
    """Generates its first layer; the readout is fast."""
    target = models.MLP(SIZES, key=key)
    groups = [[lambda t: t.layers[0]]]
    return models.Hypernetwork(target, groups, SMALL, 3, differentiate_norm=True, key=key)


def maml(key):
    return models.MAML(models.MLP(SIZES, key=key))


def anil(key):
    return models.ANIL(models.MLP(SIZES, key=key))


MODELS = {"linear": linear, "nonlinear": nonlinear, "maml": maml, "anil": anil}


def random_model(name, seed=1):
    """With random numbers for all slow parameters, so that no bias is 0: without compiling."""
    draw = np.random.default_rng(seed).normal
    shapes = eqx.filter_eval_shape(MODELS[name], KEY)
    model = jax.tree.map(lambda leaf: jnp.asarray(draw(scale=0.7, size=leaf.shape)), shapes)
    if name == "linear":
        zero = jax.tree.map(jnp.zeros_like, model.rest)
        model = eqx.tree_at(lambda m: m.rest, model, zero)
    return model


def examples(rng, *tasks, samples=6):
    x = rng.normal(size=(*tasks, samples, 3))
    y = rng.dirichlet(np.ones(2), (*tasks, samples))
    return Examples(*map(jnp.asarray, (x, y, np.ones((*tasks, samples)))))


def episodes(*tasks, seed=0):
    rng = np.random.default_rng(seed)
    return Episode(examples(rng, *tasks), examples(rng, *tasks), jnp.zeros((*tasks, 1, 1)))


def adaptation(**options):
    return learning.Adaptation(learning.kl_divergence, **({"steps": 3} | options))


class Point(models.AbstractMetaModel[jax.Array]):
    """Predicts its fast parameters, whatever the input. `seen` counts calls of `features`."""

    start: jax.Array
    seen: list = eqx.field(static=True, default_factory=list)

    def initial(self):
        return self.start

    def features(self, x):
        self.seen.append(x.shape)
        return x

    def network(self, fast):
        return lambda x: jnp.broadcast_to(fast, (len(x), len(fast)))


def points(*y):
    y = jnp.asarray(y, float)
    return Examples(jnp.zeros((len(y), 1)), y, jnp.ones(len(y)))


def slow_adamw(gradient, start, steps, rate):
    """AdamW with a constant under the root, number by number."""
    value, m, v = np.array(start), 0.0, 0.0
    for t in range(1, steps + 1):
        g = np.asarray(gradient(value))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        unbiased, squared = m / (1 - 0.9**t), v / (1 - 0.999**t)
        step = unbiased / (np.sqrt(squared + np.finfo(np.float32).eps) + 1e-8)
        value = value - rate * (step + 1e-4 * value)
    return value


def test_adaptation_is_adamw_on_the_support_loss(x64):
    model = Point(jnp.array([1.0, -2.0]))
    support = points([3.0, 0.0], [1.0, 1.0])
    rule = learning.Adaptation(
        learning.half_squared_error, steps=7, optimizer=learning.inner_adamw(0.3)
    )
    found = jax.jit(lambda: rule(model, support, key=KEY))()
    # The gradient of the loss is the distance to the mean target, (2, 0.5).
    expected = slow_adamw(lambda w: w - np.array([2.0, 0.5]), [1.0, -2.0], 7, 0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("first_order", [False, True])
def test_the_gradient_through_one_step_of_descent_by_hand(first_order, x64):
    rule = learning.Adaptation(
        learning.half_squared_error,
        steps=2,
        optimizer=learning.sgd(0.25),
        first_order=first_order,
    )
    episode = Episode(points([2.0]), points([5.0]), jnp.zeros((1, 1)))
    loss, gradient = jax.jit(
        jax.value_and_grad(lambda start: query_loss(Point(start), episode, rule, key=KEY))
    )(jnp.array([1.0]))
    # 1 → 1.25 → 1.4375; each step multiplies the derivative by 1 - 0.25.
    assert loss == pytest.approx((1.4375 - 5) ** 2 / 2, rel=1e-14)
    derivative = 1.0 if first_order else 0.75**2
    assert gradient[0] == pytest.approx(derivative * (1.4375 - 5), rel=1e-14)


@eqx.filter_jit
def meta_loss(slow, other, episode, rule):
    """The mean query loss of two tasks, and its gradient."""

    def loss(slow):
        model = eqx.combine(slow, other)
        keys = jax.random.split(KEY, 2)
        one = jax.vmap(lambda e, k: query_loss(model, e, rule, key=k))
        return one(episode, keys).mean()

    return jax.value_and_grad(loss)(slow)


def meta_gradient(model, rule):
    return meta_loss(*model.partition(), episodes(2), rule)[1]


def assert_same(a, b, rtol):
    """Leaf by leaf, relative to the largest number of a leaf."""
    for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        np.testing.assert_allclose(x, y, rtol=0, atol=rtol * np.abs(y).max())


@pytest.mark.parametrize("name", MODELS)
def test_the_meta_gradient_equals_finite_differences(name, x64):
    """Through AdamW and its memory: along one random direction a slow array, and along all."""
    model, episode, rule = random_model(name), episodes(2), adaptation()
    slow, other = model.partition()
    leaves, structure = jax.tree.flatten(jax.tree.map(np.asarray, slow))
    slopes = [*map(np.asarray, jax.tree.leaves(meta_loss(slow, other, episode, rule)[1]))]
    draw = np.random.default_rng(0).normal
    directions = [draw(size=leaf.shape) for leaf in leaves]
    only = [[d * (i == j) for j, d in enumerate(directions)] for i in range(len(leaves))]
    scale = max(np.linalg.norm(slope) for slope in slopes)

    def loss(along, size):
        moved = [leaf + size * d for leaf, d in zip(leaves, along, strict=True)]
        return float(meta_loss(jax.tree.unflatten(structure, moved), other, episode, rule)[0])

    for along in [*only, directions]:
        along = [d / np.sqrt(sum(np.sum(e**2) for e in along)) for d in along]
        expected = (loss(along, 1e-5) - loss(along, -1e-5)) / 2e-5
        found = sum(np.sum(s * d) for s, d in zip(slopes, along, strict=True))
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-8 * scale)


def test_the_scale_of_embeddings_is_a_constant_in_both_gradients(x64):
    """Against finite differences of a slow inner loop that uses the scales of another run."""
    shapes = eqx.filter_eval_shape(lambda: models.mlp_hypernetwork(SIZES, 3, key=KEY))
    draw = np.random.default_rng(1).normal
    model = jax.tree.map(lambda leaf: jnp.asarray(draw(size=leaf.shape)), shapes)
    model = eqx.tree_at(lambda m: m.rest, model, jax.tree.map(jnp.zeros_like, model.rest))
    episode, rate = episodes(seed=2), 0.2
    rule = adaptation(steps=2, optimizer=optax.sgd(rate))

    def loss(banks, fast, scales, part):
        h = part.x
        for n, (bank, e, s) in enumerate(zip(banks, fast[0], scales, strict=True)):
            a, b = SIZES[n : n + 2]
            vector = (e * s) @ bank
            h = h @ vector[: a * b].reshape(a, b) / np.sqrt(a) + vector[a * b :]
            h = jnp.maximum(h, 0) if n == 0 else h + fast[1]
        return rule.loss(h, part)

    @jax.jit
    def slow_query_loss(banks, embeddings, given):
        fast, used = ((embeddings[0][0], embeddings[1][0]), jnp.zeros(2)), []
        for step in range(3):
            used.append([np.sqrt(3) / jnp.linalg.norm(e) for e in fast[0]])
            scales = used[-1] if given is None else given[step]
            if step == 2:
                return loss(banks, fast, scales, episode.query), used
            slope = jax.grad(loss, argnums=1)(banks, fast, scales, episode.support)
            fast = jax.tree.map(lambda f, g: f - rate * g, fast, slope)

    banks = [g.bank for g in model.generators]
    value, scales = slow_query_loss(banks, model.embeddings, None)
    found, slope = jax.jit(jax.value_and_grad(lambda m: query_loss(m, episode, rule, key=KEY)))(
        model
    )
    assert found == pytest.approx(float(value), rel=1e-13)
    starts = [*map(np.asarray, (*banks, *model.embeddings))]
    slopes = [g.bank for g in slope.generators] + list(slope.embeddings)
    for n, start in enumerate(starts):
        along = draw(size=start.shape)

        def moved(size, n=n, along=along):
            arrays = [a + size * along if i == n else a for i, a in enumerate(starts)]
            return float(slow_query_loss(arrays[:2], tuple(arrays[2:]), scales)[0])

        expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
        assert np.sum(np.asarray(slopes[n]) * along) == pytest.approx(expected, rel=1e-6)


def test_the_first_order_gradient_of_descent_is_that_of_the_query_loss_where_it_ends(x64):
    model, episode = random_model("maml"), episodes(seed=3)
    rule = adaptation(optimizer=optax.sgd(0.1), first_order=True)

    @jax.jit
    def both(slow):
        fast = rule(slow, episode.support, key=KEY)
        at_end = jax.grad(lambda f: rule.loss(model(episode.query.x, f), episode.query))(fast)
        return at_end, jax.grad(lambda s: query_loss(s, episode, rule, key=KEY))(slow)

    at_end, through = both(model)
    assert_same(through.start, at_end, 1e-12)


@pytest.mark.parametrize("make", [optax.adamw, learning.inner_adamw])
def test_zero_gradients_are_harmless_only_with_a_constant_under_the_root(make):
    """√v has an infinite derivative at v = 0, which plain AdamW meets."""
    nothing = points([1.0])._replace(weight=jnp.zeros(1))
    episode = Episode(nothing, points([5.0]), jnp.zeros((1, 1)))
    rule = learning.Adaptation(learning.half_squared_error, steps=2, optimizer=make(0.1))
    slope = jax.jit(jax.grad(lambda start: query_loss(Point(start), episode, rule, key=KEY)))(
        jnp.array([1.0])
    )
    if make is optax.adamw:
        assert np.isnan(slope[0])
    else:
        # All that happens is weight decay.
        assert slope[0] == pytest.approx(1.0 - 5, rel=1e-3)


def test_rematerialising_gives_the_same_gradient(x64):
    model = random_model("anil")
    stored = meta_gradient(model, adaptation())
    again = meta_gradient(model, adaptation(rematerialise=True))
    assert_same(again, stored, 1e-12)


@pytest.mark.parametrize(
    "make",
    [
        optax.sgd,
        lambda rate: optax.sgd(rate, momentum=0.9),
        lambda rate: optax.rmsprop(rate, eps=1e-4),
        lambda rate: optax.adam(rate, eps_root=1e-8),
        lambda rate: optax.chain(optax.clip_by_global_norm(1.0), optax.scale(-1.0 * rate)),
    ],
    ids=["sgd", "momentum", "rmsprop", "adam", "chain"],
)
def test_any_optimizer_can_adapt_and_be_differentiated_through(make):
    support = points([2.0, 0.0], [4.0, 2.0])
    rule = learning.Adaptation(learning.half_squared_error, steps=60, optimizer=make(0.05))

    @jax.jit
    def run(start):
        return rule(Point(start), support, key=KEY)

    start = jnp.array([0.0, 5.0])
    fast = run(start)
    target = np.array([3.0, 1.0])
    assert np.all(np.abs(fast - target) < 0.6 * np.abs(start - target))
    slope = jax.jit(jax.grad(lambda s: run(s).sum()))(start)
    assert np.all(np.isfinite(slope))


def test_anil_adapts_as_if_its_whole_network_were_differentiated(x64):
    """Features computed once, against the loss through all layers at every step."""
    model, episode = random_model("anil"), episodes(seed=5)
    rule = adaptation(steps=2)

    def slow_query_loss(model):
        optimizer = learning.inner_adamw(0.1)
        whole = eqx.tree_at(lambda m: m.layers, model.body, (*model.body.layers, model.readout))

        def loss(readout, part):
            network = eqx.tree_at(lambda m: m.layers[-1], whole, readout)
            return rule.loss(network(part.x), part)

        readout = model.readout
        opt_state = optimizer.init(readout)
        for _ in range(2):
            gradient = jax.grad(loss)(readout, episode.support)
            updates, opt_state = optimizer.update(gradient, opt_state, readout)
            readout = optax.apply_updates(readout, updates)
        return loss(readout, episode.query)

    expected, slow = jax.jit(jax.value_and_grad(slow_query_loss))(model)
    found, fast = jax.jit(jax.value_and_grad(lambda m: query_loss(m, episode, rule, key=KEY)))(
        model
    )
    assert found == pytest.approx(float(expected), rel=1e-13)
    assert_same(fast, slow, 1e-11)


def test_features_are_computed_once_per_task_and_not_once_per_step():
    model = Point(jnp.zeros(2))
    rule = learning.Adaptation(learning.half_squared_error, steps=3, optimizer=optax.sgd(0.1))
    with jax.disable_jit():
        rule(model, points([1.0, 2.0]), key=KEY)
    assert model.seen == [(1, 1)]


def one_step(batch, targets, key):
    """With a learning rate of 1, one step of descent ends at the mean of what was drawn."""
    rule = learning.Adaptation(
        learning.half_squared_error,
        steps=1,
        optimizer=optax.sgd(1.0),
        batch_size=batch,
    )
    return rule(Point(jnp.zeros(1)), points(*targets), key=key)[0]


def test_mini_batches_are_drawn_with_replacement_and_uniformly():
    targets = [[0.0], [1.0], [10.0]]
    keys = jax.random.split(KEY, 3000)
    drawn = {
        batch: np.asarray(jax.jit(jax.vmap(lambda k, b=batch: one_step(b, targets, k)))(keys))
        for batch in (1, 2)
    }
    values, counts = np.unique(drawn[1], return_counts=True)
    np.testing.assert_array_equal(values, [0, 1, 10])
    np.testing.assert_allclose(counts / 3000, 1 / 3, atol=0.04)
    values, counts = np.unique(drawn[2], return_counts=True)
    np.testing.assert_allclose(values, [0, 0.5, 1, 5, 5.5, 10], rtol=1e-6)
    np.testing.assert_allclose(counts / 3000, np.array([1, 2, 1, 2, 2, 1]) / 9, atol=0.04)


def test_every_step_draws_a_batch_of_its_own_and_all_samples_need_no_drawing():
    rule = learning.Adaptation(
        learning.half_squared_error, steps=2, optimizer=optax.sgd(0.5), batch_size=1
    )

    @eqx.filter_jit
    def ends(rule):
        keys = jax.random.split(KEY, 200)
        support = points([0.0], [8.0])
        return jax.vmap(lambda k: rule(Point(jnp.zeros(1)), support, key=k)[0])(keys)

    # From 0 half-way to the first target drawn, then half-way to the second.
    np.testing.assert_array_equal(np.unique(ends(rule)), [0, 2, 4, 6])
    assert np.unique(ends(eqx.tree_at(lambda r: r.batch_size, rule, None))) == [3.0]


def test_no_steps_leave_the_start():
    model = Point(jnp.array([1.0, 2.0]))
    rule = learning.Adaptation(learning.half_squared_error, steps=0)
    np.testing.assert_array_equal(rule(model, points([3.0, 4.0]), key=KEY), [1, 2])


@pytest.mark.parametrize("batch_size", [None, 2])
def test_tasks_adapted_together_are_those_adapted_alone(batch_size):
    y = np.random.default_rng(0).normal(size=(5, 4, 2))
    support = Examples(*map(jnp.asarray, (np.zeros((5, 4, 1)), y, np.ones((5, 4)))))
    model = Point(jnp.zeros(2))
    rule = learning.Adaptation(
        learning.half_squared_error, steps=2, optimizer=optax.sgd(0.5), batch_size=2
    )
    fast = jax.jit(lambda: learning.adapt(model, support, rule, batch_size=batch_size, key=KEY))()
    alone = jax.jit(lambda task, key: rule(model, task, key=key))
    for n, key in enumerate(jax.random.split(KEY, 5)):
        expected = alone(jax.tree.map(lambda a, n=n: a[n], support), key)
        np.testing.assert_allclose(fast[n], expected, rtol=1e-5)
    predictions = jax.vmap(model)(support.x, fast)
    np.testing.assert_array_equal(predictions, np.repeat(fast[:, None], 4, axis=1))


def test_adaptation_lowers_the_loss_and_the_query_loss_is_that_of_the_adapted_network():
    model, episode, rule = random_model("linear"), episodes(), adaptation(steps=20)

    @jax.jit
    def losses():
        def loss(fast, part):
            return rule.loss(model(part.x, fast), part)

        start, fast = model.initial(), rule(model, episode.support, key=KEY)
        by_hand = loss(fast, episode.query)
        found = query_loss(model, episode, rule, key=KEY)
        return loss(start, episode.support), loss(fast, episode.support), by_hand, found

    before, after, by_hand, found = losses()
    assert after < 0.9 * before
    assert found == pytest.approx(float(by_hand), rel=1e-5)
