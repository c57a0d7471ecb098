"""What must be true of every task, model and rule. A new one adds a row and inherits it all."""

import ast
import functools
import inspect
from itertools import pairwise
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recombine
from recombine import data, learning, models, splits, tasks, theory
from recombine.models import specs

KEY = jax.random.key(0)
ITEMS = tasks.hierarchical_items()
MASK = splits.ring_mask(3, 2)
IMAGES = tasks.ImageRouting(
    data.prototypes(key=KEY, shape=(4, 4), train=40, test=20),
    tasks.pixel_permutations(3, 16),
    tasks.random_labels(3, key=KEY),
)
POINTS = tasks.XorTask().examples()
ROUTING = models.RoutingNetwork.orthogonal(0.5, num_domains=3, width=8, key=KEY)
SHARED = models.SharedPathways.orthogonal(0.5, block_sizes=(1, 3), num_domains=3, width=8, key=KEY)
GATED = models.GatedLinearNetwork.random(models.pathway_graph(4), 0.5, key=KEY)
RELU = models.TwoLayerNetwork.random(0.5, hidden=8, key=KEY)
CLASSIFIER = models.GatedClassifier(3, 16, 8, 10, key=KEY)
MODULAR = models.ModularNetwork.random(modules=3, inputs=4, hidden=5, outputs=2, key=KEY)
SLOTS = tasks.CompositionalImages(
    2,
    data.template_mixtures(key=KEY, shape=(2, 3), train=40, test=20),
    held_out=splits.HashedTuples(2, key=KEY),
    noise=0.5,
)
PAIRS = tasks.PairedImages(data.template_mixtures(key=KEY, shape=(8, 4), train=40, test=20))
UNSHARED = models.UnsharedClassifier(3, 16, 8, 10, layers_per_module=2, key=KEY)

TASKS = {
    "XorTask": tasks.XorTask(),
    "ContextTask": tasks.ContextTask(),
    "RoutingTask": tasks.RoutingTask(ITEMS.X, ITEMS.Y, 3, MASK),
    "ImageRouting": IMAGES,
    "HyperTeacher": tasks.HyperTeacher(
        splits.ListedCodes(splits.up_to_k_hot_masks(4, 2)),
        inputs=4,
        hidden=6,
        outputs=3,
        hidden_layers=1,
        support=5,
        query=5,
        key=KEY,
    ),
    "GoalGrid": tasks.GoalGrid(
        tasks.Mazes.random(2, 5, seed=0),
        splits.ListedCodes(tasks.goal_codes(2, 2, 2)),
        objects=2,
        distractors=1,
        min_distance=3,
        steps=24,
    ),
    "PreferenceGrid": tasks.PreferenceGrid(
        jnp.eye(3),
        splits.ListedCodes(splits.up_to_k_hot_masks(3, 2)),
        tasks.ForagingGrid(colours=3, objects=2, layout=("..", ".."), horizon=3),
        support=2,
        query=2,
    ),
    "SineRegression": tasks.SineRegression.random(2, 3, key=KEY),
    "CompositionalImages": SLOTS,
    "PairedImages": PAIRS,
    "Scan": tasks.Scan(tasks.add_primitive_split()),
    "TableLookup": tasks.TableLookup(),
    "ModularTeacher": tasks.ModularTeacher(MODULAR, splits.k_hot_masks(3, 2), samples=5),
    "QuadrantToy": tasks.QuadrantToy(informative=False),
}

CASES = TASKS["HyperTeacher"].sample(8, key=KEY)


def adapting(make):
    """A model that adapts, and what it says before it has."""
    x = CASES.query.x[0]
    return eqx.filter_jit(make)(key=KEY), lambda m: jnp.sum(m(x, m.initial()) ** 2)


def classifying(make):
    """A model with running statistics, and what it says with those that it starts from."""
    model, x = eqx.filter_jit(make)(2, 6, key=KEY), jnp.cos(jnp.arange(48.0)).reshape(4, 12)
    return model, lambda m: jnp.sum(m(x, m.initial())[0] ** 2)


def reading(make):
    """A model that classifies sequences, and what it says of some."""
    tokens, lengths = jnp.array([[1, 2, 3], [3, 1, 0]]), jnp.array([3, 2])
    model = eqx.filter_jit(make)(3, 2, key=KEY)
    return model, lambda m: jnp.sum(m(tokens, lengths) ** 2)


def network(spec, vocabulary, classes, *, key):
    return spec.build(specs.SequenceSizes(vocabulary, classes), key)


ENCODERS = {
    name: kind(width=4, hidden=4, heads=2, layers=2, test_layers=None)
    for name, kind in specs.sequence_specs().items()
    if issubclass(kind, specs.AbstractEncoderSpec)
}
SENTENCES = tasks.SequenceBatch(
    jnp.array([[1, 2, 0], [3, 0, 0]]), jnp.array([3, 2]), jnp.array([[2, 1, 0], [1, 0, 0]]),
    jnp.array([3, 2]),
)  # fmt: skip


class NextSymbols(eqx.Module):
    """Logits of a symbol, looked up by the one before it."""

    table: jax.Array

    def __call__(self, inputs, input_lengths, outputs, output_lengths):
        return self.table[jnp.pad(outputs[:, :-1], ((0, 0), (1, 0)))]


class Bag(eqx.Module):
    """Scores of a sequence that are sums over its tokens."""

    table: jax.Array

    def __call__(self, tokens, lengths, *, key=None):
        counts = jnp.arange(tokens.shape[1]) < lengths[:, None]
        return jnp.where(counts[..., None], self.table[tokens], 0).sum(axis=1)


# The model, and a scalar function of it.
MODELS = {
    "Seq2Seq": (
        eqx.filter_jit(models.Seq2Seq)(4, 3, embedding=2, units=4, output_embedding=2, key=KEY),
        lambda m: jnp.sum(m(*SENTENCES) ** 2),
    ),
    **{name: reading(functools.partial(network, spec)) for name, spec in ENCODERS.items()},
    "RecurrentClassifier": reading(
        functools.partial(models.RecurrentClassifier, embedding=2, units=4, bidirectional=True)
    ),
    "MemoryClassifier": reading(
        functools.partial(
            models.MemoryClassifier, embedding=2, units=4, cells=3, word=2, heads=2, masks=True
        )
    ),
    "GatedLinearNetwork": (GATED, lambda m: m.loss(tasks.XorTask().gated_examples())),
    "TwoLayerNetwork": (RELU, lambda m: m.loss(*POINTS)),
    "RoutingNetwork": (ROUTING, lambda m: jnp.sum(m.outputs(ITEMS.X) ** 2)),
    "SharedPathways": (SHARED, lambda m: jnp.sum(m.outputs(ITEMS.X) ** 2)),
    "GatedClassifier": (CLASSIFIER, lambda m: jnp.sum(m(IMAGES.first_test(5).inputs) ** 2)),
    "UnsharedClassifier": (UNSHARED, lambda m: jnp.sum(m(IMAGES.first_test(5).inputs) ** 2)),
    "ModularNetwork": (MODULAR, lambda m: jnp.sum(m(jnp.ones((2, 3)), jnp.eye(4)) ** 2)),
    "ModularRegressor": (
        models.ModularRegressor.random(3, 4, width=5, layers=2, key=KEY),
        lambda m: jnp.sum(m(jnp.eye(4)) ** 2),
    ),
    "PairedImageCNN": (
        eqx.filter_jit(models.PairedImageCNN)((8, 8, 1), filters=(3, 4), hidden=(8,), key=KEY),
        lambda m: jnp.sum(m(PAIRS.sample(20, key=KEY).x) ** 2),
    ),
    "BatchNormMLP": classifying(functools.partial(models.BatchNormMLP, hidden=(8, 5))),
    "ModularImageNetwork": classifying(
        functools.partial(models.ModularImageNetwork, modules=3, width=4, trunk=(5, 4))
    ),
    "MAML": adapting(lambda key: models.MAML(models.MLP((4, 8, 3), key=key))),
    "ANIL": adapting(lambda key: models.ANIL(models.MLP((4, 8, 3), key=key))),
    "Linear hypernetwork": adapting(
        lambda key: models.mlp_hypernetwork((4, 8, 3), 5, offset=False, key=key)
    ),
    "Nonlinear hypernetwork": adapting(
        lambda key: models.mlp_hypernetwork((4, 8, 3), 5, models.NonlinearGenerator.create, key=key)
    ),
}

META_LEARNING = learning.MetaLearning(
    TASKS["HyperTeacher"],
    learning.Adaptation(learning.kl_divergence, steps=2, batch_size=4),
    tasks.TaskSets({"valid": CASES}),
    learning.adamw(0.03),
    tasks=8,
)
PERSISTENT = learning.persistent_latents(
    TASKS["ModularTeacher"], jnp.eye(3), learning.adam(0.05), 20, batch_size=16, key=KEY
)
REINFERRED = learning.reinferred_latents(
    TASKS["ModularTeacher"], jnp.ones(6), learning.LatentInference(5, learning.adam(0.05), 16),
    learning.adamw(learning.Cosine(0.05, 1e-6, 20)), 20, key=KEY,
)  # fmt: skip
STUDENT = MODULAR.student(2, 2, key=jax.random.key(1))
KERNEL = theory.TangentKernel(ROUTING, ITEMS.X)
DIRECTIONS = learning.KernelDirections(
    models.SplitKernel(),
    jax.random.normal(KEY, (16, 3)),
    jnp.ones((16, 1)),
    jnp.ones((2, 1), bool),
    KEY,
    batch_size=16,
    jitter=1.0,
)

JOINT = learning.JointDirections(
    jax.random.normal(KEY, (16, 3)), jax.random.normal(KEY, (16,)), KEY, batch_size=8
)

LABELLED = tasks.LabelledSequences([[1, 2], [2, 0]], [2, 1], [1, 0], ("", "x", "y"), 2)
REGRESSOR = MODELS["ModularRegressor"][0]
# One row per way to put `Descent` together, and the network that it trains.
DESCENTS = {
    "Descent on labels": (
        learning.Descent(
            learning.ScoreLoss(), learning.Sampled(PAIRS, 64), learning.adam(0.01), key=KEY,
            measure=learning.Accuracy({"": PAIRS.sample(40, key=KEY)}),
        ),
        MODELS["PairedImageCNN"][0],
    ),
    "Descent on slots": (
        learning.Descent(
            learning.SlotLoss(), learning.Sampled(SLOTS, 32), learning.adam(0.03), key=KEY,
            measure=learning.Accuracy({"": SLOTS.sample(40, key=KEY)}),
        ),
        MODELS["ModularImageNetwork"][0],
    ),
    "Descent on routes": (
        learning.Descent(
            learning.RouteLoss(MASK), learning.Sampled(IMAGES, 4),
            learning.sgd(0.1, momentum=0.9), key=KEY,
            measure=lambda m: {"loss": learning.RouteLoss(MASK)(m, IMAGES.first_train(10))},
        ),
        CLASSIFIER,
    ),
    "Descent on a stream": (
        learning.Descent(
            learning.mean_squared_error,
            learning.Shuffled(tasks.SineBatch(jnp.eye(8, 4), jnp.ones(8)), 4),
            learning.adam(0.01), key=KEY, trainable=REGRESSOR.trainable(learn_directions=False),
        ),
        REGRESSOR,
    ),
    "Descent on prepared passes": (
        learning.Descent(
            learning.half_squared_loss,
            learning.Prepared(
                learning.Passes(
                    tasks.Examples(jnp.eye(2), jnp.array([[1.0], [-1.0]]), jnp.ones(2)), 2
                ),
                learning.AddNoise(jnp.array([True, False]), 0.01),
            ),
            learning.sgd(0.1), key=KEY,
        ),
        models.MLP((2, 3, 1), layer=models.Dense.bounded, output=jnp.tanh, key=KEY),
    ),
    "Descent on sentences": (
        learning.Descent(
            learning.teacher_forcing_loss, learning.Sampled(TASKS["Scan"], 8),
            learning.chain(learning.clip(1.0), learning.adam(learning.Staircase(0.03, 0.9, 5))),
            key=KEY,
        ),
        NextSymbols(jnp.zeros((7, 7))),
    ),
    "Descent on a mixture": (
        learning.Descent(
            learning.label_loss, learning.Mixture.of_sets((LABELLED, LABELLED[:1]), 8),
            learning.muon(0.05, learning.WarmupLinear(0.05, 3, 30)), key=KEY,
            measure=learning.SequenceAccuracy({"": LABELLED, "iid": LABELLED}),
            keep=learning.Best("iid_accuracy"), every=5,
        ),
        Bag(jnp.zeros((3, 2))),
    ),
    "persistent_latents": (PERSISTENT, (STUDENT, jnp.ones((3, 6)))),
    "reinferred_latents": (REINFERRED, STUDENT),
}  # fmt: skip

RULES = {
    "JointDirections": (JOINT, JOINT.init(jnp.eye(2, 3))),
    "KernelDirections": (DIRECTIONS, DIRECTIONS.init(jnp.eye(2, 3))),
    "GradientDescent": (
        learning.GradientDescent(
            jax.tree_util.Partial(models.TwoLayerNetwork.loss, x=POINTS.x, y=POINTS.y), 0.1
        ),
        RELU,
    ),
    "routing_descent": (learning.routing_descent(ITEMS.X, ITEMS.Y, MASK, 0.01), ROUTING),
    "MetaLearning": (META_LEARNING, META_LEARNING.init(MODELS["MAML"][0], key=KEY)),
    "LinearisedDescent": (
        learning.LinearisedDescent(KERNEL, ITEMS.Y, MASK, 0.01),
        ROUTING.outputs(ITEMS.X),
    ),
} | {name: (rule, rule.init(network)) for name, (rule, network) in DESCENTS.items()}


def plain(leaf):
    """A key as numbers."""
    is_key = hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def same(a, b):
    pairs = zip(*map(jax.tree.leaves, (a, b)), strict=True)
    return all(np.array_equal(plain(x), plain(y)) for x, y in pairs if eqx.is_array(x))


def public(package, base):
    """The names of a package's concrete subclasses of `base`."""
    return {
        name
        for name in dir(package)
        if inspect.isclass(getattr(package, name))
        and issubclass(getattr(package, name), base)
        and not name.startswith("Abstract")
    }


def test_every_task_and_rule_has_a_row():
    assert public(tasks, tasks.AbstractTask) == set(TASKS)
    rules = public(learning, learning.AbstractRule)
    assert rules <= {type(rule).__name__ for rule, _ in RULES.values()}


def constant_is_documented(package, name):
    """A constant holds no docstring at run time: a string follows it in the source."""
    for path in Path(package.__file__).parent.glob("*.py"):
        for statement, after in pairwise(ast.parse(path.read_text()).body):
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            if any(getattr(target, "id", None) == name for target in targets):
                return isinstance(after, ast.Expr) and isinstance(
                    ast.literal_eval(after.value), str
                )
    return False


@pytest.mark.parametrize(
    "package", ["data", "learning", "models", "probes", "splits", "tasks", "theory"]
)
def test_every_public_name_has_a_docstring(package):
    module = getattr(recombine, package)
    assert dir(module)
    for name in dir(module):
        documented = inspect.getdoc(getattr(module, name)) or constant_is_documented(module, name)
        assert documented, f"{package}.{name}"


@pytest.mark.parametrize("name", TASKS)
def test_sampling_is_deterministic_in_its_key(name):
    task = TASKS[name]
    assert same(task.sample(16, key=KEY), task.sample(16, key=KEY))
    assert not same(task.sample(16, key=KEY), task.sample(16, key=jax.random.key(1)))


@pytest.mark.parametrize("name", TASKS)
def test_a_sample_has_the_size_asked_for_and_compiles(name):
    task = TASKS[name]
    batch = jax.jit(lambda key: task.sample(7, key=key))(KEY)
    assert all(len(part) == 7 for part in jax.tree.leaves(batch))
    assert all(np.all(np.isfinite(part)) for part in jax.tree.leaves(batch))
    # Fused operations round differently.
    pairs = zip(*map(jax.tree.leaves, (batch, task.sample(7, key=KEY))), strict=True)
    assert all(np.allclose(x, y, atol=1e-5) for x, y in pairs)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_finite_and_reach_every_weight(name):
    model, function = MODELS[name]
    gradient = eqx.filter_jit(eqx.filter_grad(function))(model)
    leaves = jax.tree.leaves(gradient)
    assert len(leaves) == len(jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves)
    assert all(np.any(leaf != 0) for leaf in leaves)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_lowers_its_loss_and_keeps_the_shape_of_its_state(name):
    rule, state = RULES[name]
    after, curves = learning.train(rule, state, 20, every=5)
    assert curves["loss"][-1] < curves["loss"][0]
    assert list(curves["step"]) == [0, 5, 10, 15, 20]
    before, end = (jax.tree.leaves(eqx.filter(s, eqx.is_array)) for s in (state, after))
    assert [(x.shape, x.dtype) for x in before] == [(x.shape, x.dtype) for x in end]


@pytest.mark.parametrize("name", RULES)
def test_an_interrupted_rule_goes_on_bit_for_bit(name):
    rule, state = RULES[name]
    seen = []
    straight, curves = learning.train(rule, state, 20, every=5, chunk=10, on_chunk=seen.append)
    resumed, again = learning.train(rule, state, 20, every=5, chunk=10, resume=seen[0])
    assert seen[0].step == 10
    assert same(straight, resumed)
    assert same(curves, again)
