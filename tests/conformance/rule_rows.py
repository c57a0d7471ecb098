"""Rules with what they train, in small sizes: one row per rule and per way to put parts together.

A new rule, objective, sampler, measure or optimizer adds a row, or its parts to one that is there.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import model_rows
import spec_rows
import task_rows
from model_rows import KEY, numbers
from rows import Table

from recombine import learning, models, splits, tasks, theory
from recombine.models import specs

EXAMPLES = tasks.Examples(jnp.eye(2), jnp.array([[1.0], [-1.0]]), jnp.ones(2))
LABELLED = tasks.LabelledSequences([[1, 2], [2, 0]], [2, 1], [1, 0], ("", "x", "y"), 2)


def network(name):
    return model_rows.ROWS[name].network


class NextSymbols(eqx.Module):
    """Logits of a symbol, looked up by the one before it."""

    table: jax.Array

    def __call__(self, inputs, input_lengths, outputs, output_lengths, *, key=None):
        return self.table[jnp.pad(outputs[:, :-1], ((0, 0), (1, 0)))]


class SameDigits(eqx.Module):
    """Scores of the digits of results, the same for every input."""

    scores: jax.Array

    def __call__(self, x):
        return jnp.broadcast_to(self.scores, (len(x), *self.scores.shape))


class Bag(eqx.Module):
    """Scores of a sequence that are sums over its tokens."""

    table: jax.Array

    def __call__(self, tokens, lengths, *, key=None):
        counts = jnp.arange(tokens.shape[1]) < lengths[:, None]
        return jnp.where(counts[..., None], self.table[tokens], 0).sum(axis=1)

    def ponder(self, tokens, lengths, *, key=None):
        """The scores, a remainder for every column, and a number that stands for a balance."""
        remainder = jax.nn.sigmoid(self.table[tokens].sum(axis=2))
        extras = {"remainder": remainder, "balance": remainder.mean()}
        return self(tokens, lengths, key=key), extras


def started(rule, network):
    return rule, rule.init(network)


def on_labels():
    pairs = task_rows.SAMPLED["PairedImages"]
    rule = learning.Descent(
        learning.ScoreLoss(), learning.Sampled(pairs, 64), learning.adam(0.01), key=KEY,
        measure=learning.Accuracy({"": pairs.sample(40, key=KEY)}),
    )  # fmt: skip
    return started(rule, network("PairedImageCNN"))


def on_slots():
    slots = task_rows.SAMPLED["CompositionalImages"]
    rule = learning.Descent(
        learning.SlotLoss(), learning.Sampled(slots, 32), learning.adam(0.03), key=KEY,
        measure=learning.Accuracy({"": slots.sample(40, key=KEY)}),
    )  # fmt: skip
    return started(rule, network("ModularImageNetwork"))


def on_routes():
    images, loss = task_rows.SAMPLED["ImageRouting"], learning.RouteLoss(splits.ring_mask(3, 2))
    rule = learning.Descent(
        loss, learning.Sampled(images, 4), learning.sgd(0.1, momentum=0.9), key=KEY,
        measure=lambda m: {"loss": loss(m, images.first_train(10))},
    )  # fmt: skip
    return started(rule, network("GatedClassifier"))


def on_a_stream():
    regressor = network("ModularRegressor")
    rule = learning.Descent(
        learning.mean_squared_error,
        learning.Shuffled(tasks.SineBatch(jnp.eye(8, 4), jnp.ones(8)), 4),
        learning.adam(0.01), key=KEY, trainable=regressor.trainable(learn_directions=False),
    )  # fmt: skip
    return started(rule, regressor)


def on_prepared_passes():
    noise = learning.AddNoise(jnp.array([True, False]), 0.01)
    rule = learning.Descent(
        learning.half_squared_loss,
        learning.Prepared(learning.Passes(EXAMPLES, 2), noise),
        learning.sgd(0.1), key=KEY,
    )  # fmt: skip
    return started(rule, models.MLP((2, 3, 1), output=jnp.tanh, key=KEY))


def in_stages_with_a_price_on_a_slope():
    """Batches from which a part of the input is dropped, then some in which it is exchanged."""
    part = jnp.array([True, False])
    rule = learning.Descent(
        learning.SlopePenalty(learning.half_squared_loss, 0.01, part),
        learning.Prepared(
            learning.Prepared(
                learning.Stages(learning.Drawn(EXAMPLES, 2), learning.Drawn(EXAMPLES), 10.0),
                learning.DropParts(part[None], 0.1),
            ),
            learning.ExchangeParts(part, 0.1),
        ),
        learning.adam(learning.Cosine(0.05, 0.001, 20)), key=KEY,
        measure=lambda m: {"loss": learning.half_squared_loss(m, EXAMPLES)},
    )  # fmt: skip
    return started(rule, models.MLP((2, 3, 1), key=KEY))


def with_noise_on_a_hidden_layer():
    def halves(m):
        return m.layers[0], m.layers[1]

    def loss(outputs, batch):
        return 0.5 * jnp.mean((outputs - batch.y) ** 2)

    rule = learning.Descent(
        learning.HiddenNoise(halves, loss, 0.01, 0.1), learning.Drawn(EXAMPLES),
        learning.adam(0.05), key=KEY, measure=lambda m: {"loss": loss(m(EXAMPLES.x), EXAMPLES)},
    )  # fmt: skip
    return started(rule, models.MLP((2, 3, 1), key=KEY))


def on_sentences():
    rule = learning.Descent(
        learning.teacher_forcing_loss, learning.Sampled(task_rows.SAMPLED["Scan"], 8),
        learning.chain(learning.clip(1.0), learning.adam(learning.Staircase(0.03, 0.9, 5))),
        key=KEY,
    )  # fmt: skip
    return started(rule, NextSymbols(jnp.zeros((7, 7))))


def on_translations(rate):
    """Sets of sentences of like lengths, and a look at every pair."""
    pairs = model_rows.SENTENCES
    rule = learning.teacher_forcing(
        (pairs, pairs), rate, batch_size=2, key=KEY, clip_norm=1.0,
        measure=learning.TranslationLog({"iid": pairs}), every=5,
    )  # fmt: skip
    return started(rule, NextSymbols(jnp.zeros((3, 3))))


def on_whole_outputs():
    """Outputs as a whole are the unit: losses are sums over them, and one mistake spoils one."""
    pairs = model_rows.SENTENCES
    rule = learning.Descent(
        learning.SummedTokenLoss(), learning.Drawn(pairs, 2), learning.adam(0.1), key=KEY,
        measure=learning.ExactTranslations({"iid": pairs, "ood": pairs}), every=5,
    )  # fmt: skip
    return started(rule, NextSymbols(jnp.zeros((4, 4))))


def on_numbers():
    """Digits of sums and products."""
    task = task_rows.SAMPLED["AddMultiply"]
    batch = task.sample(8, key=KEY)
    rule = learning.Descent(
        learning.number_loss, learning.Sampled(task, 8), learning.adam(0.05), key=KEY,
        measure=learning.NumberAccuracy(batch), every=5,
    )  # fmt: skip
    return started(rule, SameDigits(jnp.zeros((*batch.labels.shape[1:], 10))))


def on_a_mixture():
    rule = learning.Descent(
        learning.label_loss, learning.Mixture.of_sets((LABELLED, LABELLED[:1]), 8),
        learning.muon(0.05, learning.WarmupLinear(0.05, 3, 30)), key=KEY,
        measure=learning.SequenceAccuracy({"": LABELLED, "iid": LABELLED}),
        keep=learning.Best("iid_accuracy"), every=5,
    )  # fmt: skip
    return started(rule, Bag(jnp.zeros((3, 2))))


def with_a_price_on_computing():
    rule = learning.Descent(
        learning.PonderLoss(), learning.Drawn(LABELLED), learning.adam(0.05), key=KEY
    )
    return started(rule, Bag(jnp.zeros((3, 2))))


def student():
    return network("ModularNetwork").student(2, 2, key=jax.random.key(1))


def persistent_latents():
    rule = learning.persistent_latents(
        task_rows.SAMPLED["ModularTeacher"], jnp.eye(3), learning.adam(0.05), 20, batch_size=16,
        key=KEY,
    )  # fmt: skip
    return started(rule, (student(), jnp.ones((3, 6))))


def reinferred_latents():
    rule = learning.reinferred_latents(
        task_rows.SAMPLED["ModularTeacher"], jnp.ones(6),
        learning.LatentInference(5, learning.adam(0.05), 16),
        learning.adamw(learning.Cosine(0.05, 1e-6, 20)), 20, key=KEY,
    )  # fmt: skip
    return started(rule, student())


def kernel_directions():
    rule = learning.KernelDirections(
        models.SplitKernel(), numbers(16, 3), jnp.ones((16, 1)), jnp.ones((2, 1), bool), KEY,
        batch_size=16, jitter=1.0,
    )  # fmt: skip
    return started(rule, jnp.eye(2, 3))


def joint_directions():
    x = numbers(16, 4)
    return started(
        learning.JointDirections(x[:, :3], x[:, 3], KEY, batch_size=8), jnp.eye(2, 3)
    )  # fmt: skip


def direction_pursuit():
    x = numbers(16, 4)
    rule = learning.DirectionPursuit(x[:, :3], x[:, 3], KEY, places=64, climbers=4, climbs=2)
    return started(rule, 2)


def gradient_descent():
    points = tasks.XorTask().examples()
    loss = jax.tree_util.Partial(models.TwoLayerNetwork.loss, x=points.x, y=points.y)
    return learning.GradientDescent(loss, 0.1), network("TwoLayerNetwork")


def routing_descent():
    items, mask = tasks.hierarchical_items(), splits.ring_mask(3, 2)
    return learning.routing_descent(items.X, items.Y, mask, 0.01), network("RoutingNetwork")


def linearised_descent():
    items, mask, model = (
        tasks.hierarchical_items(), splits.ring_mask(3, 2), network("RoutingNetwork")
    )  # fmt: skip
    kernel = theory.TangentKernel(model, items.X)
    return learning.LinearisedDescent(kernel, items.Y, mask, 0.01), model.outputs(items.X)


def meta_learning():
    task = task_rows.SAMPLED["HyperTeacher"]
    rule = learning.MetaLearning(
        task,
        learning.Adaptation(learning.kl_divergence, steps=2, batch_size=4),
        tasks.TaskSets({"valid": task.sample(8, key=KEY)}),
        learning.adamw(0.03),
        tasks=8,
    )
    return rule, rule.init(models.MAML(models.MLP((4, 8, 3), key=KEY)), key=KEY)


def on_a_text():
    text = jnp.arange(120) % 5
    spec = specs.TransformerXLSpec(
        width=4, hidden=6, heads=2, head_width=None, layers=1, dropout=0.0,
        feed_forward=specs.MixtureSpec(experts=3, size=2, chosen=2),
    )  # fmt: skip
    segments = learning.Segments(text, 2, 6)
    rule = learning.Descent(
        learning.LanguageLoss(2, 6, 1e-3), segments,
        learning.chain(learning.clip(0.25), learning.adam(learning.Cosine(0.02, 0.0, 20, 5))),
        key=KEY, measure=learning.TextLoss({"valid": segments}, 12),
    )  # fmt: skip
    return started(rule, spec_rows.drawn(spec.build, specs.LanguageSizes(5)))


def with_balanced_experts():
    rule = learning.Descent(
        learning.BalancedLabelLoss(0.01), learning.Drawn(LABELLED), learning.adam(0.05), key=KEY
    )
    return started(rule, Bag(jnp.zeros((3, 2))))


def masks():
    """Two masks of one network, on batches of their own."""
    masked = learning.Masked(models.MLP((2, 4, 1), key=KEY), names=("first", "both"))
    targets = learning.Targets(
        {
            "both": learning.Drawn(EXAMPLES, 2),
            "first": learning.DrawnRows(EXAMPLES, jnp.array([1, 2]), 2),
        }
    )
    rule = learning.mask_descent(
        learning.half_squared_loss, targets, masked, beta=jnp.array([1.0, 2.0]), batch_size=2,
        samples=2, rate=0.05, key=KEY,
    )  # fmt: skip
    return started(rule, masked)


def summed(measure, masked):
    return {name: values.sum() for name, values in measure(masked).items()}


def masks_with_their_network():
    masked = learning.Masked(models.MLP((2, 4, 1), key=KEY), names=("first", "both"))
    rule = learning.mask_descent(
        learning.half_squared_loss, learning.Drawn(EXAMPLES, 2), masked, beta=0.01, batch_size=2,
        samples=2, rate=0.05, weights=True, key=KEY,
        measure=functools.partial(summed, learning.EachMask(
            lambda network: {"loss": learning.half_squared_loss(network, EXAMPLES)}
        )),
    )  # fmt: skip
    return started(rule, masked)


ROWS = Table(
    {
        "Descent in stages, with a price on a slope": in_stages_with_a_price_on_a_slope,
        "Descent on a mixture": on_a_mixture,
        "Descent on a stream": on_a_stream,
        "Descent on a text": on_a_text,
        "Descent on labels": on_labels,
        "Descent on numbers": on_numbers,
        "Descent on prepared passes": on_prepared_passes,
        "Descent on routes": on_routes,
        "Descent on sentences": on_sentences,
        "Descent on slots": on_slots,
        "Descent on translations": lambda: on_translations(learning.Noam(0.5, 4, 5)),
        "Descent on translations, with a warm-up and a cosine": lambda: on_translations(
            learning.WarmupCosine(0.1, 5, 30)
        ),
        "Descent on whole outputs": on_whole_outputs,
        "Descent with a price on computing": with_a_price_on_computing,
        "Descent with balanced experts": with_balanced_experts,
        "Descent with noise on a hidden layer": with_noise_on_a_hidden_layer,
        "DirectionPursuit": direction_pursuit,
        "GradientDescent": gradient_descent,
        "JointDirections": joint_directions,
        "KernelDirections": kernel_directions,
        "LinearisedDescent": linearised_descent,
        "MetaLearning": meta_learning,
        "masks": masks,
        "masks with their network": masks_with_their_network,
        "persistent_latents": persistent_latents,
        "reinferred_latents": reinferred_latents,
        "routing_descent": routing_descent,
    }
)
"""The rule, and its state before the first step."""

NO_RULES = {
    "ImagePredictions": "what is asked of networks under masks, for probes",
    "NumberPredictions": "what is asked of networks under masks, for probes",
    "WeightMask": "what a mask is after it was learned",
}
"""Public classes of `learning` that are no rule and no part of one."""
