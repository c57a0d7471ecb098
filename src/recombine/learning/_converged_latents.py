"""Learning many tasks at once, with the latent of every task at its optimum (Eq. 2).

The task-shared weights θ = (Θ̂, â) of a student minimise E_z[min_ẑ L(ẑ, θ; D_z)]. At the inner
optimum ∂L/∂ẑ = 0, so that the gradient with respect to θ needs no derivative of ẑ. How the inner
minimum is found is up to the rule: `reinferred_latents` finds it anew at every step, as the paper
does; `persistent_latents` improves a table of ẑ for a finite set of tasks along with θ.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ..models._modular_network import ModularNetwork
from ..tasks._modular_teacher import ModularTeacher
from ._descent import Descent
from ._optimizer import AnyOptimizer, adam


def task_losses(
    predictions: Float[Array, "tasks samples outputs"],
    targets: Float[Array, "tasks samples outputs"],
) -> Float[Array, " tasks"]:
    """Half the squared error of each task, averaged over samples and outputs (Eq. 4)."""
    return 0.5 * jnp.mean((predictions - targets) ** 2, axis=(1, 2))


class LatentInference(eqx.Module):
    """Find the latents with which a frozen student comes closest to given tasks.

    **Arguments:**

    - `steps`: every one sees a fresh batch of inputs, the same for all tasks.
    - `optimizer`: by default Adam.
    - `batch_size`: inputs per step.
    """

    steps: int = 300
    optimizer: AnyOptimizer = eqx.field(default_factory=lambda: adam(0.003))
    batch_size: int = 256

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
            z_hat, opt_state = carry
            x = teacher.inputs(self.batch_size, key=jax.random.fold_in(key, i))
            gradient = jax.grad(loss)(z_hat, x)
            updates, opt_state = self.optimizer.update(gradient, opt_state, z_hat)
            return optax.apply_updates(z_hat, updates), opt_state

        z_hat = jnp.broadcast_to(start, (len(z), len(start)))
        return jax.lax.fori_loop(0, self.steps, step, (z_hat, self.optimizer.init(z_hat)))[0]


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


class _TableLoss(eqx.Module):
    """The mean loss over tasks of a student and its latents."""

    teacher: ModularTeacher
    z: Float[Array, "tasks modules"]
    batch_size: int
    observed: PRNGKeyArray

    def batch(self, t, key):
        return self.teacher.inputs(self.batch_size, key=key)

    def __call__(self, model, x, key):
        student, z_hat = model
        return task_losses(student(z_hat, x), self.teacher.network(self.z, x)).mean()

    def measure(self, model):
        x = self.teacher.inputs(1024, key=self.observed)
        return {"loss": self(model, x, None)}


def persistent_latents(
    teacher: ModularTeacher,
    z: Float[Array, "tasks modules"],
    optimizer: AnyOptimizer,
    steps: int,
    *,
    batch_size: int = 128,
    key: PRNGKeyArray,
) -> Descent:
    """Learn the student's weights and a table with the latent of every task, together.

    The model is the student with its table `[tasks, student_modules]`. Every step sends one batch
    of inputs through all tasks.

    **Arguments:**

    - `teacher`: the student learns its outputs.
    - `z`: the latents of the tasks.
    - `steps`: how many there are; the inputs of the observed loss are drawn as if for one more.
    - `batch_size`: inputs per step.
    """
    loss = _TableLoss(teacher, z, batch_size, jax.random.fold_in(key, steps))
    return Descent(loss, loss.batch, optimizer, key=key, measure=loss.measure)


class _ReinferredLoss(eqx.Module):
    """The loss of a student on tasks and inputs that a key draws, with converged latents."""

    teacher: ModularTeacher
    start: Float[Array, " student_modules"]
    inference: LatentInference
    num_tasks: int
    observed: PRNGKeyArray

    def batch(self, t, key):
        return key

    def __call__(self, student, batch, key):
        task_key, inference_key, input_key = jax.random.split(batch, 3)
        if self.num_tasks:
            z = self.teacher.latents(self.num_tasks, key=task_key)
        else:
            z = self.teacher.latents_of(self.teacher.masks, key=task_key)
        frozen = jax.lax.stop_gradient(student)
        z_hat = self.inference(frozen, self.teacher, z, self.start, key=inference_key)
        x = self.teacher.inputs(self.inference.batch_size, key=input_key)
        return task_losses(student(z_hat, x), self.teacher.network(z, x)).mean()

    def measure(self, student):
        return {"loss": self(student, self.observed, None)}


def reinferred_latents(
    teacher: ModularTeacher,
    start: Float[Array, " student_modules"],
    inference: LatentInference,
    optimizer: AnyOptimizer,
    steps: int,
    *,
    num_tasks: int = 64,
    key: PRNGKeyArray,
) -> Descent:
    """Infer the latents of fresh tasks to convergence, then take one step on the student.

    The paper's procedure (Appendix C.1.3): inference always starts at `start`, and the gradient is
    stopped at what it finds.

    **Arguments:**

    - `teacher`: draws the tasks, and the student learns its outputs.
    - `inference`: how latents are inferred.
    - `optimizer`: AdamW in the paper.
    - `steps`: how many there are; the tasks of the observed loss are drawn as if for one more.
    - `num_tasks`: tasks per step, drawn with replacement; 0 for one of every family.
    """
    observed = jax.random.fold_in(key, steps)
    loss = _ReinferredLoss(teacher, start, inference, num_tasks, observed)
    return Descent(loss, loss.batch, optimizer, key=key, measure=loss.measure)
