"""Has a student found its teacher's modules? Comparisons of neurons, up to what is free.

A student that solves all tasks may use a basis of its own for the task latents (ẑ = F z), order
its neurons as it likes, flip their signs and rescale them (Theorem 2). Everything here is blind to
that: F is estimated and undone, each teacher neuron is compared with the student neuron closest to
it, and the comparison is a cosine.

Θ [modules, hidden, inputs] holds a network's modules, W [tasks, hidden, inputs] the first layers
that they make up for some tasks; a hat marks the student.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float


def latent_decoder(
    z: Float[Array, "tasks modules"],
    z_hat: Float[Array, "tasks student_modules"],
    *,
    ridge: float = 0.01,
) -> Float[Array, "modules student_modules"]:
    """The linear map from inferred to true latents: D = argmin Σ ‖z − D ẑ‖² + ridge ‖D‖²."""
    # Not by the normal equations: where a student uses few of its modules their matrix is close to
    # singular, and 32-bit numbers are not enough.
    U, s, Vt = jnp.linalg.svd(z_hat, full_matrices=False)
    return (z.T @ U) * (s / (s**2 + ridge)) @ Vt


def latent_map(
    z: Float[Array, "tasks modules"],
    z_hat: Float[Array, "tasks student_modules"],
    *,
    ridge: float = 0.01,
) -> Float[Array, "student_modules modules"]:
    """F with ẑ ≈ F z: the pseudoinverse of `latent_decoder`.

    It lives within the latents that the student uses, also where it has more modules than the
    teacher.
    """
    return jnp.linalg.pinv(latent_decoder(z, z_hat, ridge=ridge))


def in_teacher_basis(
    Theta_hat: Float[Array, "student_modules student_hidden inputs"],
    F: Float[Array, "student_modules modules"],
) -> Float[Array, "modules student_hidden inputs"]:
    """The student's modules in the basis of the teacher: Θ̃_j = Θ̂_j F for every neuron j."""
    return jnp.einsum("km,khi->mhi", F, Theta_hat)


def module_alignment(
    Theta: Float[Array, "modules hidden inputs"],
    Theta_hat: Float[Array, "student_modules student_hidden inputs"],
    F: Float[Array, "student_modules modules"],
    *,
    absolute: bool = True,
    unit_modules: bool = False,
) -> Float[Array, " hidden"]:
    """For each teacher neuron i, max_j |cos(Θ_i, Θ̂_j F)| over the student's neurons j.

    The paper's module alignment is the smallest of these: 1 if and only if the modules are linearly
    identified (Section 3.3). Θ_i holds neuron i's weights in all modules.

    **Arguments:**

    - `Theta`, `Theta_hat`: the modules of teacher and student.
    - `F`: from true to inferred latents, see `latent_map`.
    - `absolute`: count a neuron of opposite sign as aligned.
    - `unit_modules`: scale a neuron's weights in each module to norm 1 first. The published code
        has `absolute=False, unit_modules=True`.
    """
    teacher, student = (
        _neurons(modules, unit_modules) for modules in (Theta, in_teacher_basis(Theta_hat, F))
    )
    return _closest(_unit(teacher) @ _unit(student).T, absolute)


def alignment_by_module(
    Theta: Float[Array, "modules hidden inputs"],
    Theta_hat: Float[Array, "student_modules student_hidden inputs"],
    F: Float[Array, "student_modules modules"],
    *,
    absolute: bool = True,
) -> Float[Array, "modules hidden"]:
    """`module_alignment` for every module on its own: neurons are matched in each module anew.

    High values beside a low `module_alignment` mean that the modules are known but their neurons
    are ordered inconsistently.
    """
    student = _unit(in_teacher_basis(Theta_hat, F))
    return _closest(jnp.einsum("mhi,mji->mhj", _unit(Theta), student), absolute)


def generated_alignment(
    W: Float[Array, "tasks hidden inputs"],
    W_hat: Float[Array, "tasks student_hidden inputs"],
    *,
    absolute: bool = True,
    matched_by_task: bool = False,
) -> Float[Array, " hidden"]:
    """For each teacher neuron, the cosine of the weights that the modules generate for tasks.

    One student neuron is matched to it for all tasks: max_j |mean_t cos|; or, with
    `matched_by_task`, one for each task: mean_t max_j |cos|. A gap between the two exposes
    neurons whose order differs from task to task.
    """
    cosines = jnp.einsum("thi,tji->thj", _unit(W), _unit(W_hat))
    if matched_by_task:
        return _closest(cosines, absolute).mean(axis=0)
    return _closest(cosines.mean(axis=0), absolute)


def _unit(vectors: Float[Array, "*any n"]) -> Float[Array, "*any n"]:
    """Scaled to norm 1; a vector of zeros stays one."""
    norms = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / jnp.where(norms > 0, norms, 1)


def _neurons(
    modules: Float[Array, "modules hidden inputs"], unit_modules: bool
) -> Float[Array, "hidden features"]:
    """All weights of each neuron, module after module."""
    weights = modules.swapaxes(0, 1)
    return (_unit(weights) if unit_modules else weights).reshape(len(weights), -1)


def _closest(
    cosines: Float[Array, "*any hidden student_hidden"], absolute: bool
) -> Float[Array, "*any hidden"]:
    return (jnp.abs(cosines) if absolute else cosines).max(axis=-1)
