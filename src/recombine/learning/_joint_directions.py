"""All directions at once: the modules of an additive Gaussian process."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..models._direction_kernels import AdditiveKernel
from ..theory._interpolation import log_evidence
from ._kernel_directions import draw_batch
from ._loop import AbstractRule
from ._optimizer import AnyOptimizer, adam


class JointState(NamedTuple):
    """Where the search stands."""

    kernel: AdditiveKernel
    opt_state: Any
    loss: Float[Array, ""]


class JointDirections(AbstractRule[JointState]):
    """Find all directions together: ascend the evidence of an additive Gaussian process.

    Unlike Algorithm 1 it fits a module to what the others leave, finds bandwidths, amplitudes and
    the part that none explains along with the directions, and the determinant of K keeps the kernel
    from telling all inputs apart. Not in the paper.

    **Arguments:**

    - `x`, `y`: the training set; targets are scaled to a deviation of 1.
    - `key`: of batches.
    - `batch_size`: samples per step, drawn without replacement.
    - `optimizer`: by default Adam.
    - `bandwidth`: of all modules, before the first step.
    - `noise`: the share of the targets' variance that none explains, before the first step.
    - `rows`: how many of the samples there are to learn from, the first ones, no fewer than a
        batch; `None`: all.
    """

    x: Float[Array, "samples m"]
    y: Float[Array, " samples"]
    key: PRNGKeyArray
    batch_size: int = 256
    optimizer: AnyOptimizer = eqx.field(default_factory=lambda: adam(0.02))
    bandwidth: float | Float[Array, ""] = 1.0
    noise: float | Float[Array, ""] = 0.1
    rows: Int[Array, ""] | None = None

    def __check_init__(self):
        if not 2 <= self.batch_size <= len(self.x):
            raise ValueError(f"a batch of {self.batch_size} of {len(self.x)} samples; use 2 to all")

    def init(self, u: Float[Array, "modules m"]) -> JointState:
        """The state before the first step, from unit directions."""
        log_a = jnp.full(len(u), -0.5 * jnp.log(len(u)), u.dtype)
        log_nu = 0.5 * jnp.log(jnp.asarray(self.noise, u.dtype))
        kernel = AdditiveKernel(u / self.bandwidth, log_a, log_nu)
        opt_state = self.optimizer.init(kernel)
        return JointState(kernel, opt_state, self._loss(kernel, jnp.asarray(0)))

    def _loss(self, kernel: AdditiveKernel, t: Int[Array, ""]) -> Float[Array, ""]:
        key = jax.random.fold_in(self.key, t)
        places = draw_batch(len(self.x), self.batch_size, self.rows, key=key)
        mask = None if self.rows is None else jnp.arange(len(self.y)) < self.rows
        y = self.y[places] / self.y.std(where=mask)
        return -log_evidence(kernel(self.x[places]), y[:, None]) / self.batch_size

    def step(self, state: JointState, t: Int[Array, ""]) -> JointState:
        """One step on one batch."""
        loss, slope = jax.value_and_grad(self._loss)(state.kernel, t)
        updates, opt_state = self.optimizer.update(slope, state.opt_state, state.kernel)
        return JointState(optax.apply_updates(state.kernel, updates), opt_state, loss)

    def observe(self, state: JointState) -> dict[str, Array]:
        """The negative log evidence per sample, the noise, and the median bandwidth."""
        bandwidths = 1 / jnp.linalg.norm(state.kernel.w, axis=1)
        return {
            "loss": state.loss,
            "noise": jnp.exp(2 * state.kernel.log_nu),
            "bandwidth": jnp.median(bandwidths),
        }

    def remedy(self, curves: dict[str, Any]) -> str:
        """What to change if the evidence is not finite."""
        return "raise the noise or lower the learning rate, and use 64-bit numbers"

    def projections(self, state: JointState) -> Float[Array, "modules m"]:
        """Unit directions."""
        return state.kernel.w / jnp.linalg.norm(state.kernel.w, axis=1, keepdims=True)
