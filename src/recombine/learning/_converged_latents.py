"""Learning many tasks at once, with the latent of every task at its optimum (Eq. 2).

The task-shared weights θ = (Θ̂, â) of a student minimise E_z[min_ẑ L(ẑ, θ; D_z)]. At the inner
optimum ∂L/∂ẑ = 0, so that the gradient with respect to θ needs no derivative of ẑ. How the inner
minimum is found is up to the rule: `ReinferredLatents` finds it anew at every step, as the paper
does; `PersistentLatents` keeps a table of ẑ for a finite set of tasks and improves it along with θ.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..models._modular_network import ModularNetwork
from ..tasks._modular_teacher import ModularTeacher
from ._loop import AbstractRule


def cosine_annealed(
    first: float | Float[Array, ""],
    last: float | Float[Array, ""],
    t: Int[Array, ""],
    steps: int,
) -> Float[Array, ""]:
    """A rate that falls from `first` at t = 0 to `last` at t = `steps` along half a cosine."""
    return last + (first - last) * 0.5 * (1 + jnp.cos(jnp.pi * t / steps))


def task_losses(
    predictions: Float[Array, "tasks samples outputs"],
    targets: Float[Array, "tasks samples outputs"],
) -> Float[Array, " tasks"]:
    """Half the squared error of each task, averaged over samples and outputs (Eq. 4)."""
    return 0.5 * jnp.mean((predictions - targets) ** 2, axis=(1, 2))


class LatentInference(eqx.Module):
    """Find the latents with which a frozen student comes closest to given tasks, by Adam.

    **Arguments:**

    - `steps`: of Adam; every one sees a fresh batch of inputs, the same for all tasks.
    - `learning_rate`, `final_learning_rate`: at the first and the last step, cosine-annealed.
    - `batch`: inputs a step.
    """

    steps: int = 300
    learning_rate: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.003)
    final_learning_rate: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.003)
    batch: int = 256

    def __call__(
        self,
        student: ModularNetwork,
        teacher: ModularTeacher,
        z: Float[Array, "tasks modules"],
        start: Float[Array, " student_modules"],
        *,
        key: PRNGKeyArray,
    ) -> Float[Array, "tasks student_modules"]:
        """The inferred latents ẑ of the tasks z, all from the same `start`."""
        W = teacher.network.weights(z)

        def loss(z_hat, x):
            return task_losses(student(z_hat, x), teacher.network.respond(W, x)).sum()

        def step(i, carry):
            z_hat, memory = carry
            x = teacher.inputs(self.batch, key=jax.random.fold_in(key, i))
            gradient = jax.grad(loss)(z_hat, x)
            rate = cosine_annealed(self.learning_rate, self.final_learning_rate, i, self.steps)
            updates, memory = optax.adam(rate).update(gradient, memory)
            return optax.apply_updates(z_hat, updates), memory

        z_hat = jnp.broadcast_to(start, (len(z), len(start)))
        return jax.lax.fori_loop(0, self.steps, step, (z_hat, optax.adam(0.0).init(z_hat)))[0]


# Evaluation compiles as the training loop does: well rather than quickly.
@eqx.filter_jit(compiler_options={"xla_backend_optimization_level": 3})  # type: ignore[call-overload]
def infer_latents(
    inference: LatentInference,
    student: ModularNetwork,
    teacher: ModularTeacher,
    z: Float[Array, "tasks modules"],
    start: Float[Array, " student_modules"],
    *,
    key: PRNGKeyArray,
) -> Float[Array, "tasks student_modules"]:
    """`inference` as one compiled program, for evaluation: ẑ of the tasks z from scratch."""
    return inference(student, teacher, z, start, key=key)


class PersistentState(NamedTuple):
    """A student on its way, the latent of each of its tasks, and the optimiser's memory."""

    student: ModularNetwork
    z_hat: Float[Array, "tasks student_modules"]
    memory: Any


class PersistentLatents(AbstractRule[PersistentState]):
    """Adam on the student's weights and on a table with the latent of every task, together.

    For a finite set of tasks. Every step sends one fresh batch of inputs through all of them.

    **Arguments:**

    - `teacher`: whose outputs are learned.
    - `z`: the latents of the tasks.
    - `key`: the batch of step t is drawn with `jax.random.fold_in(key, t)`.
    - `steps`: after which the rate has fallen from `learning_rate` to `final_learning_rate`.
    - `batch`: inputs a step.
    """

    teacher: ModularTeacher
    z: Float[Array, "tasks modules"]
    key: PRNGKeyArray
    steps: int
    learning_rate: float | Float[Array, ""] = 1e-2
    final_learning_rate: float | Float[Array, ""] = 1e-5
    batch: int = 128

    def init(
        self, student: ModularNetwork, start: Float[Array, " student_modules"]
    ) -> PersistentState:
        """The state before the first step: all latents equal `start`."""
        z_hat = jnp.tile(start, (len(self.z), 1))
        return PersistentState(student, z_hat, optax.adam(0.0).init((student, z_hat)))

    def loss(
        self,
        parts: tuple[ModularNetwork, Float[Array, "tasks student_modules"]],
        x: Float[Array, "samples inputs"],
    ) -> Float[Array, ""]:
        """The mean loss over tasks of a student and its latents, on inputs `x`."""
        student, z_hat = parts
        return task_losses(student(z_hat, x), self.teacher.network(self.z, x)).mean()

    def step(self, state: PersistentState, t: Int[Array, ""]) -> PersistentState:
        """One batch, one step of Adam."""
        x = self.teacher.inputs(self.batch, key=jax.random.fold_in(self.key, t))
        parts = state.student, state.z_hat
        gradient = jax.grad(self.loss)(parts, x)
        rate = cosine_annealed(self.learning_rate, self.final_learning_rate, t, self.steps)
        updates, memory = optax.adam(rate).update(gradient, state.memory)
        student, z_hat = optax.apply_updates(parts, updates)
        return PersistentState(student, z_hat, memory)

    def observe(self, state: PersistentState) -> dict[str, Array]:
        """The loss on inputs that are the same throughout, and not trained on."""
        x = self.teacher.inputs(1024, key=jax.random.fold_in(self.key, self.steps))
        return {"loss": self.loss((state.student, state.z_hat), x)}


class ReinferredState(NamedTuple):
    """A student on its way, and the optimiser's memory."""

    student: ModularNetwork
    memory: Any


class ReinferredLatents(AbstractRule[ReinferredState]):
    """Infer the latents of fresh tasks to convergence, then take one step of AdamW on the student.

    The paper's procedure (Appendix C.1.3): inference always starts at `start`, and the gradient is
    stopped at what it finds.

    **Arguments:**

    - `teacher`: whose tasks are drawn and learned.
    - `start`: where inference starts.
    - `inference`: how latents are inferred.
    - `key`: the tasks and inputs of step t are drawn with `jax.random.fold_in(key, t)`.
    - `steps`: after which the rate has fallen from `learning_rate` to `final_learning_rate`.
    - `num_tasks`: drawn at every step, with replacement; 0 for one of every family.
    - `weight_decay`: decoupled, of all weights.
    """

    teacher: ModularTeacher
    start: Float[Array, " student_modules"]
    inference: LatentInference
    key: PRNGKeyArray
    steps: int
    learning_rate: float | Float[Array, ""] = 1e-3
    final_learning_rate: float | Float[Array, ""] = 1e-6
    num_tasks: int = 64
    weight_decay: float | Float[Array, ""] = 0.0

    def init(self, student: ModularNetwork) -> ReinferredState:
        """The state before the first step."""
        return ReinferredState(student, optax.adamw(0.0).init(student))

    def step(self, state: ReinferredState, t: Int[Array, ""]) -> ReinferredState:
        """Infer the latents of a batch of tasks, then one step of AdamW."""
        gradient = jax.grad(self._loss)(state.student, jax.random.fold_in(self.key, t))
        rate = cosine_annealed(self.learning_rate, self.final_learning_rate, t, self.steps)
        optimiser = optax.adamw(rate, weight_decay=self.weight_decay)
        updates, memory = optimiser.update(gradient, state.memory, state.student)
        return ReinferredState(optax.apply_updates(state.student, updates), memory)

    def observe(self, state: ReinferredState) -> dict[str, Array]:
        """The loss on tasks and inputs that are the same throughout."""
        return {"loss": self._loss(state.student, jax.random.fold_in(self.key, self.steps))}

    def _loss(self, student: ModularNetwork, key: PRNGKeyArray) -> Float[Array, ""]:
        task_key, inference_key, input_key = jax.random.split(key, 3)
        if self.num_tasks:
            z = self.teacher.latents(self.num_tasks, key=task_key)
        else:
            z = self.teacher.latents_of(self.teacher.masks, key=task_key)
        frozen = jax.lax.stop_gradient(student)
        z_hat = self.inference(frozen, self.teacher, z, self.start, key=inference_key)
        x = self.teacher.inputs(self.inference.batch, key=input_key)
        return task_losses(student(z_hat, x), self.teacher.network(z, x)).mean()
