"""Learning to classify on some routes of an image routing task."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..models._gated_classifier import AbstractRouteClassifier
from ..probes._accuracy import route_accuracies
from ..probes._routes import route_means
from ..tasks._image_routing import ImageRouting, RouteBatch
from ._loop import AbstractRule


class ClassifierState(NamedTuple):
    """A classifier on its way: its weights, and the optimiser's memory of past gradients."""

    model: AbstractRouteClassifier
    momentum: Any


@jax.custom_vjp
def mean_cross_entropy(
    logits: Float[Array, "batch domains domains classes"],
    labels: Int[Array, "batch domains"],
    mask: Bool[Array, "domains domains"],
) -> Float[Array, ""]:
    """Softmax cross-entropy, averaged over the batch and the routes in `mask`.

    **Arguments:**

    - `logits`: of route (i, j), at `[:, i, j]`.
    - `labels`: of output domain j, at `[:, j]`.
    - `mask`: the routes that count.
    """
    return _cross_entropy_forward(logits, labels, mask)[0]


# The gradient is softmax minus one-hot, for which the forward pass has everything at hand: written
# out, a step of learning is a fifth faster than with the derivative of log-softmax.
def _cross_entropy_forward(logits, labels, mask):
    target = jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype)[:, None]
    weight = (mask / (mask.sum() * len(logits))).astype(logits.dtype)[:, :, None]
    top = logits.max(-1, keepdims=True)
    exp = jnp.exp(logits - top)
    total = exp.sum(-1, keepdims=True)
    losses = jnp.log(total) + top - (logits * target).sum(-1, keepdims=True)
    return (losses * weight).sum(), (exp / total - target) * weight


def _cross_entropy_backward(gradient, cotangent):
    return cotangent * gradient, None, None


mean_cross_entropy.defvjp(_cross_entropy_forward, _cross_entropy_backward)


class RouteClassification(AbstractRule[ClassifierState]):
    """Stochastic gradient descent with momentum on the cross-entropy of the trained routes.

    Every step sends the same `batch` images through all routes. The loss is the mean over the
    trained ones; the other routes take no part in it (the gates mask the error, not the activity).

    Mask, rates and key are arrays: fractions of trained routes, gains, rates and seeds of one shape
    share one compilation.

    **Arguments:**

    - `task`: the images and the transforms.
    - `mask`: which routes (rows: input domains, columns: output domains) are trained.
    - `learning_rate`, `momentum`: of gradient descent.
    - `key`: the batch of step t is drawn with `jax.random.fold_in(key, t)`.
    - `batch`: images a step.
    - `observed`: training and test images that `observe` looks at (the first ones).
    """

    task: ImageRouting
    mask: Bool[Array, "domains domains"]
    learning_rate: float | Float[Array, ""]
    key: PRNGKeyArray
    momentum: float | Float[Array, ""] = 0.9
    batch: int = 32
    observed: int = 200

    def init(self, model: AbstractRouteClassifier) -> ClassifierState:
        """The state before the first step."""
        return ClassifierState(model, self._optimiser().init(model))

    def loss(self, model: AbstractRouteClassifier, batch: RouteBatch) -> Float[Array, ""]:
        """The mean over trained routes of their cross-entropy on `batch`."""
        return mean_cross_entropy(model(batch.inputs), batch.labels, self.mask)

    def step(self, state: ClassifierState, t: Int[Array, ""]) -> ClassifierState:
        """One batch, one step of gradient descent."""
        batch = self.task.sample(self.batch, key=jax.random.fold_in(self.key, t))
        gradient = jax.grad(self.loss)(state.model, batch)
        updates, momentum = self._optimiser().update(gradient, state.momentum)
        return ClassifierState(optax.apply_updates(state.model, updates), momentum)

    def observe(self, state: ClassifierState) -> dict[str, Array]:
        """Loss of the trained routes on training images; accuracies on test images."""
        accuracies = route_accuracies(state.model, self.task.first_test(self.observed))
        trained, untrained = route_means(accuracies, self.mask)
        return {
            "loss": self.loss(state.model, self.task.first_train(self.observed)),
            "trained_accuracy": trained,
            "untrained_accuracy": untrained,
        }

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.sgd(self.learning_rate, self.momentum)
