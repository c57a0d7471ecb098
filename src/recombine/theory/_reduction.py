"""The exact reduction of a gated deep linear network to one scalar network for every mode."""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray

from recombine.models._gated_linear import GatedLinearNetwork, Graph
from recombine.theory._diagonalization import Diagonalization, check_diagonalizable
from recombine.theory._mode_dynamics import AbstractModeDynamics
from recombine.theory._paths import Path, PathStatistics


class Reduction(AbstractModeDynamics[Float[Array, "*times edges modes"]]):
    """One scalar network for every singular mode (Eq. 10).

    The state is B, the strength of each mode (columns) on each edge (rows, in the order of
    `graph.edges`). `euler` and `integrate` solve it:

    ```python
    reduction = reduce(path_statistics(graph, examples))
    strengths = integrate(reduction, reduction.start(0.01), times)  # [times, edges, modes]
    ```

    Modes are those of `check_diagonalizable`: directions shared by some input and some output,
    hence as many as the smaller width if there is one input and one output. A hidden node narrower
    than that carries only its first (strongest) modes. `reduce` makes instances.
    """

    graph: Graph = eqx.field(static=True)
    paths: tuple[Path, ...] = eqx.field(static=True)
    """The paths that have statistics, the only ones that drive learning."""
    bases: dict[str, Float[Array, "_width modes"]]
    """U_v of the output nodes and V_v of the input nodes."""
    S: Float[Array, "paths modes"]
    """The diagonal of S(p) for each path."""
    D: Float[Array, "pairs modes"]
    """The diagonal of D(j, p) for each pair of paths."""
    pairs: Int[Array, "pairs 2"]
    """Which paths j and p the rows of D belong to."""
    baseline: Float[Array, ""]
    """½ Σ_v tr Σ^yy(v), the loss of a silent network."""
    tau: float | Float[Array, ""]
    """The time constant τ; 1 / learning rate if time is counted in steps of gradient descent."""

    def edge_strengths(
        self, B: Float[Array, "*times edges modes"]
    ) -> dict[str, Float[Array, "*times modes"]]:
        """The rows of B under the names of their edges."""
        return {edge: B[..., row, :] for row, edge in enumerate(self.graph.edges)}

    def start(self, b0: ArrayLike | Mapping[str, ArrayLike]) -> Float[Array, "edges modes"]:
        """B with strength `b0`: one number, or by edge one number or one for each mode.

        A mode that one end of an edge does not carry has strength 0 on that edge, and keeps it.
        """
        modes = jnp.arange(self.S.shape[1])
        carried = {v: modes < self.graph.widths[v] for v in self.graph.hidden}
        carried |= {v: jnp.any(basis != 0, axis=0) for v, basis in self.bases.items()}
        rows = [
            jnp.where(carried[s] & carried[t], b0[e] if isinstance(b0, Mapping) else b0, 0.0)
            for e, (s, t) in self.graph.edges.items()
        ]
        return jnp.stack(rows).astype(self.S.dtype)

    def rate(self, state: Float[Array, "edges modes"]) -> Float[Array, "edges modes"]:
        """dB/dt by Eq. 10, for all modes together.

        τ dB_e/dt = Σ_{p ∈ P(e)} B_{p∖e} [ S(p) − Σ_{j ∈ T(t(p))} B_j D(j, p) ].
        """
        factors = self._factors(state)
        before, after = [jnp.ones_like(self.S)], [jnp.ones_like(self.S)]
        for factor in factors:
            before.append(before[-1] * factor)
        for factor in reversed(factors):
            after.append(after[-1] * factor)
        error = self.S.at[self.pairs[:, 1]].add(-before[-1][self.pairs[:, 0]] * self.D)
        change = jnp.zeros((len(self.graph.edges) + 1, state.shape[1]), state.dtype)
        for i, edges in enumerate(self._edges_of_paths()):
            change = change.at[edges].add(before[i] * after[len(factors) - 1 - i] * error)
        return change[:-1] / self.tau

    def strength(
        self, state: Float[Array, "*times edges modes"]
    ) -> Float[Array, "*times paths modes"]:
        """B_p, the strength of each mode in the map of each path of `paths`."""
        product = jnp.ones((), state.dtype)
        for factor in self._factors(state):
            product = product * factor
        return product

    def conserved(
        self, state: Float[Array, "*times edges modes"]
    ) -> dict[str, Float[Array, "*times modes"]]:
        """Σ_{e: t(e)=v} B_e² − Σ_{e: s(e)=v} B_e² of every hidden node v (see `node_balance`)."""
        squares = {e: b**2 for e, b in self.edge_strengths(state).items()}

        def total(edges):
            return jnp.sum(jnp.stack([squares[e] for e in edges]), axis=0)

        graph = self.graph
        return {v: total(graph.incoming[v]) - total(graph.outgoing[v]) for v in graph.hidden}

    def loss(self, state: Float[Array, "*times edges modes"]) -> Float[Array, "*times"]:
        """The loss (Eq. 1) of the network that B stands for."""
        products = self.strength(state)
        j, p = self.pairs[:, 0], self.pairs[:, 1]
        explained = jnp.sum(self.S * products, axis=(-2, -1))
        power = jnp.sum(self.D * products[..., j, :] * products[..., p, :], axis=(-2, -1))
        return self.baseline - explained + power / 2

    def _edges_of_paths(self) -> list[np.ndarray]:
        """The row in B of the i-th edge of every path; one past the end for shorter paths."""
        rows = {edge: row for row, edge in enumerate(self.graph.edges)}
        length = max((len(path) for path in self.paths), default=0)
        padded = [
            [rows[e] for e in path] + [len(rows)] * (length - len(path)) for path in self.paths
        ]
        return list(np.asarray(padded, int).reshape(len(self.paths), length).T)

    def _factors(self, B: Float[Array, "*times edges modes"]):
        """For i = 0, 1, ...: the strengths of the i-th edge of every path; 1 for shorter paths."""
        one = jnp.ones_like(B[..., :1, :])
        padded = jnp.concatenate([B, one], axis=-2)
        return [padded[..., edges, :] for edges in self._edges_of_paths()]


def reduce(
    statistics: PathStatistics,
    diagonalization: Diagonalization | None = None,
    *,
    tau: float | Float[Array, ""] = 1.0,
    tolerance: float = 1e-5,
) -> Reduction:
    """Reduce gradient flow to its modes (Eq. 7-10).

    **Arguments:**

    - `statistics`: the path statistics.
    - `diagonalization`: their bases; by default those that `check_diagonalizable` finds.
    - `tau`: the time constant τ.
    - `tolerance`: the largest off-diagonal residual, relative to the scale of the statistics, up to
        which they count as diagonal.

    **Raises:** `ValueError` if the statistics are not diagonal in the bases. (With `tolerance=inf`
    the off-diagonal elements are ignored instead, and the reduction is an approximation.)
    """
    found = check_diagonalizable(statistics) if diagonalization is None else diagonalization
    if not found.holds(tolerance):
        raise ValueError(
            "the path statistics share no singular bases: the largest off-diagonal element is "
            f"{found.residual:.2e} where the largest element is {found.scale:.2e}"
        )
    edges, bases = statistics.graph.edges, found.bases
    paths = statistics.paths
    index = {path: i for i, path in enumerate(paths)}
    modes = next(iter(bases.values())).shape[1]
    dtype = next(iter(bases.values())).dtype

    def diagonal(row, sigma, column):
        return jnp.einsum("am,ab,bm->m", bases[row], sigma, bases[column])

    S = [
        diagonal(edges[p[-1]][1], statistics.yx[p], edges[p[0]][0])
        if p in statistics.yx
        else jnp.zeros(modes, dtype)
        for p in paths
    ]
    D = [diagonal(edges[j[0]][0], s, edges[p[0]][0]) for (j, p), s in statistics.x.items()]
    traces = [jnp.trace(sigma) / 2 for sigma in statistics.yy.values()]
    return Reduction(
        graph=statistics.graph,
        paths=paths,
        bases=bases,
        S=jnp.asarray(S, dtype).reshape(-1, modes),
        D=jnp.asarray(D, dtype).reshape(-1, modes),
        pairs=jnp.asarray([(index[j], index[p]) for j, p in statistics.x], int).reshape(-1, 2),
        baseline=jnp.asarray(sum(traces), dtype),
        tau=tau,
    )


def node_bases(
    reduction: Reduction, *, key: PRNGKeyArray
) -> dict[str, Float[Array, "_width modes"]]:
    """R_v of every node: U_v at outputs, V_v at inputs, random orthonormal at hidden nodes."""
    graph, modes = reduction.graph, reduction.S.shape[1]
    keys = jax.random.split(key, max(1, len(graph.hidden)))
    bases = dict(reduction.bases)
    for node, node_key in zip(graph.hidden, keys, strict=False):
        width = graph.widths[node]
        carried = min(width, modes)
        R = jax.random.orthogonal(node_key, width, dtype=reduction.S.dtype)[:, :carried]
        bases[node] = jnp.pad(R, ((0, 0), (0, modes - carried)))
    return bases


def lift(
    reduction: Reduction,
    B: Float[Array, "edges modes"],
    bases: Mapping[str, Float[Array, "_width modes"]],
) -> GatedLinearNetwork:
    """The network that B stands for, W_e = R_{t(e)} B_e R_{s(e)}ᵀ (Eq. 9).

    `bases` are the R of every node, from `node_bases`. Directions outside the modes have no weight;
    they would not take part in learning.
    """
    return GatedLinearNetwork(
        reduction.graph,
        {
            edge: (bases[target] * b) @ bases[source].T
            for (edge, (source, target)), b in zip(reduction.graph.edges.items(), B, strict=True)
        },
    )


def project(
    reduction: Reduction,
    network: GatedLinearNetwork,
    bases: Mapping[str, Float[Array, "_width modes"]],
) -> Float[Array, "edges modes"]:
    """B of a network: the diagonals of R_{t(e)}ᵀ W_e R_{s(e)}. The inverse of `lift`."""
    return jnp.stack(
        [
            jnp.einsum("am,ab,bm->m", bases[target], network.weights[edge], bases[source])
            for edge, (source, target) in reduction.graph.edges.items()
        ]
    )


def decoupled_init(
    reduction: Reduction, b0: ArrayLike | Mapping[str, ArrayLike], *, key: PRNGKeyArray
) -> GatedLinearNetwork:
    """A network whose modes do not interact: W_e = R_{t(e)} B_e R_{s(e)}ᵀ with B_e = b0.

    From here gradient descent on the network and Euler's method on the reduction with the same step
    agree up to rounding. The hidden bases are random: `node_bases(reduction, key=key)` with the
    same key returns them.
    """
    return lift(reduction, reduction.start(b0), node_bases(reduction, key=key))
