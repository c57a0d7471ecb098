"""Paths of a gated deep linear network: path statistics, and gradient flow in terms of paths."""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from recombine.models._gated_linear import GatedExamples, GatedLinearNetwork, Graph

Path: TypeAlias = tuple[str, ...]
"""A chain of edges, from an input node onwards: the names of its edges in the order of flow."""


def _source(graph: Graph, path: Path) -> str:
    return graph.edges[path[0]][0]


def _target(graph: Graph, path: Path) -> str:
    return graph.edges[path[-1]][1]


def paths_to(graph: Graph, node: str) -> tuple[Path, ...]:
    """T(v): all paths from an input node to `node` (for an input node: the empty path)."""
    arriving: dict[str, tuple[Path, ...]] = dict.fromkeys(graph.inputs, ((),))
    for v in graph.order:
        if v not in arriving:
            arriving[v] = tuple(
                (*path, edge)
                for edge in graph.incoming[v]
                for path in arriving[graph.edges[edge][0]]
            )
    return arriving[node]


def enumerate_paths(graph: Graph) -> tuple[Path, ...]:
    """All paths from an input node to an output node."""
    return tuple(path for node in graph.outputs for path in paths_to(graph, node))


def paths_through(graph: Graph, edge: str) -> tuple[Path, ...]:
    """P(e): all paths from an input node to an output node that use `edge`."""
    return tuple(path for path in enumerate_paths(graph) if edge in path)


def path_gates(graph: Graph, examples: GatedExamples) -> dict[Path, Float[Array, " examples"]]:
    """g_p for every path: on each example, the product of all node and edge gates along it."""
    examples.check(graph)
    one = jnp.ones(len(examples), dtype=examples.x[graph.inputs[0]].dtype)

    def gate(edge: str) -> Float[Array, " examples"]:
        node = graph.edges[edge][1]
        return examples.edge_gates.get(edge, one) * examples.node_gates.get(node, one)

    gates = {edge: gate(edge) for edge in graph.edges}
    return {
        path: reduce(lambda product, edge: product * gates[edge], path[1:], gates[path[0]])
        for path in enumerate_paths(graph)
    }


class PathStatistics(eqx.Module):
    """All that gradient flow sees of a dataset and its gates.

    A matrix that is left out is zero, such as the statistics of a path that no example uses.
    Of Σ^x(j, p) only pairs of paths to the same output node are kept, since Eq. 4 has no others.

    `path_statistics` computes them from examples; for a population they can be given by hand:

    ```python
    graph = Graph({"x": 2, "h": 8, "y": 1}, {"in": ("x", "h"), "out": ("h", "y")})
    path = ("in", "out")
    PathStatistics(
        graph,
        yx={path: [[1 / 6, 1 / 6]]},
        x={(path, path): jnp.eye(2) / 3},
        yy={"y": [[1 / 3]]},
    )
    ```

    **Arguments:**

    - `graph`: the graph.
    - `yx`: `{p: Σ^yx(p)}`, Σ^yx(p) = ⟨g_p y_{t(p)} x_{s(p)}ᵀ⟩ (Eq. 5).
    - `x`: `{(j, p): Σ^x(j, p)}`, Σ^x(j, p) = ⟨g_j x_{s(j)} x_{s(p)}ᵀ g_p⟩ (Eq. 6). Where only one
        of (j, p) and (p, j) is given, the other is its transpose.
    - `yy`: `{v: Σ^yy(v)}`, Σ^yy(v) = ⟨y_v y_vᵀ⟩; only the loss needs it.
    """

    graph: Graph = eqx.field(static=True)
    yx: dict[Path, Float[Array, "_target _source"]]
    x: dict[tuple[Path, Path], Float[Array, "_first _second"]]
    yy: dict[str, Float[Array, "_target _target"]]

    def __init__(
        self,
        graph: Graph,
        yx: Mapping[Path, ArrayLike | Sequence],
        x: Mapping[tuple[Path, Path], ArrayLike | Sequence],
        yy: Mapping[str, ArrayLike | Sequence],
    ):
        self.graph = graph
        self.yx = {p: jnp.asarray(sigma) for p, sigma in yx.items()}
        given = {pair: jnp.asarray(sigma) for pair, sigma in x.items()}
        self.x = {(p, j): sigma.T for (j, p), sigma in given.items()} | given
        self.yy = {v: jnp.asarray(sigma) for v, sigma in yy.items()}

    def __check_init__(self):
        known = set(enumerate_paths(self.graph))
        for path in {*self.yx, *(path for pair in self.x for path in pair)}:
            if path not in known:
                raise ValueError(f"{path} is not a path from an input to an output of the graph")
        for node in self.yy:
            if node not in self.graph.outputs:
                raise ValueError(f"{node!r} is not an output node of the graph")
        for j, p in self.x:
            if _target(self.graph, j) != _target(self.graph, p):
                raise ValueError(f"paths {j} and {p} end at different output nodes")

        def matches(sigma, row, column):
            return sigma.shape == (self.graph.widths[row], self.graph.widths[column])

        ends = {p: (_target(self.graph, p), _source(self.graph, p)) for p in known}
        wrong: list[object] = [p for p, sigma in self.yx.items() if not matches(sigma, *ends[p])]
        wrong += [jp for jp, s in self.x.items() if not matches(s, ends[jp[0]][1], ends[jp[1]][1])]
        wrong += [v for v, sigma in self.yy.items() if not matches(sigma, v, v)]
        if wrong:
            raise ValueError(f"the statistics of {wrong[0]} do not have the widths of its nodes")

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths that have statistics, in the order of `enumerate_paths`."""
        present = {*self.yx, *(path for pair in self.x for path in pair)}
        return tuple(path for path in enumerate_paths(self.graph) if path in present)

    @property
    def trained(self) -> tuple[Path, ...]:
        """The paths whose statistics are not all zero: those the dataset trains."""
        used = {p for p, sigma in self.yx.items() if np.any(np.asarray(sigma))}
        used |= {p for pair, s in self.x.items() if np.any(np.asarray(s)) for p in pair}
        return tuple(path for path in self.paths if path in used)


def path_statistics(graph: Graph, examples: GatedExamples) -> PathStatistics:
    """The path statistics of a dataset (Eq. 5-6), averaged over its examples.

    Statistics that vanish because no example opens the path, or both paths of a pair, are left out;
    the gates must therefore be concrete (not traced by `jit`).
    """
    gates = path_gates(graph, examples)
    n = len(examples)
    opened = {p: np.asarray(g) != 0 for p, g in gates.items()}
    used = [p for p in gates if opened[p].any()]
    gated = {p: gates[p][:, None] * examples.x[_source(graph, p)] for p in used}
    yx = {p: examples.y[_target(graph, p)].T @ gated[p] / n for p in used}
    x = {}
    for node in graph.outputs:
        arriving = [p for p in used if _target(graph, p) == node]
        for j, p in product(arriving, arriving):
            if (opened[j] & opened[p]).any():
                x[j, p] = gated[j].T @ gated[p] / n
    yy = {v: examples.y[v].T @ examples.y[v] / n for v in graph.outputs}
    return PathStatistics(graph, yx, x, yy)


def path_weights(network: GatedLinearNetwork, path: Path) -> Float[Array, "target source"]:
    """W_p: the product of the weights along a path, its last edge on the left."""
    return reduce(lambda w, e: network.weights[e] @ w, path[1:], network.weights[path[0]])


def _path_errors(
    network: GatedLinearNetwork, statistics: PathStatistics
) -> dict[Path, Float[Array, "_target _source"]]:
    """𝓔(p) = Σ^yx(p) − Σ_{j ∈ T(t(p))} W_j Σ^x(j, p) for every path with statistics (Eq. 4)."""
    weights = {p: path_weights(network, p) for p in statistics.paths}
    errors = {p: statistics.yx.get(p, jnp.zeros_like(w)) for p, w in weights.items()}
    for (j, p), sigma in statistics.x.items():
        errors[p] = errors[p] - weights[j] @ sigma
    return errors


def path_gradient(
    network: GatedLinearNetwork, statistics: PathStatistics
) -> dict[str, Float[Array, "_target _source"]]:
    """The direction of descent −∂L/∂W_e of every edge, as a sum over paths (Eq. 3-4).

    τ dW_e/dt = Σ_{p ∈ P(e)} W_{t̄(p,e)}ᵀ 𝓔(p) W_{s̄(p,e)}ᵀ, where t̄ and s̄ are the parts of the path
    after and before the edge. The sign is that of learning: gradient flow *adds* it to the weights.
    """
    total = {e: jnp.zeros_like(w) for e, w in network.weights.items()}
    for path, error in _path_errors(network, statistics).items():
        for i in reversed(range(len(path))):
            # Here `error` has come back through the edges after the i-th: W_t̄ᵀ 𝓔(p).
            before = path_weights(network, path[:i]).T if i else None
            total[path[i]] = total[path[i]] + (error if before is None else error @ before)
            error = network.weights[path[i]].T @ error
    return total


def loss_from_statistics(
    network: GatedLinearNetwork, statistics: PathStatistics
) -> Float[Array, ""]:
    """The loss of Eq. 1 from path statistics alone, without the examples.

    L = ½ Σ_v tr Σ^yy(v) − Σ_p tr(W_pᵀ Σ^yx(p)) + ½ Σ_{p,j: t(j)=t(p)} tr(W_pᵀ W_j Σ^x(j, p)).
    """
    weights = {p: path_weights(network, p) for p in statistics.paths}
    terms = [jnp.trace(sigma) / 2 for sigma in statistics.yy.values()]
    terms += [-jnp.sum(weights[p] * sigma) for p, sigma in statistics.yx.items()]
    terms += [
        jnp.sum(weights[p] * (weights[j] @ sigma)) / 2 for (j, p), sigma in statistics.x.items()
    ]
    return jnp.sum(jnp.stack(terms))


def node_balance(network: GatedLinearNetwork) -> dict[str, Float[Array, "_width _width"]]:
    """Σ_{e: t(e)=v} W_e W_eᵀ − Σ_{e: s(e)=v} W_eᵀ W_e of every hidden node v.

    Gradient flow conserves these matrices, whatever the data and the gates.
    """
    graph, weights = network.graph, network.weights
    balance = {}
    for node in graph.hidden:
        into = [weights[e] @ weights[e].T for e in graph.incoming[node]]
        out_of = [weights[e].T @ weights[e] for e in graph.outgoing[node]]
        balance[node] = sum(into[1:], into[0]) - sum(out_of[1:], out_of[0])
    return balance


class PathCount(NamedTuple):
    """How many paths from an input to an output use an edge."""

    all: int
    """The number of paths of the graph through the edge, |P(e)|."""
    trained: int
    """The number of these paths that the dataset trains."""


def path_counts(
    graph: Graph, trained: PathStatistics | Mapping[Path, Float[Array, " examples"]]
) -> dict[str, PathCount]:
    """Pathway counting: how many paths, and how many trained paths, use each edge.

    **Arguments:**

    - `graph`: the graph.
    - `trained`: which paths are trained: statistics (the paths whose statistics are not zero) or
        the gates of the paths (those open on some example).
    """
    if isinstance(trained, PathStatistics):
        used = set(trained.trained)
    else:
        used = {path for path, gates in trained.items() if np.any(np.asarray(gates))}
    paths = enumerate_paths(graph)
    return {
        edge: PathCount(
            all=sum(edge in path for path in paths),
            trained=sum(edge in path for path in paths if path in used),
        )
        for edge in graph.edges
    }
