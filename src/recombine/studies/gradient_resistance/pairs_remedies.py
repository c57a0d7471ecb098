"""The paper's network on paired images, with remedies against the use of the second image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recombine import learning, models, tasks
from recombine.lab import Recorder

from .pairs_trial import Images, dependence, network_of, rate_of, streams, task_of

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray

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
"""The remedies, and by default how much of each: see `remedied_pairs`."""
DISTURBANCES = ("drop", "noise", "shuffle", "either")
"""Remedies that change batches. They share a compiled program with `none` and both orders."""


class PairScores(NamedTuple):
    """How a trained network does; accuracies in %."""

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
    Remedies, with their strengths s:

    - `none`.
    - `penalty`: adds s times the mean of ‖∂Ŷ/∂X_2‖² at training pairs to the loss, Ŷ the scores.
        The square is that of one random combination of scores a pair, an unbiased estimate.
    - `drop`: X_2 becomes 0 with probability s.
    - `noise`: adds Gaussian noise of standard deviation s to the pixels of X_2, which are 0 to 1.
    - `shuffle`: with probability s, X_2 is that of another pair of the batch.
    - `either`: with probability s one of the two images becomes 0, the first as often as the other.
    - `entropy`: bounds what the last hidden layer h can hold: adds Gaussian noise of standard
        deviation 1 to it in training, and s times the mean of ‖h‖² to the loss.
    - `order`: X_2 is random (setting B) for a share s of all steps; then it is informative.
    - `reversed`: X_2 is informative for a share s of all steps; then it is random.
    - `modular`: a network for X_1 and one for X_2, whose scores are added.
    """
    import equinox as eqx
    import jax

    s = PAIR_STRENGTHS[remedy] if strength is None else strength
    weight_key, pair_key = jax.random.split(key)
    batch_key, stream_key, partner_key = jax.random.split(pair_key, 3)
    task = task_of(images, informative=True)
    seen, tests = streams(task, pairs, stream_key)
    part = jax.tree_util.Partial
    strengths = {name: s if name == remedy else 0.0 for name in DISTURBANCES}
    prepare, objective = part(_disturbed, **strengths), None
    if remedy == "penalty":
        prepare, objective = None, part(_with_slope, s)
    elif remedy == "entropy":
        prepare, objective = None, part(_with_size, s)
    model = _towers(task, weight_key) if remedy == "modular" else network_of(task, weight_key)
    rule = learning.Classification(
        task, seen, tests, batch_key, learning_rate=rate_of(images, None), batch=batch,
        prepare=prepare, objective=objective,
    )  # fmt: skip
    state = rule.init(model)
    for stage, (informative, share) in enumerate(_stages(remedy, s)):
        offsets = task_of(images, informative=informative).offsets
        now = eqx.tree_at(
            lambda r: (r.task.offsets, r.key), rule, (offsets, jax.random.fold_in(batch_key, stage))
        )
        length = round(share * steps)
        state, curves = recorder.train(
            now, state, length, every=length, name=f"pairs-{remedy}-{stage}"
        )
    seen_last = {name: 100 * float(values[-1]) for name, values in curves.items()}
    looked = eqx.filter_jit(dependence)(state.model, task, tests["ood"], partners, partner_key)
    return PairScores(
        seen_last["accuracy"],
        seen_last["iid_accuracy"],
        seen_last["ood_accuracy"],
        float(looked["leakage"]),
    )


def _stages(remedy: PairRemedy, s: float) -> list[tuple[bool, float]]:
    """Whether the second image is informative, and for which share of the steps."""
    if remedy == "order":
        return [(False, s), (True, 1 - s)]
    if remedy == "reversed":
        return [(True, s), (False, 1 - s)]
    return [(True, 1.0)]


def _disturbed(
    batch: tasks.PairBatch, key: PRNGKeyArray, *,
    drop: Array, noise: Array, shuffle: Array, either: Array,
) -> tasks.PairBatch:  # fmt: skip
    """A batch whose second images are dropped, noisy, exchanged; or one image of a pair dropped."""
    import jax
    import jax.numpy as jnp

    first, second = jnp.split(batch.x, 2, axis=2)
    keys = jax.random.split(key, 5)
    chances = jax.random.uniform(keys[0], (3, len(second), 1, 1, 1))
    # Every second image stays or goes to another pair: a shift leaves none in its place.
    moved = jnp.roll(second, jax.random.randint(keys[1], (), 1, len(second)), axis=0)
    second = jnp.where(chances[0] < shuffle, moved, second)
    second = second + noise * jax.random.normal(keys[2], second.shape, second.dtype)
    which = chances[1] * 2
    first = jnp.where(which < either, 0, first)
    second = jnp.where((which >= 1) & (which - 1 < either), 0, second)
    second = jnp.where(chances[2] < drop, 0, second)
    return batch._replace(x=jnp.concatenate([first, second], axis=2))


def _with_slope(
    s: Array, model: models.PairedImageCNN, batch: tasks.PairBatch, key: PRNGKeyArray
) -> Array:
    """The loss, and s times an unbiased estimate of the mean of ‖∂Ŷ/∂X_2‖²."""
    import jax
    import jax.numpy as jnp

    scores, pull = jax.vjp(model, batch.x)
    (slopes,) = pull(jax.random.normal(key, scores.shape, scores.dtype))
    of_second = slopes[:, :, slopes.shape[2] // 2 :]
    size = jnp.square(of_second).sum(axis=(1, 2, 3)).mean()
    return learning.categorical_hinge(scores, batch.labels) + s * size


def _with_size(
    s: Array, model: models.PairedImageCNN, batch: tasks.PairBatch, key: PRNGKeyArray
) -> Array:
    """The loss with noise on the last hidden layer, and s ‖h‖²."""
    import jax
    import jax.numpy as jnp

    h = model.features(batch.x)
    scores = model.dense[-1](h + jax.random.normal(key, h.shape, h.dtype))
    size = jnp.square(h).sum(axis=1).mean()
    return learning.categorical_hinge(scores, batch.labels) + s * size


def _towers(task: tasks.PairedImages, key: PRNGKeyArray) -> Any:
    """A network for each image, added up."""
    import equinox as eqx
    import jax

    make = eqx.filter_jit(models.PairedImageCNN)
    towers = (make(task.shape, classes=task.classes, key=k) for k in jax.random.split(key))
    return jax.tree_util.Partial(_sum, *towers)


def _sum(first: Any, second: Any, x: Array) -> Array:
    import jax.numpy as jnp

    one, two = jnp.split(x, 2, axis=2)
    return first(one) + second(two)
