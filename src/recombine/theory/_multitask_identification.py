"""Has a modular student recovered a modular teacher? Theorem 5, Corollary 6.1, Theorems 7 and 8.

A task z gives the first layer W(Θ, z) = Σ_m z_m Θ^(m); the readout a is shared by all tasks. A
student (Θ̂, â) solves every task, with ẑ = F z, if and only if the slices Θ_i of the teacher's
neurons and Θ̂_j F of the student's, taken as vectors, match as the rows of two networks that are the
same function. Arrays of modules are `[modules, hidden, inputs]`.
"""

from dataclasses import dataclass
from typing import Protocol

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from numpy.typing import ArrayLike

from ._assumptions import Assumption, AssumptionReport
from ._relu_equality import (
    FunctionalEquality,
    Indices,
    NeuronPartition,
    each_output,
    relu_equality,
)

Modules = Float[np.ndarray, "modules hidden inputs"]


class Compare(Protocol):
    """`relu_equality` or `smooth_equality`."""

    def __call__(self, W, a, W_hat, a_hat, *, tolerance: float) -> FunctionalEquality: ...


@dataclass(frozen=True)
class Identification:
    """Whether a student solves every task of a teacher, and how its parts match."""

    F: Float[np.ndarray, "student_modules modules"]
    """The map of task latents, ẑ = F z."""
    rank: int
    """The rank of F. Below the number of modules, the readout-weighted sums do not determine F."""
    equality: FunctionalEquality
    """The neurons, matched with the slices of all modules as their weights."""

    @property
    def identified(self) -> bool:
        """Whether Eq. 38-45 (Eq. 57-60 for smooth activations) hold with this F."""
        return self.equality.equal and self.rank == self.F.shape[1]

    @property
    def permutation(self) -> Indices | None:
        """σ of Corollary 6.1: the student neuron of each teacher neuron, one for all outputs."""
        found = {partition.permutation for partition in self.equality.outputs}
        return found.pop() if len(found) == 1 else None


def latent_map(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    a: Float[ArrayLike, "outputs hidden"],
    Theta_hat: Float[ArrayLike, "student_modules student_hidden inputs"],
    a_hat: Float[ArrayLike, "outputs student_hidden"],
) -> Float[np.ndarray, "student_modules modules"]:
    """F of ẑ = F z in closed form: (Σ_j â_j Θ̂_j)^† (Σ_i a_i Θ_i) (proof of Theorem 9).

    The sums of several outputs are stacked. F is right for a student without loss if the
    student's sum has full column rank.
    """
    return np.linalg.pinv(_summed(Theta_hat, a_hat)) @ _summed(Theta, a)


def _summed(Theta, a) -> Float[np.ndarray, "outputs*inputs modules"]:
    """Σ_i a_i Θ_i of every output, stacked."""
    Theta, a = np.asarray(Theta, float), np.atleast_2d(np.asarray(a, float))
    return np.einsum("oh,mhn->onm", a, Theta).reshape(-1, len(Theta))


def identify(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    a: Float[ArrayLike, "outputs hidden"],
    Theta_hat: Float[ArrayLike, "student_modules student_hidden inputs"],
    a_hat: Float[ArrayLike, "outputs student_hidden"],
    *,
    F: Float[ArrayLike, "student_modules modules"] | None = None,
    compare: Compare = relu_equality,
    tolerance: float = 1e-9,
) -> Identification:
    """Whether the student solves all tasks of the teacher (Theorem 5, Corollary 6.1, Theorem 8).

    **Arguments:**

    - `Theta`, `a`: the teacher; `a` may be `[hidden]` for one output.
    - `Theta_hat`, `a_hat`: the student, of any width and number of modules.
    - `F`: the map of task latents, ẑ = F z; by default that of `latent_map`.
    - `compare`: `relu_equality`, or `smooth_equality` for smooth activations.
    - `tolerance`: see `relu_equality`.
    """
    Theta, Theta_hat = np.asarray(Theta, float), np.asarray(Theta_hat, float)
    F = latent_map(Theta, a, Theta_hat, a_hat) if F is None else np.asarray(F, float)
    in_teacher_basis = np.einsum("pm,phn->mhn", F, Theta_hat)
    equality = compare(
        neuron_vectors(Theta), a, neuron_vectors(in_teacher_basis), a_hat, tolerance=tolerance
    )
    return Identification(F, int(np.linalg.matrix_rank(F)), equality)


def neuron_vectors(
    Theta: Float[ArrayLike, "modules hidden inputs"],
) -> Float[np.ndarray, "hidden modules*inputs"]:
    """vec(Θ_i): what each neuron holds in all modules, as one vector."""
    return np.swapaxes(np.asarray(Theta, float), 0, 1).reshape(np.shape(Theta)[1], -1)


def smooth_equality(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, "outputs hidden"],
    W_hat: Float[ArrayLike, "student_hidden inputs"],
    a_hat: Float[ArrayLike, "outputs student_hidden"],
    *,
    tolerance: float = 1e-9,
) -> FunctionalEquality:
    """Whether a ψ(W x) = â ψ(Ŵ x) for all x and smooth ψ, and by which neurons (Theorem 7).

    For ψ with infinitely many non-zero even and odd derivatives at 0. The networks are equal if
    and only if the readouts of every group of identical rows add up to the same. `S1` are the
    sets S_i of the theorem and `S1_prime` its S'_i; all others are empty. As in the theorem, rows
    that are 0 are a group like any other, which is too strict only if ψ(0) = 0.

    **Arguments:** as of `relu_equality`. Rows are identical if they differ by at most `tolerance`
    times the largest norm of a row.
    """
    return each_output(_smooth_partition, W, a, W_hat, a_hat, tolerance)


def _smooth_partition(W, a, W_hat, a_hat, tolerance: float) -> NeuronPartition:
    h = len(a)
    w, c = np.concatenate([W, W_hat]), np.concatenate([a, -a_hat])
    near = tolerance * np.linalg.norm(w, axis=1).max()
    groups: list[list[int]] = []
    for k, row in enumerate(w):
        for group in groups:
            if np.linalg.norm(w[group[0]] - row) <= near:
                group.append(k)
                break
        else:
            groups.append([k])
    S: list[Indices] = [()] * h
    S_prime = []
    for group in groups:
        students = tuple(k - h for k in group if k >= h)
        if group[0] < h:
            S[group[0]] = students
        else:
            S_prime.append(students)
    scale = np.abs(c).sum()
    residual = float(max(abs(c[group].sum()) for group in groups) / scale) if scale else 0.0
    return NeuronPartition(
        equal=residual <= tolerance,
        S1=tuple(S),
        S2=((),) * h,
        S1_prime=tuple(S_prime),
        S2_prime=((),) * len(S_prime),
        S0=(),
        residual=residual,
    )


def theorem5_assumptions(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    a: Float[ArrayLike, "outputs hidden"],
    *,
    student_modules: int,
    student_hidden: int,
    key: PRNGKeyArray,
    tolerance: float = 1e-9,
) -> AssumptionReport:
    """The assumptions of Theorem 5 on teacher and sizes; the inputs are taken to have full support.

    That some combination of the Θ_i has full rank, and some task no collinear rows, is tested with
    a random one, which is as good as any with probability 1. Statements about the readout are
    applied to each output.
    """
    Theta = np.asarray(Theta, float)
    M, h, n = Theta.shape
    combination_key, task_key = jax.random.split(key)
    combination = np.asarray(jax.random.normal(combination_key, (h,)), float)
    z = np.asarray(jax.random.normal(task_key, (M,)), float)
    rank = int(np.linalg.matrix_rank(np.einsum("h,mhn->nm", combination, Theta)))
    return AssumptionReport(
        "Theorem 5",
        (
            Assumption("M ≤ n", n >= M, M, f"modules, at most {n} inputs"),
            Assumption("M̂ = M", student_modules == M, student_modules, f"of {M}"),
            Assumption("ĥ ≥ h", student_hidden >= h, student_hidden, f"{h} or more"),
            Assumption("some Σ λᵢΘᵢ has full rank", rank == M, rank, f"rank, {M} needed"),
            nonzero_readouts(a, tolerance),
            distinct_rows("some W(Θ, z) has no collinear rows", np.tensordot(z, Theta, 1)[None]),
        ),
    )


def nonzero_readouts(a: Float[ArrayLike, "outputs hidden"], tolerance: float) -> Assumption:
    """No a_i is 0, in any output."""
    smallest = float(np.abs(np.asarray(a, float)).min())
    return Assumption("no aᵢ is 0", smallest > tolerance, smallest, "smallest |a|, above 0")


def distinct_rows(
    name: str, W: Float[ArrayLike, "layers hidden inputs"], tolerance: float = 1e-9
) -> Assumption:
    """No two rows are collinear, in any of the layers."""
    largest = float(row_cosines(W).max(initial=0.0))
    return Assumption(name, largest < 1 - tolerance, largest, "largest |cos|, below 1")


def row_cosines(W: Float[ArrayLike, "layers hidden inputs"]) -> Float[np.ndarray, " layers"]:
    """The largest |cos| between two rows of each layer; a row of zeros is collinear with all."""
    W = np.asarray(W, float)
    norms = np.linalg.norm(W, axis=-1, keepdims=True)
    unit = W / np.where(norms > 0, norms, 1.0)
    cosines = np.abs(unit @ np.swapaxes(unit, -1, -2))
    silent = norms[..., 0] == 0
    cosines = np.where(silent[..., None] | silent[..., None, :], 1.0, cosines)
    pairs = np.triu_indices(W.shape[-2], 1)
    return cosines[..., pairs[0], pairs[1]].max(axis=-1, initial=0.0)
