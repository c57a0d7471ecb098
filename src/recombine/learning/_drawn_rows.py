"""Labelled images, and batches of some of them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._checks import check_counts
from ._batches import _take
from ._label_losses import softmax_cross_entropy


class LabelledImages(NamedTuple):
    """Flattened images and their classes."""

    x: Float[Array, "size pixels"]
    labels: Int[Array, " size"]


class DrawnRows(eqx.Module):
    """Examples of a set, drawn with replacement from chosen rows.

    Several of these share one set: the rows of each are all that is their own.

    ```python
    DrawnRows(images, jnp.flatnonzero(images.labels != 3), 128)  # without one class
    ```
    """

    data: Any
    rows: Int[Array, " rows"]
    batch_size: int

    def __check_init__(self):
        check_counts(self, "batch_size")

    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batch of step t."""
        drawn = jax.random.randint(key, (self.batch_size,), 0, len(self.rows))
        return _take(self.data, self.rows[drawn])


def image_loss(
    model: Any, batch: LabelledImages, key: PRNGKeyArray | None = None
) -> Float[Array, ""]:
    """The mean cross-entropy of classes; with a key for dropout, as in training."""
    return softmax_cross_entropy(model(batch.x, key=key), batch.labels)


class ImagePredictions(eqx.Module):
    """The class that a network sees in every image, for `under_masks`."""

    x: Float[Array, "size pixels"]

    def __call__(self, model: Any) -> dict[str, Array]:
        """The most probable classes, `[size]`."""
        return {"classes": model(self.x).argmax(axis=1)}
