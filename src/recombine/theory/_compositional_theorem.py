"""When does fitting some mixtures imply solving all? Theorem 9, with its Lemmas 6 and 10.

Arrays of modules are `[modules, hidden, inputs]`; Θ_i, the slice of neuron i, maps a task latent to
row i of the first layer.
"""

import jax
import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray
from numpy.typing import ArrayLike

from ..splits._support import (
    compositional_support,
    connected_support,
    discrete_sample_condition,
)
from ._assumptions import Assumption, AssumptionReport
from ._multitask_identification import distinct_rows, nonzero_readouts, row_cosines

MOST_COMBINATIONS = 2_000_000


def theorem9_assumptions(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    a: Float[ArrayLike, "outputs hidden"],
    *,
    student_modules: int,
    student_hidden: int,
    masks: Bool[ArrayLike, "families modules"],
    latents: Float[ArrayLike, "tasks modules"],
    inputs: Float[ArrayLike, "samples inputs"],
    finite: bool = False,
    tolerance: float = 1e-9,
) -> AssumptionReport:
    """Every assumption of Theorem 9, each with the number that tells.

    If all hold, a student without loss on the training tasks has none on any task. What the theorem
    assumes of distributions is checked on draws from them, as far as draws can tell: inputs of
    full support span all directions, and latents with a density are never zero and never repeat a
    direction. Statements about the readout are applied to each output.

    **Arguments:**

    - `Theta`, `a`: the teacher; `a` may be `[hidden]` for one output.
    - `student_modules`, `student_hidden`: M̂ and ĥ.
    - `masks`: the masks b_k of the task families.
    - `latents`: draws of training tasks, of all families. A draw belongs to the family whose
        modules are those that it uses.
    - `inputs`: draws of x.
    - `finite`: check the second part of the theorem (Eq. 62) in place of the first (Eq. 61): the
        latents are all of the training tasks, and a family needs d_k + 1 of them in general
        position in place of a density. For almost all such tasks Eq. 74 holds, which the proof
        needs; `vanishing_combinations` tells whether it does for given ones.
    - `tolerance`: rows are collinear if |cos| is at least 1 - `tolerance`.
    """
    Theta, b = np.asarray(Theta, float), np.asarray(masks, bool)
    z, x = np.asarray(latents, float), np.asarray(inputs, float)
    M, h, n = Theta.shape
    for name, array, width in (("masks", b, M), ("latents", z, M), ("inputs", x, n)):
        if array.ndim != 2 or array.shape[1] != width:
            raise ValueError(f"{name} has shape {array.shape}: give [rows, {width}]")
    ranks = [
        int(np.linalg.matrix_rank(np.einsum("h,mhn->nm", row, Theta)))
        for row in np.atleast_2d(np.asarray(a, float))
    ]
    spanned = int(np.linalg.matrix_rank(x))
    unseen = len(compositional_support(b).unseen)
    connected = connected_support(b)
    zeros = int(np.sum(~z.any(axis=1)))
    report = [
        Assumption("inputs have full support", spanned == n, spanned, f"dimensions, {n} needed"),
        Assumption("M ≤ n", n >= M, M, f"modules, at most {n} inputs"),
        Assumption("M̂ = M", student_modules == M, student_modules, f"of {M}"),
        Assumption("ĥ = h", student_hidden == h, student_hidden, f"of {h}"),
        Assumption("Σ aᵢΘᵢ has full rank", min(ranks) == M, min(ranks), f"rank, {M} needed"),
        nonzero_readouts(a, tolerance),
        distinct_rows("no module has collinear rows", Theta, tolerance),
        Assumption("compositional support", unseen == 0, unseen, "modules never seen, 0 needed"),
        Assumption(
            "connected support",
            bool(connected),
            len(connected.components),
            "connected parts, 1 needed",
        ),
        Assumption("z is never 0", zeros == 0, zeros, "draws, 0 allowed"),
    ]
    report += [_enough_tasks(z, b)] if finite else [_all_families(z, b), _density(z, b)]
    return AssumptionReport(f"Theorem 9 ({'Eq. 62' if finite else 'Eq. 61'})", tuple(report))


def _all_families(z: np.ndarray, b: np.ndarray) -> Assumption:
    fewest = min(int(np.sum(np.all((z != 0) == mask, axis=1))) for mask in b)
    return Assumption("every family is drawn", fewest > 0, fewest, "fewest draws, above 0")


def _density(z: np.ndarray, b: np.ndarray) -> Assumption:
    """A density has no atoms. The sphere of one dimension is two points, and makes no demand."""
    repeated = 0
    for mask in b[b.sum(axis=1) > 1]:
        family = z[np.all((z != 0) == mask, axis=1)]
        unit = family / np.linalg.norm(family, axis=1, keepdims=True)
        repeated += len(unit) - len(np.unique(np.round(unit, 12), axis=0))
    return Assumption(
        "latents have a density on the sphere", repeated == 0, repeated, "repeated directions, 0"
    )


def _enough_tasks(z: np.ndarray, b: np.ndarray) -> Assumption:
    families = discrete_sample_condition(z, b).families
    short = sum(not family for family in families if not family.contained)
    return Assumption(
        "every family has dₖ + 1 tasks in general position", short == 0, short, "too few in, 0"
    )


def has_collinear_rows(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    latents: Float[ArrayLike, "tasks modules"],
    *,
    tolerance: float = 1e-9,
) -> Bool[np.ndarray, " tasks"]:
    """Whether two rows of W(Θ, z) are collinear, for each task z."""
    W = np.tensordot(np.asarray(latents, float), np.asarray(Theta, float), 1)
    return row_cosines(W) >= 1 - tolerance


def collinear_fraction(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    subspace: Float[ArrayLike, "dimensions modules"],
    *,
    key: PRNGKeyArray,
    samples: int = 1000,
    tolerance: float = 1e-9,
) -> float:
    """The fraction of random z in a subspace for which W(Θ, z) has collinear rows (Lemma 6).

    If one z of the subspace has none, almost no z has any: the fraction is 0. If not, it is 1. The
    exceptions are the zeros of polynomials. Lemma 6 calls them a finite union of subspaces, which
    they need not be: for Θ_1 z = (z_1, z_2) and Θ_2 z = (z_2, z_3) they are the cone z_1 z_3 =
    z_2². Nothing else in the proof of Theorem 9 depends on that.

    **Arguments:**

    - `subspace`: its basis, one vector per row; the unit vectors of a mask for a task family.
    """
    basis = np.atleast_2d(np.asarray(subspace, float))
    mix = np.asarray(jax.random.normal(key, (samples, len(basis))), float)
    return float(np.mean(has_collinear_rows(Theta, mix @ basis, tolerance=tolerance)))


def null_coefficients(
    latents: Float[ArrayLike, "dimensions+1 dimensions"],
) -> Float[np.ndarray, " dimensions+1"]:
    """λ with Σ_e λ_e z_e = 0 and norm 1, for d + 1 vectors in d dimensions (Lemma 10).

    Unique up to its sign if every d of the vectors are linearly independent.
    """
    z = np.asarray(latents, float)
    if z.ndim != 2 or z.shape[0] != z.shape[1] + 1:
        raise ValueError(f"latents have shape {z.shape}: give d + 1 vectors of d entries")
    return np.linalg.svd(z.T)[2][-1]


def vanishing_combinations(
    Theta: Float[ArrayLike, "dimensions hidden inputs"],
    latents: Float[ArrayLike, "dimensions+1 dimensions"],
    *,
    tolerance: float = 1e-9,
) -> tuple[Int[np.ndarray, "found dimensions+1"], Int[np.ndarray, "found dimensions+1"]]:
    """All choices of neurons i_e and signs s_e with Σ_e s_e Θ_{i_e} λ_e z_e = 0 (Eq. 74).

    Lemma 10: for generic vectors these are the 2h constant ones, all i_e equal and all s_e equal.
    Then d + 1 tasks of a family fix which neuron is which. All (2h)^(d+1) choices are tried.

    **Arguments:**

    - `Theta`: the modules of one task family, `d` of them.
    - `latents`: d + 1 tasks of it.

    **Returns:**

    The neurons (from 0) and the signs (±1), one row per choice.
    """
    Theta, z = np.asarray(Theta, float), np.asarray(latents, float)
    h = Theta.shape[1]
    if (2 * h) ** len(z) > MOST_COMBINATIONS:
        raise ValueError(
            f"{(2 * h) ** len(z)} combinations of {h} neurons and {len(z)} tasks: more than "
            f"{MOST_COMBINATIONS} are not tried"
        )
    rows = np.tensordot(null_coefficients(z)[:, None] * z, Theta, 1)
    signed = np.concatenate([rows, -rows], axis=1)
    total = signed[0]
    for term in signed[1:]:
        total = (total[:, None] + term).reshape(-1, Theta.shape[2])
    small = np.linalg.norm(total, axis=1) <= tolerance * np.linalg.norm(rows, axis=-1).sum()
    choices = np.stack(np.unravel_index(np.flatnonzero(small), [2 * h] * len(z)), axis=1)
    return choices % h, np.where(choices < h, 1, -1)
