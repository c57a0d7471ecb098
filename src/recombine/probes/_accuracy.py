"""How well the routes or slots of a classifier do, and how much its encoders share."""

from jaxtyping import Array, Float, Int

from ..models._gated_classifier import AbstractRouteClassifier
from ..tasks._image_routing import RouteBatch
from ._similarity import centred_cosine


def route_accuracies(
    model: AbstractRouteClassifier, batch: RouteBatch
) -> Float[Array, "domains domains"]:
    """The fraction of `batch` that route (i, j) classifies correctly, at `[i, j]`."""
    guesses = model(batch.inputs).argmax(-1)
    return (guesses == batch.labels[:, None]).mean(0)


def encoder_sharing(model: AbstractRouteClassifier, batch: RouteBatch) -> Float[Array, ""]:
    """How similarly the encoders of different input domains represent the same images.

    The `centred_cosine` of their activities: 1 if all domains share one representation, about 0 if
    they are independent.
    """
    return centred_cosine(model.encode(batch.inputs).swapaxes(0, 1))


def component_accuracy(
    logits: Float[Array, "batch k classes"], labels: Int[Array, "batch k"]
) -> Float[Array, ""]:
    """The fraction of images classified correctly: 0.5 if two of four are in every input."""
    return (logits.argmax(axis=-1) == labels).mean()
