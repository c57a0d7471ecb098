"""The kernel rule: find the projections of modules before any task training (Algorithm 1).

The smallest weights that interpolate the targets have the squared norm yᵀ K⁻¹ y (Eq. 16), larger
where projections are wrong. The rule descends it, every module on its own.
"""

from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..models._direction_kernels import AbstractDirectionKernel
from ..theory._interpolation import gaussian_objective
from ._loop import AbstractRule
from ._optimizer import AnyOptimizer, adam

_RUNAWAY = 20
"""Projections that have grown so many times have run away."""
_TOGETHER = 8
"""Modules whose kernels fit into the cache together, which is faster than all 32 at once."""
_UNLIKE = 0.03
"""With a likeness below this K is the identity."""


@cache
def _load_linear_algebra() -> None:
    """The first factorisation of a process loads the routines; two devices at once never end."""
    with jax.ensure_compile_time_eval():
        one = jnp.eye(1)
        jax.block_until_ready(cho_solve((jnp.linalg.cholesky(one), True), one))


def draw_batch(
    samples: int, batch: int, rows: Int[Array, ""] | None, *, key: PRNGKeyArray
) -> Int[Array, " batch"]:
    """The places of `batch` samples, without replacement; of all, or of the first `rows`."""
    # The largest of random numbers: a draw without replacement, faster than a shuffle.
    # Integers XLA would sort, all of them; of floats it picks the largest.
    chance = jax.random.bits(key, (samples,)).astype(jnp.float32)
    if rows is not None:
        chance = jnp.where(jnp.arange(samples) < rows, chance, -1)
    return jax.lax.top_k(chance, batch)[1]


class DirectionState(NamedTuple):
    """Where the modules stand."""

    directions: Any
    """The kernel's parameters, one row per module."""
    opt_state: Any
    losses: Float[Array, " modules"]
    """yᵀ K⁻¹ y of every module at the last step."""
    likeness: Float[Array, " modules"]
    """The mean of K off its diagonal, over that of its diagonal: 0 if all inputs are unlike."""
    crossings: Int[Array, " modules"]
    """How often a module has gone through a place where its kernel is not defined."""


class KernelDirections(AbstractRule[DirectionState]):
    """Descend yᵀ K⁻¹ y on a fresh batch per step, for all modules at once (Algorithm 1).

    Modules do not interact; they are one program, and see the same batches, because that is faster.
    Give it float64 arrays: K is close to singular.

    **Arguments:**

    - `kernel`: sees inputs through a module's projection.
    - `x`, `y`: the training set; `y` has one column per output.
    - `columns`: the outputs that each module may be fitted to.
    - `key`: of batches and columns.
    - `batch_size`: samples per step, drawn without replacement.
    - `optimizer`: of each module; plain `sgd` in the paper.
    - `jitter`: added to the diagonal of K. Large, it makes interpolation ridge regression.
    - `together`: fit all of a module's columns at every step, or one that is drawn.
    - `mean`: divide the loss by the batch. The paper's sum is 100 to 10,000 in size, and with
        plain gradient steps soon diverges.
    - `determinant`: descend yᵀ K⁻¹ y + log det K instead, −2 `log_evidence`. Not in the paper.
    - `rows`: how many of the samples there are to learn from, the first ones, no fewer than a
        batch; `None`: all. An array, so that all sizes share one program.
    - `mesh`: devices to spread the modules over, a mesh with one axis; by default one. On a CPU
        set `OPENBLAS_NUM_THREADS=1` besides, lest every device starts threads of its own.
    """

    kernel: AbstractDirectionKernel
    x: Float[Array, "samples inputs"]
    y: Float[Array, "samples outputs"]
    columns: Bool[Array, "modules outputs"]
    key: PRNGKeyArray
    batch_size: int = 128
    optimizer: AnyOptimizer = eqx.field(default_factory=lambda: adam(0.01))
    jitter: float | Float[Array, ""] = 0.1
    together: bool = False
    mean: bool = True
    rows: Int[Array, ""] | None = None
    determinant: bool = False
    mesh: jax.sharding.Mesh | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if len(self.x) != len(self.y):
            raise ValueError(f"{len(self.x)} inputs, but {len(self.y)} targets")
        if not 2 <= self.batch_size <= len(self.x):
            raise ValueError(f"a batch of {self.batch_size} of {len(self.x)} samples; use 2 to all")
        if self.mesh is not None and len(self.columns) % self.mesh.size:
            raise ValueError(
                f"{len(self.columns)} modules do not share {self.mesh.size} devices evenly; "
                "take a multiple, or fewer devices"
            )
        if self.mesh is not None and self.mesh.size == len(jax.devices("cpu")) > 1:
            # Its pool has one thread per device, and factorisations wait for one that is free.
            raise ValueError(
                f"on a CPU {self.mesh.size} devices wait for each other without end if there are "
                "no more; raise --xla_force_host_platform_device_count in XLA_FLAGS"
            )

    def init(self, u: Float[Array, "modules ..."]) -> DirectionState:
        """The state before the first step, from projections."""
        directions = jax.vmap(self.kernel.start)(u)
        opt_state = jax.vmap(self.optimizer.init)(directions)
        (losses, likeness), _ = self._slopes(directions, jnp.asarray(0))
        crossings = jnp.zeros(len(u), int)
        state = DirectionState(directions, opt_state, losses, likeness, crossings)
        if self.mesh is None:
            return state
        # Where the first step will leave it: the second must not compile anew.
        shares = jax.sharding.PartitionSpec(*self.mesh.axis_names)
        return eqx.filter_shard(state, jax.sharding.NamedSharding(self.mesh, shares))

    def objective(
        self,
        direction: Any,
        x: Float[Array, "batch inputs"],
        y: Float[Array, "batch columns"],
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """yᵀ K⁻¹ y of one module on one batch (Eq. 16), and the likeness of the inputs."""
        jitter = jnp.asarray(self.jitter, x.dtype)
        features = self.kernel.features(direction, x)
        norm, likeness = gaussian_objective(features, y, jitter, self.determinant)
        return norm / len(x) if self.mean else norm, likeness

    def _targets(self, y, allowed, key):
        """What a module is fitted to on a batch, centred: [batch, columns]."""
        if not self.together:
            drawn = jax.random.categorical(key, jnp.where(allowed, 0.0, -jnp.inf))
            chosen = y[:, drawn][:, None]
        else:
            chosen = jnp.where(allowed, y, 0)
        return chosen - chosen.mean(axis=0) if self.y.shape[1] > 1 else chosen

    def _slopes(self, directions, t):
        """Objective, likeness and gradient of every module, on one batch for all."""
        of_batch, of_columns = jax.random.split(jax.random.fold_in(self.key, t))
        places = draw_batch(len(self.x), self.batch_size, self.rows, key=of_batch)
        x, y = self.x[places], self.y[places]

        def of_module(module):
            direction, allowed, key = module
            targets = self._targets(y, allowed, key)
            return jax.value_and_grad(self.objective, has_aux=True)(direction, x, targets)

        def of_modules(modules):
            return jax.lax.map(of_module, modules, batch_size=min(_TOGETHER, len(modules[-1])))

        keys = jax.random.split(of_columns, len(self.columns))
        modules = directions, self.columns, keys
        if self.mesh is None:
            return of_modules(modules)
        _load_linear_algebra()
        shares = jax.sharding.PartitionSpec(*self.mesh.axis_names)
        return jax.shard_map(
            of_modules, mesh=self.mesh, in_specs=(shares,), out_specs=shares, check_vma=False
        )(modules)

    def step(self, state: DirectionState, t: Int[Array, ""]) -> DirectionState:
        """A step of every module. One whose objective is not finite stays as it is from then on."""
        (losses, likeness), slopes = self._slopes(state.directions, t)
        before = state.directions, state.opt_state, state.likeness, state.crossings

        def of_module(before, loss, likeness, slope, last):
            direction, opt_state, _, crossings = before
            updates, opt_state = self.optimizer.update(slope, opt_state, direction)
            moved = self.kernel.kept(optax.apply_updates(direction, updates), direction)
            crossed = self.kernel.margin(moved) * self.kernel.margin(direction) < 0
            after = moved, opt_state, likeness, crossings + crossed
            fine = jnp.isfinite(last) & jnp.isfinite(loss)
            after = jax.tree.map(lambda a, b: jnp.where(fine, a, b), after, before)
            return after, jnp.where(fine, loss, jnp.nan)

        after, losses = jax.vmap(of_module)(before, losses, likeness, slopes, state.losses)
        directions, opt_state, likeness, crossings = after
        return DirectionState(directions, opt_state, losses, likeness, crossings)

    def observe(self, state: DirectionState) -> dict[str, Array]:
        """The mean objective and likeness, the longest projection, and all crossings."""
        lengths = jax.vmap(jnp.linalg.norm)(self.projections(state))
        return {
            "loss": state.losses.mean(),
            "likeness": state.likeness.mean(),
            "longest": lengths.max(),
            "crossings": state.crossings.sum(),
        }

    def troubles(self, curves: dict[str, np.ndarray]) -> list[str]:
        """What went wrong in observations of this rule, each with its remedy; empty if nothing."""
        found = []
        longest, loss = curves["longest"], curves["loss"]
        if longest[-1] > _RUNAWAY * longest[0] or not np.isfinite(longest[-1]):
            found.append(
                f"projections have grown {longest[-1] / longest[0]:.0f} times as long: lower the "
                "learning rate, clip gradients, or raise the jitter"
            )
        elif not np.isfinite(loss).all():
            found.append(
                f"K is not positive definite with a jitter of {float(self.jitter):g}: raise it, "
                "or use 64-bit numbers"
            )
        if curves["crossings"][-1] > 0:
            found.append(
                f"vᵀu has crossed 0, where the kernel is not defined, "
                f"{int(curves['crossings'][-1])} times: set least_cosine, or lower the rate"
            )
        if np.abs(curves["likeness"][-1]) < _UNLIKE:
            found.append(
                "inputs are all unlike, and K says nothing about directions: raise sigma or "
                "least_cosine, or take fewer steps"
            )
        return found

    def remedy(self, curves: dict[str, np.ndarray]) -> str:
        """What to change if the objective is not finite in `curves`."""
        return "; ".join(self.troubles(curves))

    def projections(self, state: DirectionState) -> Float[Array, "modules ..."]:
        """What the rule hands over to the modules."""
        return jax.vmap(self.kernel.projection)(state.directions)
