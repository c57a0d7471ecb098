"""The paper's network on paired images, with remedies against the use of the second image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recombine import learning, models, tasks
from recombine.lab import Recorder

from .pairs_trial import EPSILON, Images, dependence, network_of, rate_of, streams, task_of
from .remedy_parts import Situation, remedied_rule

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

PairRemedy = Literal[
    "none", "penalty", "drop", "noise", "shuffle", "either", "entropy", "order", "reversed",
    "modular",
]  # fmt: skip
PAIR_STRENGTHS: dict[PairRemedy, float] = {
    "none": 0.0,
    "penalty": 0.3,
    "drop": 0.8,
    "noise": 0.35,
    "shuffle": 0.8,
    "either": 0.8,
    "entropy": 0.1,
    "order": 0.5,
    "reversed": 0.5,
    "modular": 0.0,
}
"""The remedies, and by default how much of each: see `REMEDIES`. Pixels are 0 to 1."""


class PairScores(NamedTuple):
    """Scores of a trained network."""

    train_accuracy: float
    iid_accuracy: float
    ood_accuracy: float
    leakage: float
    """I(Ŷ; X_2 | X_1) in bits, on test images."""


def remedied_pairs(
    remedy: PairRemedy, key: PRNGKeyArray, recorder: Recorder, *, strength: float | None = None,
    images: Images = "digits", steps: int = 200, batch: int = 64, pairs: int = 1000,
    partners: int = 100,
) -> PairScores:  # fmt: skip
    """Train the paper's network in setting A with a remedy against the use of X_2.

    Of one key pairs are the same with every remedy, and first weights too, unless it is modular.
    """
    import equinox as eqx
    import jax

    s = PAIR_STRENGTHS[remedy] if strength is None else strength
    weight_key, pair_key = jax.random.split(key)
    batch_key, stream_key, partner_key = jax.random.split(pair_key, 3)
    task = task_of(images, informative=True)
    seen, tests = streams(task, pairs, stream_key)
    rule, model = remedied_rule(
        remedy,
        s,
        pair_situation(task, task_of(images, informative=False), steps, batch, weight_key),
        learning.adam(rate_of(images, None), eps=EPSILON),
        learning.Accuracy({"": seen} | tests, learning.categorical_hinge),
        key=jax.random.fold_in(batch_key, 0),
    )
    state, curves = recorder.train(rule, rule.init(model), steps, name=f"pairs-{remedy}")
    seen_last = {name: float(values[-1]) for name, values in curves.items()}
    looked = eqx.filter_jit(dependence)(state.model, task, tests["ood"], partners, partner_key)
    return PairScores(
        seen_last["accuracy"],
        seen_last["iid_accuracy"],
        seen_last["ood_accuracy"],
        float(looked["leakage"]),
    )


def pair_situation(
    task: tasks.PairedImages,
    random: tasks.PairedImages,
    steps: int,
    batch_size: int,
    key: PRNGKeyArray,
) -> Situation:
    """Setting A, and `random`, setting B, in which the second image tells nothing."""
    loss = learning.ScoreLoss(learning.categorical_hinge)
    return Situation(
        parts=task.parts().astype(bool),
        objective=loss,
        loss=loss.of,
        halves=last_hidden_layer,
        informative=learning.Sampled(task, batch_size),
        uninformative=learning.Sampled(random, batch_size),
        steps=steps,
        network=lambda: network_of(task, key),
        towers=lambda: towers_of(task, key),
    )


def last_hidden_layer(model: models.PairedImageCNN) -> Any:
    """The network up to its last hidden layer, and the layer after it."""
    return model.features, model.dense[-1]


def towers_of(task: tasks.PairedImages, key: PRNGKeyArray) -> models.Towers:
    """A network for each image, added up."""
    import equinox as eqx
    import jax

    make = eqx.filter_jit(models.PairedImageCNN)
    towers = (make(task.shape, classes=task.classes, key=k) for k in jax.random.split(key))
    return models.Towers(tuple(towers), axis=2)
