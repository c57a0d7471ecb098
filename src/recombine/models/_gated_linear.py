"""Gated deep linear networks: a directed graph of linear modules with gates on nodes and edges."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray


@dataclass(frozen=True, init=False)
class Graph:
    """A directed acyclic graph of modules: nodes with widths, and named edges between them.

    Two nodes may be joined by several edges (parallel pathways), and an edge may skip nodes. Input
    nodes are those that no edge enters, output nodes those that no edge leaves.

    ```python
    Graph(
        {"x": 4, "h": 16, "y": 7},
        {"in": ("x", "h"), "out": ("h", "y"), "skip": ("x", "y")},
    )
    ```

    **Arguments:**

    - `widths`: the width |v| of every node.
    - `edges`: `{name: (source, target)}`.

    **Raises:** `ValueError` if a width is not positive, an edge joins unknown nodes, a node has no
    edge, or there is a cycle.
    """

    _widths: tuple[tuple[str, int], ...]
    _edges: tuple[tuple[str, tuple[str, str]], ...]

    def __init__(self, widths: Mapping[str, int], edges: Mapping[str, tuple[str, str]]):
        for node, width in widths.items():
            if operator.index(width) <= 0:
                raise ValueError(f"node {node!r} has width {width}: widths must be positive")
        for name, ends in edges.items():
            for node in ends:
                if node not in widths:
                    raise ValueError(f"edge {name!r} joins an unknown node {node!r}")
        connected = {node for ends in edges.values() for node in ends}
        for node in widths:
            if node not in connected:
                raise ValueError(f"node {node!r} has no edge")
        object.__setattr__(
            self, "_widths", tuple((v, operator.index(w)) for v, w in widths.items())
        )
        object.__setattr__(self, "_edges", tuple((e, (s, t)) for e, (s, t) in edges.items()))
        try:
            _ = self.order
        except CycleError as error:
            raise ValueError(f"the graph has a cycle: {' -> '.join(error.args[1])}") from None

    @cached_property
    def widths(self) -> Mapping[str, int]:
        """The width of every node."""
        return dict(self._widths)

    @cached_property
    def edges(self) -> Mapping[str, tuple[str, str]]:
        """The source and the target of every edge."""
        return dict(self._edges)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All nodes, sources before targets (a topological order)."""
        sorter = TopologicalSorter({node: [] for node in self.widths})
        for source, target in self.edges.values():
            sorter.add(target, source)
        return tuple(sorter.static_order())

    @cached_property
    def incoming(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the edges that enter each node."""
        return {v: tuple(e for e, (_, t) in self._edges if t == v) for v in self.widths}

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the edges that leave each node."""
        return {v: tuple(e for e, (s, _) in self._edges if s == v) for v in self.widths}

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The nodes with outgoing edges only."""
        return tuple(v for v in self.widths if not self.incoming[v])

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The nodes with incoming edges only."""
        return tuple(v for v in self.widths if not self.outgoing[v])

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """The nodes with incoming and outgoing edges."""
        return tuple(v for v in self.widths if self.incoming[v] and self.outgoing[v])

    def shape(self, edge: str) -> tuple[int, int]:
        """The shape of an edge's weights, (|target|, |source|)."""
        source, target = self.edges[edge]
        return self.widths[target], self.widths[source]


def _floats(arrays: Mapping[str, ArrayLike | Sequence]) -> dict[str, Array]:
    """Arrays of real numbers; gates may be given as booleans or integers."""

    def as_float(value):
        array = jnp.asarray(value)
        return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)

    return {name: as_float(value) for name, value in arrays.items()}


class GatedExamples(eqx.Module):
    """A dataset of tuples (x, y, g): inputs, targets and gates, example by example.

    Gates are part of the data and are never learned. They may be any real numbers. A node or edge
    that is not named has gate 1 on all examples. Input nodes carry no gate: gate their edges.

    **Arguments:**

    - `x`: the inputs of every input node.
    - `y`: the targets of every output node; may be left empty if only a forward pass is wanted.
    - `node_gates`, `edge_gates`: the gates, one number per example.
    """

    x: dict[str, Float[Array, "_examples _width"]] = eqx.field(converter=_floats)
    y: dict[str, Float[Array, "_examples _width"]] = eqx.field(
        converter=_floats, default_factory=dict
    )
    node_gates: dict[str, Float[Array, " _examples"]] = eqx.field(
        converter=_floats, default_factory=dict
    )
    edge_gates: dict[str, Float[Array, " _examples"]] = eqx.field(
        converter=_floats, default_factory=dict
    )

    def __check_init__(self):
        if not self.x:
            raise ValueError("examples need inputs x")
        vectors = {"x": (self.x, 2), "y": (self.y, 2)}
        gates = {"node_gates": (self.node_gates, 1), "edge_gates": (self.edge_gates, 1)}
        for field, (arrays, ndim) in (vectors | gates).items():
            for name, array in arrays.items():
                if array.ndim != ndim or len(array) != len(self):
                    raise ValueError(
                        f"{field}[{name!r}] has shape {array.shape}: expected {len(self)} examples "
                        f"and {ndim} dimension{'s' if ndim > 1 else ''}"
                    )

    def __len__(self) -> int:
        return len(next(iter(self.x.values())))

    def check(self, graph: Graph) -> None:
        """Raise a `ValueError` unless the inputs, gates and targets (if any) fit `graph`."""
        wanted = {"x": (self.x, graph.inputs)} | ({"y": (self.y, graph.outputs)} if self.y else {})
        for field, (arrays, nodes) in wanted.items():
            if set(arrays) != set(nodes):
                raise ValueError(f"{field} has {sorted(arrays)}: the graph has {sorted(nodes)}")
            for node, array in arrays.items():
                if array.shape[1] != graph.widths[node]:
                    raise ValueError(
                        f"{field}[{node!r}] has width {array.shape[1]}: "
                        f"the node has width {graph.widths[node]}"
                    )
        for node in self.node_gates:
            if node not in graph.widths:
                raise ValueError(f"there is a gate for an unknown node {node!r}")
            if node in graph.inputs:
                raise ValueError(f"input node {node!r} cannot have a gate: gate its edges")
        for edge in self.edge_gates:
            if edge not in graph.edges:
                raise ValueError(f"there is a gate for an unknown edge {edge!r}")


class GatedLinearNetwork(eqx.Module):
    """A gated deep linear network (the paper's Section 2).

    Every edge e of the graph has weights W_e and no bias; given its gates, the network is linear.

    **Arguments:**

    - `graph`: the graph.
    - `weights`: `{edge: W_e}`, one matrix of shape `graph.shape(edge)` for every edge.
    """

    graph: Graph = eqx.field(static=True)
    weights: dict[str, Float[Array, "_target _source"]] = eqx.field(converter=_floats)

    def __check_init__(self):
        if set(self.weights) != set(self.graph.edges):
            different = sorted(set(self.weights) ^ set(self.graph.edges))
            raise ValueError(f"weights and edges of the graph differ in {different}")
        for edge, weight in self.weights.items():
            if weight.shape != self.graph.shape(edge):
                raise ValueError(
                    f"the weights of edge {edge!r} have shape {weight.shape}: "
                    f"expected {self.graph.shape(edge)}"
                )

    @classmethod
    def random(
        cls,
        graph: Graph,
        scale: float | Float[Array, ""],
        *,
        key: PRNGKeyArray,
        initializer: Callable[..., Array] | None = None,
    ) -> "GatedLinearNetwork":
        """A network whose weights are `scale` times draws of `initializer`.

        `initializer(key, shape)` is one of `jax.nn.initializers`; by default the entries are
        independent and standard normal.
        """
        draw = jax.nn.initializers.normal(1.0) if initializer is None else initializer
        keys = jax.random.split(key, len(graph.edges))
        return cls(
            graph,
            {e: scale * draw(k, graph.shape(e)) for e, k in zip(graph.edges, keys, strict=True)},
        )

    def activations(self, examples: GatedExamples) -> dict[str, Float[Array, "examples _width"]]:
        """The activity of every node on every example.

        h_v = x_v at input nodes, otherwise h_v = g_v Σ_{e: t(e)=v} g_e W_e h_{s(e)}.
        """
        examples.check(self.graph)
        h = dict(examples.x)
        for node in self.graph.order:
            if node in h:
                continue
            arriving = []
            for edge in self.graph.incoming[node]:
                signal = h[self.graph.edges[edge][0]] @ self.weights[edge].T
                if edge in examples.edge_gates:
                    signal = examples.edge_gates[edge][:, None] * signal
                arriving.append(signal)
            h[node] = sum(arriving[1:], arriving[0])
            if node in examples.node_gates:
                h[node] = examples.node_gates[node][:, None] * h[node]
        return h

    def __call__(self, examples: GatedExamples) -> dict[str, Float[Array, "examples _width"]]:
        """The activity of the output nodes on every example."""
        h = self.activations(examples)
        return {node: h[node] for node in self.graph.outputs}

    def loss(self, examples: GatedExamples) -> Float[Array, ""]:
        """L = ⟨½ Σ_{v ∈ Out} ‖y_v − h_v‖²⟩, the mean over examples (Eq. 1).

        As a function of the network alone, with the examples as arrays of a PyTree:
        `jax.tree_util.Partial(GatedLinearNetwork.loss, examples=examples)`.
        """
        if not examples.y:
            raise ValueError("the loss needs targets y")
        errors = [jnp.sum((examples.y[v] - h) ** 2) for v, h in self(examples).items()]
        return sum(errors[1:], errors[0]) / (2 * len(examples))
