"""The modular network for inputs of several images: own projections, one shared trunk."""

from collections.abc import Sequence
from typing import Literal, get_args

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ._batch_norm import AbstractSlotClassifier, BatchNorm, NormalisedLayers, Statistics
from ._dense import Dense
from ._initializers import fan_in_uniform

ProjectionActivation = Literal["bn_relu", "none"]


class ModularImageNetwork(AbstractSlotClassifier):
    """K modules that see the input through projections of their own (Eq. 13 and 75).

    Module j computes f(U_jᵀ x) with a trunk f that all modules share; a linear readout takes the
    trunk's outputs of all modules, one after another, to the logits. So the readout has a block a
    module, which tells what this module says about each image.

    All modules of a batch pass the trunk as rows of one matrix, and batch normalisation pools the
    moments of batch and modules.
    """

    U: Float[Array, "inputs modules width"]
    """The projections: module j's is `U[:, j]`."""
    norm: BatchNorm | None
    trunk: NormalisedLayers
    readout: Dense
    k: int = eqx.field(static=True)

    def __init__(
        self,
        k: int,
        pixels: int,
        *,
        modules: int = 32,
        width: int = 512,
        trunk: Sequence[int] = (256, 128, 64),
        classes: int = 10,
        proj_activation: ProjectionActivation = "bn_relu",
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `k`: images in an input.
        - `pixels`: numbers in an image.
        - `modules`: K.
        - `width`: of a projection, b.
        - `trunk`: the units of every layer of the trunk.
        - `classes`: an image may belong to.
        - `proj_activation`: `"bn_relu"` makes the projection a first hidden layer, with batch
            normalisation and ReLU; `"none"` hands it to the trunk as it is.
        - `key`: of random projections and of all else, in streams of their own.
        """
        if proj_activation not in get_args(ProjectionActivation):
            raise ValueError(
                f"proj_activation must be one of {get_args(ProjectionActivation)}, "
                f"not {proj_activation!r}"
            )
        of_U, of_trunk, of_readout = jax.random.split(key, 3)
        inputs = k * pixels
        self.U = fan_in_uniform((inputs, modules, width), inputs, key=of_U)
        self.norm = BatchNorm(width) if proj_activation == "bn_relu" else None
        self.trunk = NormalisedLayers((width, *trunk), key=of_trunk)
        self.readout = Dense.uniform(modules * (width, *trunk)[-1], k * classes, key=of_readout)
        self.k = k

    def with_projections(self, U: Float[Array, "inputs modules width"]) -> "ModularImageNetwork":
        """The same network with other projections; all else keeps its weights."""
        if U.shape != self.U.shape:
            raise ValueError(
                f"projections of shape {U.shape} do not fit the network's {self.U.shape} "
                "(inputs, modules, width)"
            )
        return eqx.tree_at(lambda network: network.U, self, U)

    def trainable(self, *, learn_projections: bool = True) -> "ModularImageNetwork":
        """True for what learns: a filter for `learning.Descent`."""
        learns = jax.tree.map(eqx.is_inexact_array, self)
        return eqx.tree_at(lambda n: n.U, learns, learn_projections)

    def initial(self) -> tuple[Statistics, ...]:
        """The statistics before training: of the projections if normalised, then of the trunk."""
        first = () if self.norm is None else (self.norm.initial(),)
        return first + self.trunk.initial()

    def __call__(
        self,
        x: Float[Array, "batch inputs"],
        statistics: tuple[Statistics, ...],
        *,
        training: bool = False,
    ) -> tuple[Float[Array, "batch k classes"], tuple[Statistics, ...]]:
        """The logits of every image, and the statistics after them."""
        inputs, _, width = self.U.shape
        # A row of the product holds all modules of an input: reshaping moves nothing.
        h = (x @ self.U.reshape(inputs, -1)).reshape(-1, width)
        first: tuple[Statistics, ...] = ()
        rest = statistics
        if self.norm is not None:
            h, moved = self.norm(h, statistics[0], training)
            h, first, rest = jax.nn.relu(h), (moved,), statistics[1:]
        h, rest = self.trunk(h, rest, training)
        return self.readout(h.reshape(len(x), -1)).reshape(len(x), self.k, -1), first + rest
