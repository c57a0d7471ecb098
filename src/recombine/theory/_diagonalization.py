"""Whether path statistics share singular bases: the assumption of the exact reduction."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from recombine.theory._paths import PathStatistics

Block: TypeAlias = tuple[str, str, np.ndarray]
Mode: TypeAlias = dict[str, np.ndarray]


class Diagonalization(NamedTuple):
    """Singular bases for path statistics, and how well they fit."""

    bases: dict[str, Float[Array, "_width modes"]]
    """The basis U_v of every output node v, and V_v of every input node. Their α-th columns
    belong to the α-th mode. Columns are orthonormal; a mode that a node is too narrow for, or has
    no part in, has a column of zeros. Modes are those with a direction at some input and at
    some output (with one input and one output: as many as the smaller width), in order of falling
    singular value."""
    residual: float
    """The largest off-diagonal element of any Uᵀ Σ^yx(p) V and Vᵀ Σ^x(j, p) V, in all directions of
    the nodes (not only those of `bases`)."""
    scale: float
    """The largest element of any Σ^yx(p) and Σ^x(j, p)."""

    def holds(self, tolerance: float = 1e-5) -> bool:
        """Whether the residual is at most `tolerance`, relative to the scale."""
        return self.residual <= tolerance * self.scale


def check_diagonalizable(statistics: PathStatistics, *, attempts: int = 8) -> Diagonalization:
    """Look for bases in which all path statistics are diagonal (Eq. 7-8).

    Wanted are orthogonal U_v for each output node and V_v for each input node with diagonal S and
    D in Σ^yx(p) = U_{t(p)} S(p) V_{s(p)}ᵀ and Σ^x(j, p) = V_{s(j)} D(j, p) V_{s(p)}ᵀ.

    Think of the statistics as maps between nodes. If the bases exist, then walking along these maps
    from a node back to itself is diagonal in the node's basis, whatever the walk. A generic mixture
    of all closed walks separates all modes that any walk can tell apart; its eigenvectors are the
    node's basis, and the maps carry each of them to the other nodes. Modes that no walk can tell
    apart (equal singular values everywhere) may be rotated freely, as long as all nodes follow.

    **Arguments:**

    - `statistics`: the path statistics, with concrete arrays.
    - `attempts`: how many mixtures are tried; the best is kept.

    **Returns:** the bases and the largest off-diagonal residual, which is zero (up to rounding) if
    and only if the statistics can be diagonalised. Statistics of non-commuting data leave a
    residual of the order of their scale: then `holds()` is false and the reduction does not apply.
    """
    graph = statistics.graph
    nodes = (*graph.inputs, *graph.outputs)
    widths = {v: graph.widths[v] for v in nodes}
    yx, x = list(_target_blocks(statistics)), list(_input_blocks(statistics))
    blocks = yx + x
    scale = max((float(np.abs(sigma).max()) for _, _, sigma in blocks), default=0.0)
    dtype = jnp.result_type(*statistics.yx.values(), *statistics.x.values(), jnp.float32)
    precision = float(jnp.finfo(dtype).eps)
    # Rounding grows with the number of maps a mode is carried over: do not seek less than this.
    good_enough = precision**0.75 * scale

    best: tuple[float, dict[str, np.ndarray]] | None = None
    for attempt in range(attempts):
        modes = _modes(widths, _mixture(widths, blocks, scale, attempt), 100 * precision)
        bases = _align(widths, modes, yx, x)
        residual = _off_diagonal(bases, blocks)
        if best is None or residual < best[0]:
            best = residual, bases
        if residual <= good_enough:
            break
    assert best is not None
    residual, bases = best
    learned = _present(bases, graph.inputs) & _present(bases, graph.outputs)
    return Diagonalization(
        {v: jnp.asarray(basis[:, learned], dtype) for v, basis in bases.items()}, residual, scale
    )


def _target_blocks(statistics: PathStatistics) -> Iterator[Block]:
    edges = statistics.graph.edges
    for p, sigma in statistics.yx.items():
        yield edges[p[-1]][1], edges[p[0]][0], np.asarray(sigma, float)


def _input_blocks(statistics: PathStatistics) -> Iterator[Block]:
    edges = statistics.graph.edges
    for (j, p), sigma in statistics.x.items():
        yield edges[j[0]][0], edges[p[0]][0], np.asarray(sigma, float)


def _mixture(widths: dict[str, int], blocks: list[Block], scale: float, attempt: int):
    """A generic positive combination of all maps between nodes, as one symmetric matrix of blocks.

    Positive, so that a singular vector carried along Σ^yx has a positive singular value.
    """
    golden = (np.sqrt(5) - 1) / 2
    mixture = {(v, w): np.zeros((widths[v], widths[w])) for v in widths for w in widths}
    for k, (row, column, sigma) in enumerate(blocks, start=1):
        # Multiples of an irrational number modulo 1: as good as random, and the same every time.
        weight = 0.5 + (golden * (attempt + 1) * k**1.5) % 1.0
        mixture[row, column] += weight / scale * sigma if scale else 0.0
    for v, w in list(mixture):
        if v <= w:
            mixture[v, w] = (mixture[v, w] + mixture[w, v].T) / 2
            mixture[w, v] = mixture[v, w].T
    return mixture


def _modes(widths: dict[str, int], mixture, rounding: float) -> list[Mode]:
    """Split the directions of all nodes into modes; each has at most one direction per node."""
    found: dict[str, np.ndarray] = {v: np.zeros((w, 0)) for v, w in widths.items()}
    modes: list[Mode] = []
    while True:
        root = max(widths, key=lambda v: widths[v] - found[v].shape[1])
        rest = {v: _complement(basis) for v, basis in found.items()}
        if not rest[root].shape[1]:
            return modes
        for direction in _closed_walk_directions(root, rest, mixture):
            mode = _spread(root, direction, found, mixture, rounding)
            for v, q in mode.items():
                found[v] = np.column_stack([found[v], q])
            modes.append(mode)


def _complement(basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what is orthogonal to the columns of `basis`."""
    rows, columns = basis.shape
    return np.linalg.qr(np.column_stack([basis, np.eye(rows)]))[0][:, columns:rows]


def _closed_walk_directions(root: str, rest: dict[str, np.ndarray], mixture) -> np.ndarray:
    """Eigenvectors of a mixture of all closed walks at `root` that stay in the spaces `rest`."""
    nodes = list(rest)
    steps = np.block([[rest[v].T @ mixture[v, w] @ rest[w] for w in nodes] for v in nodes])
    size = np.linalg.norm(steps, 2)
    walks = scipy.linalg.expm(2 * steps / size) if size else np.eye(len(steps))
    start = sum(rest[v].shape[1] for v in nodes[: nodes.index(root)])
    here = slice(start, start + rest[root].shape[1])
    return (rest[root] @ np.linalg.eigh(walks[here, here])[1]).T


def _spread(root: str, direction: np.ndarray, found, mixture, rounding: float) -> Mode:
    """Carry a direction of `root` to all nodes it reaches, over the strongest maps first."""
    mode = {root: direction}
    waiting = {v: np.zeros(len(found[v])) for v in found if v != root}
    latest = root
    while waiting:
        for v, strongest in waiting.items():
            q = mixture[v, latest] @ mode[latest]
            if np.linalg.norm(q) > np.linalg.norm(strongest):
                waiting[v] = q
        v = max(waiting, key=lambda v: np.linalg.norm(waiting[v]))
        q = waiting.pop(v)
        new = q - found[v] @ (found[v].T @ q)
        if np.linalg.norm(q) <= rounding:
            break
        # Otherwise the direction at v belongs to another mode already, which happens only to
        # statistics that cannot be diagonalised: this mode then leaves v out.
        if np.linalg.norm(new) > np.linalg.norm(q) / 2:
            new -= found[v] @ (found[v].T @ new)
            mode[v] = new / np.linalg.norm(new)
            latest = v
    return mode


def _align(
    widths: dict[str, int], modes: list[Mode], yx: list[Block], x: list[Block]
) -> dict[str, np.ndarray]:
    """Number the modes by falling strength; modes without a common node share a number."""

    def strength(mode: Mode) -> tuple[float, float]:
        def largest(blocks):
            inside = [abs(mode[r] @ s @ mode[c]) for r, c, s in blocks if r in mode and c in mode]
            return float(max(inside, default=0.0))

        return largest(yx), largest(x)

    numbered: list[Mode] = []
    for mode in sorted(modes, key=strength, reverse=True):
        for other in numbered:
            if other.keys().isdisjoint(mode):
                other.update(mode)
                break
        else:
            numbered.append(dict(mode))
    bases = {
        v: np.column_stack([mode.get(v, np.zeros(width)) for mode in numbered])
        for v, width in widths.items()
    }
    signs: dict[str, np.ndarray] = {}
    for target, source, sigma in yx:
        values = np.sum(bases[target] * (sigma @ bases[source]), axis=0)
        signs[target] = signs.get(target, 0.0) + values
    for target, values in signs.items():
        bases[target] = bases[target] * np.where(values < 0, -1.0, 1.0)
    return bases


def _off_diagonal(bases: dict[str, np.ndarray], blocks: list[Block]) -> float:
    largest = 0.0
    for row, column, sigma in blocks:
        rotated = bases[row].T @ sigma @ bases[column]
        largest = max(largest, float(np.abs(rotated - np.diag(np.diag(rotated))).max()))
    return largest


def _present(bases: dict[str, np.ndarray], nodes: tuple[str, ...]) -> np.ndarray:
    return np.any([np.linalg.norm(bases[v], axis=0) > 0.5 for v in nodes], axis=0)
