"""When are two bias-free two-layer ReLU networks the same function? Theorems 3 and 4.

With ψ(u) = (u + |u|) / 2 a network Σ_i a_i ψ(w_i·x) is a linear function plus a sum of |w·x|, one
for every line on which weight vectors lie. The |w·x| of different lines are independent of one
another and of linear functions, so two networks agree everywhere if and only if they agree line by
line and in their linear part. Everything is NumPy in double precision.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

Indices = tuple[int, ...]


@dataclass(frozen=True)
class NeuronPartition:
    """Which student neurons stand for which teacher neuron, for one output (Theorem 4, Theorem 7).

    Neurons are counted from 0. The student's neurons fall into the sets without rest. The sets are
    filled whether or not the networks are equal: a teacher neuron with empty sets has no
    counterpart.
    """

    equal: bool
    """Whether the two networks are the same function."""
    S1: tuple[Indices, ...]
    """For every teacher neuron, the student neurons that point the same way."""
    S2: tuple[Indices, ...]
    """For every teacher neuron, the student neurons that point the opposite way."""
    S1_prime: tuple[Indices, ...]
    """For every line without a teacher neuron, the student neurons that point one way."""
    S2_prime: tuple[Indices, ...]
    """For every line without a teacher neuron, the student neurons that point the other way."""
    S0: Indices
    """Student neurons that do nothing: â ŵ = 0."""
    residual: float
    """The largest sum that should be zero, relative to Σ |a| ‖w‖ over both networks."""

    @property
    def permutation(self) -> Indices | None:
        """σ of Theorem 3: the student neuron of each teacher neuron; None unless they pair up."""
        owned = [(*same, *opposite) for same, opposite in zip(self.S1, self.S2, strict=True)]
        if any(len(neurons) != 1 for neurons in owned) or self.S1_prime or self.S0:
            return None
        return tuple(neurons[0] for neurons in owned)

    @property
    def flipped(self) -> Indices:
        """S_2 of Theorem 3: the teacher neurons whose counterparts point the opposite way only."""
        pairs = enumerate(zip(self.S1, self.S2, strict=True))
        return tuple(i for i, (same, opposite) in pairs if opposite and not same)


@dataclass(frozen=True)
class FunctionalEquality:
    """Two networks compared, output by output."""

    outputs: tuple[NeuronPartition, ...]

    @property
    def equal(self) -> bool:
        """Whether the networks are the same function."""
        return all(partition.equal for partition in self.outputs)

    @property
    def residual(self) -> float:
        """The largest residual of any output."""
        return max(partition.residual for partition in self.outputs)


def relu_equality(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, "outputs hidden"],
    W_hat: Float[ArrayLike, "student_hidden inputs"],
    a_hat: Float[ArrayLike, "outputs student_hidden"],
    *,
    tolerance: float = 1e-9,
) -> FunctionalEquality:
    """Whether a ψ(W x) = â ψ(Ŵ x) for all x, and by which neurons (Theorems 3 and 4).

    With the coefficient c = a_i of teacher neurons and c = -â_j of student neurons, the networks
    are equal if and only if Σ c ‖w‖ = 0 over the neurons of every line (Eq. 12) and Σ c w = 0 over
    all of them (Eq. 10, 22). That holds for any two networks. The sets of the partition are those
    of the theorems if the teacher meets their assumptions: no a_i is 0 and no two rows of W are
    collinear. If several teacher neurons lie on one line, the first owns all student neurons on it.

    **Arguments:**

    - `W`, `a`: the teacher; `a` may be `[hidden]` for one output.
    - `W_hat`, `a_hat`: the student, of any width.
    - `tolerance`: vectors are collinear if |cos| is at least 1 - `tolerance`; a sum is zero if it
        is at most `tolerance` times the sum of sizes. Weights trained in single precision need
        about 1e-5.
    """
    return each_output(_relu_partition, W, a, W_hat, a_hat, tolerance)


def collinear_classes(
    vectors: Float[np.ndarray, "vectors inputs"], tolerance: float
) -> list[list[tuple[int, int]]]:
    """Non-zero vectors grouped by the line they lie on: (index, ±1), +1 along the first."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    classes: list[list[tuple[int, int]]] = []
    for index, direction in enumerate(unit):
        for members in classes:
            cosine = float(unit[members[0][0]] @ direction)
            if abs(cosine) >= 1 - tolerance:
                members.append((index, 1 if cosine > 0 else -1))
                break
        else:
            classes.append([(index, 1)])
    return classes


def _relu_partition(W, a, W_hat, a_hat, tolerance: float) -> NeuronPartition:
    h = len(a)
    w, c = np.concatenate([W, W_hat]), np.concatenate([a, -a_hat])
    size = c * np.linalg.norm(w, axis=1)
    scale = np.abs(size).sum()
    alive = np.flatnonzero(np.abs(size) > tolerance * scale)
    sums = [np.linalg.norm(c @ w)]
    S1: list[Indices] = [()] * h
    S2: list[Indices] = [()] * h
    S1_prime, S2_prime = [], []
    for members in collinear_classes(w[alive], tolerance):
        neurons = [(int(alive[index]), sign) for index, sign in members]
        sums.append(abs(sum(size[k] for k, _ in neurons)))
        along, against = (
            tuple(k - h for k, s in neurons if k >= h and s == sign) for sign in (1, -1)
        )
        first = neurons[0][0]  # a teacher neuron if the line has one: they come first
        if first < h:
            S1[first], S2[first] = along, against
        else:
            S1_prime.append(along)
            S2_prime.append(against)
    residual = float(max(sums) / scale) if scale else 0.0
    S0 = tuple(j for j in range(len(a_hat)) if h + j not in set(alive.tolist()))
    return NeuronPartition(
        residual <= tolerance, tuple(S1), tuple(S2), tuple(S1_prime), tuple(S2_prime), S0, residual
    )


def each_output(
    partition: Callable[..., NeuronPartition], W, a, W_hat, a_hat, tolerance: float
) -> FunctionalEquality:
    """Compare the two networks in every output, after a check of their shapes."""
    W, W_hat = (np.asarray(w, float) for w in (W, W_hat))
    a, a_hat = (np.atleast_2d(np.asarray(r, float)) for r in (a, a_hat))
    if W.ndim != 2 or W_hat.ndim != 2 or W.shape[1] != W_hat.shape[1]:
        raise ValueError(
            f"weights have shapes {W.shape} and {W_hat.shape}: both must be [hidden, inputs] with "
            "equally many inputs"
        )
    if len(a) != len(a_hat) or a.shape[1] != len(W) or a_hat.shape[1] != len(W_hat):
        raise ValueError(
            f"readouts have shapes {a.shape} and {a_hat.shape}: with {len(W)} and {len(W_hat)} "
            "hidden neurons they must be [outputs, hidden] with equally many outputs"
        )
    rows = zip(a, a_hat, strict=True)
    return FunctionalEquality(
        tuple(partition(W, row, W_hat, row_hat, tolerance) for row, row_hat in rows)
    )
