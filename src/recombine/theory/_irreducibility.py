"""How few hidden neurons does a function need? Irreducibility (Definition A.1, Section A.1.2).

Every bias-free two-layer ReLU network with one output is f(x) = Σ_c β_c |u_c·x| + v·x, with one
unit vector u_c per line and β_c ≠ 0. That form is unique, and the smallest network that computes f
can be read off it:

- Each line needs a neuron, and one neuron on it adds ±β_c u_c to the linear part. If some choice
  of signs makes v, as many neurons as lines are enough.
- Two opposite neurons on one line add any multiple of u_c. If that and some choice of the other
  signs makes v, one neuron more is enough.
- Two neurons more always are: ψ(r·x) - ψ(-r·x) = r·x.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ._relu_equality import collinear_classes

MOST_LINES = 16
"""The choice of signs is searched in full."""


class Network(NamedTuple):
    """First-layer weights `[hidden, inputs]` and readout, `[hidden]` or `[outputs, hidden]`."""

    W: Float[np.ndarray, "hidden inputs"]
    a: Float[np.ndarray, "*outputs hidden"]


class CanonicalForm(NamedTuple):
    """f(x) = Σ_c β_c |u_c·x| + v·x: equal for networks that are the same function."""

    u: Float[np.ndarray, "lines inputs"]
    """Unit vectors, one per line; the sign is that of the first neuron on it."""
    beta: Float[np.ndarray, " lines"]
    v: Float[np.ndarray, " inputs"]


def canonical_form(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, " hidden"],
    *,
    tolerance: float = 1e-9,
) -> CanonicalForm:
    """The lines, their weights and the linear part of a ReLU network with one output."""
    W, a = np.asarray(W, float), np.asarray(a, float)
    if W.ndim != 2 or a.shape != W.shape[:1]:
        raise ValueError(
            f"weights {W.shape} and readout {a.shape}: give [hidden, inputs] and [hidden], one "
            "output at a time"
        )
    v = a @ W / 2
    size = a * np.linalg.norm(W, axis=1) / 2
    scale = np.abs(size).sum()
    alive = np.flatnonzero(np.abs(size) > tolerance * scale)
    lines = collinear_classes(W[alive], tolerance)
    first = W[alive[[members[0][0] for members in lines]]]
    beta = np.array([sum(size[alive[k]] for k, _ in members) for members in lines])
    kept = np.abs(beta) > tolerance * scale
    u = first / np.linalg.norm(first, axis=1, keepdims=True)
    return CanonicalForm(u[kept], beta[kept], np.where(np.abs(v) > tolerance * scale, v, 0.0))


def minimal_network(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, " hidden"],
    *,
    tolerance: float = 1e-9,
) -> Network:
    """A smallest ReLU network that computes the same function, which has one output.

    Functions of up to 16 lines; the search over signs doubles with every line.
    """
    u, beta, v = canonical_form(W, a, tolerance=tolerance)
    if len(beta) > MOST_LINES:
        raise ValueError(
            f"the network has {len(beta)} lines: the search over signs stops at {MOST_LINES}"
        )
    scale = np.abs(beta).sum() + np.linalg.norm(v)
    signs = 1 - 2 * _subsets(len(beta))
    left = v - (signs * beta) @ u
    best = int(np.argmin(np.linalg.norm(left, axis=1)))
    if np.linalg.norm(left[best]) <= tolerance * scale:
        return Network(signs[best][:, None] * u, 2 * beta)
    for c, line in enumerate(u):
        along = left @ line
        across = np.linalg.norm(left - along[:, None] * line, axis=1)
        best = int(np.argmin(across))
        if across[best] <= tolerance * scale:
            # The line's own neuron gives way to two opposite ones, which add (p - q) / 2 = t.
            t = along[best] + signs[best, c] * beta[c]
            weights = np.vstack([np.delete(signs[best][:, None] * u, c, axis=0), line, -line])
            return Network(weights, np.append(2 * np.delete(beta, c), [beta[c] + t, beta[c] - t]))
    rest = left[0]
    return Network(
        np.vstack([signs[0][:, None] * u, rest, -rest]), np.append(2 * beta, [1.0, -1.0])
    )


def irreducible(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, " hidden"],
    *,
    tolerance: float = 1e-9,
) -> bool:
    """Whether no ReLU network with fewer hidden neurons is the same function (Definition A.1).

    A network without collinear rows and without a zero readout always is. That is all that the
    theorems use. For others the answer is exact, and not always that of the paper's list: see
    `irreducibility_conditions`.
    """
    return len(minimal_network(W, a, tolerance=tolerance).a) == len(np.asarray(a))


def irreducibility_conditions(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, " hidden"],
    *,
    tolerance: float = 1e-9,
) -> bool:
    """The list of Section A.1.2, which the paper calls necessary and sufficient.

    No a_k is 0; no two rows are positively collinear; at most one pair (k, l) is negatively
    collinear; and if there is one, no subset I of the others has a_k w_k = -Σ_I a_i w_i or
    a_l w_l = -Σ_I a_i w_i.

    With no or one opposite pair whose kinks do not cancel the list is right. It is not where they
    cancel, a_k ‖w_k‖ = -a_l ‖w_l‖: part of what is left, a linear function, may be absorbed. And
    two opposite pairs can be irreducible.
    """
    W, a = np.asarray(W, float), np.asarray(a, float)
    aw = a[:, None] * W
    size = np.linalg.norm(aw, axis=1)
    scale = size.sum()
    if np.any(size <= tolerance * scale):
        return False
    classes = collinear_classes(W, tolerance)
    if any(len(c) > 2 or len({sign for _, sign in c}) < len(c) for c in classes):
        return False
    pairs = [(c[0][0], c[1][0]) for c in classes if len(c) == 2]
    if len(pairs) != 1:
        return not pairs
    if len(a) > MOST_LINES:
        raise ValueError(f"{len(a)} neurons: the search over subsets stops at {MOST_LINES}")
    others = np.delete(aw, pairs[0], axis=0)
    sums = _subsets(len(others)) @ others
    return not any(
        np.any(np.linalg.norm(aw[k] + sums, axis=1) <= tolerance * scale) for k in pairs[0]
    )


def _subsets(count: int) -> Float[np.ndarray, "subsets {count}"]:
    """Every subset of `count` things as a row of zeros and ones."""
    return (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(float)


def fuse_neurons(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, "*outputs hidden"],
    *,
    tolerance: float = 1e-9,
) -> Network:
    """The same ReLU function with positively collinear neurons fused, and idle ones left out.

    For any number of outputs; opposite neurons stay. The fused neuron has the weights of the first,
    and as readout Σ a_i ‖w_i‖ / ‖w_1‖.
    """
    W, a = np.asarray(W, float), np.asarray(a, float)
    norms = np.linalg.norm(W, axis=1)
    size = np.atleast_2d(a) * norms
    scale = np.abs(size).sum(axis=1, keepdims=True)
    alive = np.flatnonzero(np.any(np.abs(size) > tolerance * scale, axis=0))
    kept, readouts = [], []
    for members in collinear_classes(W[alive], tolerance):
        for sign in (1, -1):
            neurons = [int(alive[k]) for k, s in members if s == sign]
            total = size[:, neurons].sum(axis=1)
            if np.any(np.abs(total) > tolerance * scale[:, 0]):
                kept.append(neurons[0])
                readouts.append(total / norms[neurons[0]])
    fused = np.array(readouts).reshape(len(kept), len(size)).T
    return Network(W[kept], fused if a.ndim == 2 else fused[0])


def irreducible_smooth(
    W: Float[ArrayLike, "hidden inputs"],
    a: Float[ArrayLike, " hidden"],
    *,
    tolerance: float = 1e-9,
) -> bool:
    """Irreducibility for smooth ψ: no readout is 0, no row is 0, no two rows are identical.

    For ψ with infinitely many non-zero even and odd derivatives at 0, such as the sum of a softplus
    and a sigmoid (Section A.1).
    """
    W, a = np.asarray(W, float), np.asarray(a, float)
    scale = np.linalg.norm(W, axis=1).max(initial=0.0)
    apart = np.linalg.norm(W[:, None] - W, axis=-1)[np.triu_indices(len(W), 1)]
    return bool(
        np.all(np.abs(a) > tolerance * np.abs(a).max(initial=0.0))
        and np.all(np.linalg.norm(W, axis=1) > tolerance * scale)
        and np.all(apart > tolerance * scale)
    )
