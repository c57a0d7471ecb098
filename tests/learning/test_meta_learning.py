import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from recombine import learning, models, splits, tasks
from recombine.learning._adaptation import query_loss
from recombine.tasks import Episode, Examples

KEY = jax.random.key(0)
LOSS = learning.half_squared_error


class Lines(tasks.AbstractTask):
    """y = x A with one matrix A per task, near one matrix that all share."""

    shared: jax.Array
    spread: jax.Array

    def sample(self, size, *, key):
        of_maps, *of_inputs = jax.random.split(key, 3)
        maps = self.shared + self.spread * jax.random.normal(of_maps, (size, *self.shared.shape))

        def examples(key):
            x = jax.random.normal(key, (size, 4, len(self.shared)))
            return Examples(x, x @ maps, jnp.ones((size, 4)))

        return Episode(*map(examples, of_inputs), jnp.zeros((size, 1, 1)))


LINES = Lines(jnp.array([[1.0, 2.0], [-1.0, 0.5]]), jnp.asarray(0.3))
NOWHERE = Lines(jnp.full((2, 2), jnp.nan), jnp.asarray(0.3))


def mean_output(prediction, examples):
    return prediction.mean()


@jax.jit
def drawn_sets():
    keys = jax.random.split(KEY)
    return {name: LINES.sample(n, key=k) for name, n, k in zip("ab", (3, 2), keys, strict=True)}


SETS = drawn_sets()
START = jax.jit(lambda: models.MAML(models.MLP((2, 2), key=KEY)))()


def rule_of(task=LINES, sets=SETS, steps=2, batch=None, **options):
    """Numbers are arrays, as they are in training: rules of one shape share one compilation."""
    numbers = {"learning_rate": 0.1, "weight_decay": 0.01, "clip": 1.0}
    rate, decay, norm = (jnp.asarray(options.pop(name, x)) for name, x in numbers.items())
    optimizer = learning.chain(learning.clip(norm), learning.adamw(rate, weight_decay=decay))
    inner = learning.inner_adamw(jnp.asarray(0.1))
    adaptation = learning.Adaptation(LOSS, steps=steps, optimizer=inner, batch_size=batch)
    options = {"tasks": 4, "every": 2, "measures": {"output": mean_output}} | options
    return learning.MetaLearning(
        task, adaptation, tasks.TaskSets(sets), options.pop("optimizer", optimizer), **options
    )


STEP = eqx.filter_jit(lambda rule, state, t: rule.step(state, t))
INIT = eqx.filter_jit(lambda rule, model: rule.init(model, key=KEY))
OBSERVE = eqx.filter_jit(lambda rule, state: rule.observe(state))
GRADIENT = eqx.filter_jit(lambda rule, model, episode: rule.gradient(model, episode, key=KEY))


def steps_of(rule, model, steps):
    """All states, one step at a time."""
    states = [INIT(rule, model)]
    for t in range(steps):
        states.append(STEP(rule, states[-1], jnp.asarray(t)))
    return states


def same(a, b):
    def plain(leaf):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    pairs = zip(*map(jax.tree.leaves, (a, b)), strict=True)
    return all(np.array_equal(plain(x), plain(y), equal_nan=True) for x, y in pairs)


def test_measurements_are_means_over_the_tasks_of_a_set():
    rule = rule_of()
    expected = {}
    adapt = jax.jit(lambda support: rule.adaptation(START, support, key=KEY))
    for name, episode in SETS.items():
        losses, outputs = [], []
        for n in range(len(episode.code)):
            support, query, _ = jax.tree.map(lambda a, n=n: np.asarray(a[n]), episode)
            weight, bias = map(np.asarray, adapt(jax.tree.map(jnp.asarray, support)))
            prediction = query.x @ weight + bias
            losses.append(np.mean(np.sum((prediction - query.y) ** 2, -1) / 2))
            outputs.append(prediction.mean())
        expected |= {f"{name} loss": np.mean(losses), f"{name} output": np.mean(outputs)}
    observed = OBSERVE(rule, INIT(rule, START))
    assert set(observed) == {"loss", *expected}
    for name, value in expected.items():
        assert observed[name] == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert observed["loss"] == observed["a loss"]


def grouped(batch_size):
    return rule_of(batch_size=batch_size)


@pytest.mark.parametrize("batch_size", [2, 8])
def test_measurements_do_not_depend_on_how_many_tasks_are_worked_on_batch_size(batch_size):
    together, apart = (
        OBSERVE(rule, INIT(rule, START)) for rule in map(grouped, (None, batch_size))
    )
    for name in together:
        assert apart[name] == pytest.approx(float(together[name]), rel=1e-5)


def test_more_steps_of_adaptation_may_be_taken_when_measuring():
    as_trained, longer, trained_longer = (
        OBSERVE(rule, INIT(rule, START))
        for rule in (rule_of(), rule_of(test_steps=9), rule_of(steps=9))
    )
    assert longer["a loss"] < 0.9 * as_trained["a loss"]
    assert same(longer, trained_longer)


def test_the_trained_model_with_the_lowest_loss_is_kept():
    rule = rule_of(learning_rate=1.0)
    states = steps_of(rule, START, 12)
    losses = [float(OBSERVE(rule, state)["a loss"]) for state in states[2::2]]
    # The learning rate is so high that the loss goes up and down.
    best = int(np.argmin(losses))
    assert 0 < best < len(losses) - 1
    end, curves = learning.train(rule, INIT(rule, START), 12)
    np.testing.assert_allclose(curves["loss"][1:], losses, rtol=1e-4)
    kept, step = rule.kept(end)
    assert step == 2 * (best + 1)
    found = OBSERVE(rule, end._replace(model=kept))
    assert found["loss"] == pytest.approx(losses[best], rel=1e-4)


def test_a_model_that_cannot_be_measured_is_not_kept():
    rule = rule_of(task=NOWHERE)  # no step is taken
    broken = jax.tree.map(lambda a: jnp.full_like(a, jnp.nan), START)
    state = INIT(rule, START)._replace(model=broken)
    end, curves = learning.train(rule, state, 4)
    assert np.isnan(curves["loss"]).all()
    kept, step = rule.kept(end)
    assert step == 0
    assert same(kept, START)


def test_a_learning_rate_of_0_leaves_the_model_alone():
    last = steps_of(rule_of(learning_rate=0.0, weight_decay=0.5), START, 3)[-1]
    assert same(last.model, START)


def slow_adamw(rule, model, steps, rate, decay, clip):
    """AdamW on clipped gradients by its definition, in double precision."""
    leaves, shape = jax.tree.flatten(model)
    leaves = [np.asarray(leaf, float) for leaf in leaves]
    m, v, key, norms = [0.0] * len(leaves), [0.0] * len(leaves), KEY, []
    for t in range(steps):
        key, of_tasks, of_batches = jax.random.split(key, 3)
        episode = DRAW(rule.task, of_tasks)
        now = jax.tree.unflatten(shape, [jnp.asarray(leaf, jnp.float32) for leaf in leaves])
        gradient = GRADIENT_OF(rule, now, episode, of_batches)[1]
        gradient = [np.asarray(g, float) for g in jax.tree.leaves(gradient)]
        norms.append(np.sqrt(sum(np.sum(g**2) for g in gradient)))
        for i, g in enumerate(gradient):
            g = g * min(1, clip / norms[-1])
            m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g**2
            move = m[i] / (1 - 0.9 ** (t + 1)) / (np.sqrt(v[i] / (1 - 0.999 ** (t + 1))) + 1e-8)
            leaves[i] = leaves[i] - rate * (move + decay * leaves[i])
    return leaves, norms


DRAW = eqx.filter_jit(lambda task, key: task.sample(4, key=key))
GRADIENT_OF = eqx.filter_jit(
    lambda rule, model, episode, key: rule.gradient(model, episode, key=key)
)


def test_steps_are_those_of_adamw_on_clipped_gradients():
    """The first step of Adam is the same for gradients of any length; five steps are not."""
    rate, decay, clip = 0.3, 0.2, 0.5
    rule = rule_of(learning_rate=rate, weight_decay=decay, clip=clip)
    last = steps_of(rule, START, 5)[-1].model
    slow, norms = slow_adamw(rule, START, 5, rate, decay, clip)
    # Some gradients are cut, and by different factors.
    assert max(norms) > 3 * clip
    assert max(norms) > 1.5 * min(norms)
    for ours, expected in zip(jax.tree.leaves(last), slow, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=2e-4)
    unclipped, _ = slow_adamw(rule, START, 5, rate, decay, np.inf)
    assert max(np.abs(a - b).max() for a, b in zip(slow, unclipped, strict=True)) > 0.01


def test_by_default_long_gradients_are_cut_to_a_norm_of_1_before_adamw():
    plain = learning.MetaLearning(LINES, rule_of().adaptation, tasks.TaskSets(SETS), tasks=4)
    last = steps_of(plain, START, 5)[-1].model
    slow, norms = slow_adamw(plain, START, 5, 0.001, 0.01, 1.0)
    assert max(norms) > 1
    for ours, expected in zip(jax.tree.leaves(last), slow, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_steps_with_gradients_that_are_not_finite_are_left_out():
    rule = rule_of()
    state = INIT(rule, START)
    nowhere = STEP(eqx.tree_at(lambda r: r.task, rule, NOWHERE), state, jnp.asarray(0))
    assert same((nowhere.model, nowhere.opt_state), (state.model, state.opt_state))
    assert not same(nowhere.key, state.key)
    onward = STEP(rule, nowhere, jnp.asarray(1))
    assert not same(onward.model, state.model)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(onward.model))


def test_the_gradient_is_that_of_the_mean_query_loss():
    rule, episode = rule_of(), SETS["a"]

    @jax.jit
    @jax.value_and_grad
    def one(model, task):
        return query_loss(model, task, rule.adaptation, key=KEY)

    parts = [one(START, jax.tree.map(lambda a, n=n: a[n], episode)) for n in range(3)]
    expected = jax.tree.map(lambda *values: np.mean(values, 0), *parts)
    for x, y in zip(*map(jax.tree.leaves, (GRADIENT(rule, START, episode), expected)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)


def test_tasks_batch_size_do_not_change_the_gradient_and_must_divide_the_tasks():
    episode = jax.jit(lambda: LINES.sample(6, key=KEY))()
    together, apart = (GRADIENT(rule_of(batch_size=n), START, episode) for n in (None, 2))
    for x, y in zip(*map(jax.tree.leaves, (together, apart)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"batch_size \(4\) must divide the number of tasks \(6\)"):
        GRADIENT(rule_of(batch_size=4), START, episode)


DEVICES = "--xla_force_host_platform_device_count=2"
SPREAD = """
import jax, numpy as np
from test_meta_learning import GRADIENT, INIT, KEY, LINES, START, STEP, rule_of

two = jax.sharding.Mesh(np.array(jax.devices()), ("tasks",))
assert two.size == 2
episode = jax.jit(lambda: LINES.sample(4, key=KEY))()
here, there = (GRADIENT(rule_of(mesh=mesh), START, episode) for mesh in (None, two))
for x, y in zip(*map(jax.tree.leaves, (here, there)), strict=True):
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)

rule = rule_of(mesh=two)
state = rule.init(START, key=KEY)
after = STEP(rule, state, np.int32(0))
placed = lambda tree: [a.sharding for a in jax.tree.leaves(tree) if isinstance(a, jax.Array)]
assert placed(after) == placed(state), "the second step would compile anew"
"""


def test_tasks_spread_over_devices_give_the_same_gradient():
    subprocess.run(
        [sys.executable, "-c", SPREAD],
        cwd=Path(__file__).parent,
        env=os.environ | {"XLA_FLAGS": " ".join((os.environ["XLA_FLAGS"], DEVICES))},
        check=True,
    )


class OwnNetwork(eqx.Module):
    """With parameters to leave alone, and a function and whole numbers among its leaves."""

    layer: models.Dense
    shift: jax.Array
    activation: Callable
    order: jax.Array

    def __call__(self, x):
        return self.activation(self.layer(x[:, self.order])) + self.shift


def test_what_a_hypernetwork_does_not_generate_is_neither_learned_nor_decayed():
    target = OwnNetwork(
        models.Dense(jnp.zeros((2, 2)), None, True),
        jnp.array([3.0, -2.0]),
        jnp.arctan,
        jnp.array([1, 0]),
    )

    @jax.jit
    def make(key):
        groups = [[lambda t: t.layer]]
        return models.Hypernetwork(target, groups, models.LinearGenerator.create, 2, key=key)

    states = steps_of(rule_of(weight_decay=1.0), make(KEY), 2)
    assert all(eqx.is_array(leaf) for leaf in jax.tree.leaves(states[-1]))
    first, last = (state.model.network(state.model.initial()) for state in states[::2])
    assert not np.allclose(first.layer.weight, last.layer.weight)
    np.testing.assert_array_equal(last.shift, [3, -2])
    np.testing.assert_array_equal(last.order, [1, 0])


def test_a_linear_hypernetwork_learns_a_small_hyperteacher():
    codes = splits.ListedCodes(splits.up_to_k_hot_masks(3, 2))
    task = tasks.HyperTeacher(
        codes, inputs=3, hidden=4, outputs=2, hidden_layers=1, support=16, query=16,
        fixed_inputs=50, key=KEY,
    )  # fmt: skip
    episode, model = eqx.filter_jit(
        lambda task: (task.sample(16, key=KEY), models.mlp_hypernetwork((3, 8, 2), 6, key=KEY))
    )(task)
    rule = learning.MetaLearning(
        task,
        learning.Adaptation(learning.kl_divergence, steps=5),
        tasks.TaskSets({"valid": episode}),
        learning.chain(learning.clip(1.0), learning.adamw(0.03, weight_decay=0.01)),
        tasks=16,
        every=60,
    )
    _, curves = learning.train(rule, INIT(rule, model), 60)
    assert curves["loss"][1] < 0.6 * curves["loss"][0]


def test_sets_of_tasks_keep_their_names_and_places():
    sets = tasks.TaskSets(SETS)
    assert (sets.names, sets.sizes) == (("a", "b"), (3, 2))
    for name, place in sets.slices().items():
        assert same(jax.tree.map(lambda a, p=place: a[p], sets.episodes), SETS[name])


def test_sets_that_cannot_be_measured_together_are_refused():
    with pytest.raises(ValueError, match="name one set of tasks at least"):
        tasks.TaskSets({})
    fewer = jax.tree.map(lambda a: a[:, :1], SETS["b"])
    with pytest.raises(ValueError, match="must have the same shapes"):
        tasks.TaskSets(SETS | {"b": fewer})


def test_the_state_of_the_outer_optimizer_is_as_long_as_the_slow_parameters():
    opt_state = INIT(rule_of(), START).opt_state
    moments = [s for s in jax.tree.leaves(opt_state, is_leaf=is_adam) if is_adam(s)]
    assert [models.count_parameters(m) for m in (moments[0].mu, moments[0].nu)] == [6, 6]


def is_adam(part):
    return isinstance(part, optax.ScaleByAdamState)


def test_the_best_model_is_chosen_on_the_set_that_is_named_whatever_its_place():
    sets = jax.jit(lambda valid, ood: {"valid": valid, "ood": ood})(*list(SETS.values())[:2])
    assert next(iter(sets)) == "ood"  # jit sorts names
    assert tasks.TaskSets(sets, chosen_on="valid").chosen_on == "valid"
    with pytest.raises(ValueError, match="no set is called 'test'"):
        tasks.TaskSets(sets, chosen_on="test")
