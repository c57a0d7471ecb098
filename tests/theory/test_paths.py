from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.models import GatedExamples, GatedLinearNetwork, Graph
from recombine.theory import (
    enumerate_paths,
    gradient_flow,
    loss_from_statistics,
    node_balance,
    path_counts,
    path_gradient,
    path_statistics,
    path_weights,
)
from recombine.theory._paths import PathCount, PathStatistics, path_gates, paths_through, paths_to

SEVEN_NODES = Graph(
    {"x1": 2, "x2": 3, "a": 2, "b": 3, "c": 1, "y1": 2, "y2": 3},
    {
        "x1-a": ("x1", "a"),
        "x2-a": ("x2", "a"),
        "x2-b": ("x2", "b"),
        "x2-y1": ("x2", "y1"),
        "a-b": ("a", "b"),
        "a-b again": ("a", "b"),
        "a-c": ("a", "c"),
        "a-y1": ("a", "y1"),
        "b-c": ("b", "c"),
        "c-y1": ("c", "y1"),
        "c-y2": ("c", "y2"),
    },
)


def routing_graph(M, width=5):
    widths = {f"x{i}": 4 for i in range(M)} | {"h1": width, "h2": width}
    widths |= {f"y{j}": 7 for j in range(M)}
    edges = {f"in{i}": (f"x{i}", "h1") for i in range(M)} | {"hidden": ("h1", "h2")}
    return Graph(widths, edges | {f"out{j}": ("h2", f"y{j}") for j in range(M)})


def random_examples(graph, rng, n=5):
    """Real edge gates and binary node gates, some of either left out."""
    return GatedExamples(
        x={v: rng.normal(size=(n, graph.widths[v])) for v in graph.inputs},
        y={v: rng.normal(size=(n, graph.widths[v])) for v in graph.outputs},
        node_gates={
            v: rng.integers(0, 2, n).astype(float)
            for v in (*graph.hidden, *graph.outputs)
            if rng.random() < 0.7
        },
        edge_gates={e: rng.normal(size=n) for e in graph.edges if rng.random() < 0.7},
    )


def random_network(graph, rng):
    return GatedLinearNetwork(graph, {e: rng.normal(size=graph.shape(e)) for e in graph.edges})


def slow_loss(graph, weights, examples):
    """The loss by plain recursion over the graph; `examples` hold NumPy arrays."""

    def activity(node):
        if node in examples.x:
            return examples.x[node]
        total = 0.0
        for edge, (source, target) in graph.edges.items():
            if target == node:
                gate = examples.edge_gates.get(edge, np.ones(1))[:, None]
                total = total + gate * (activity(source) @ weights[edge].T)
        return examples.node_gates.get(node, np.ones(1))[:, None] * total

    errors = [examples.y[v] - activity(v) for v in graph.outputs]
    return sum(0.5 * np.sum(e**2) for e in errors) / len(examples)


def finite_difference_descent(graph, weights, examples, step=1e-5):
    """−∂L/∂W by central differences; exact up to rounding where the loss is quadratic in one W."""
    examples, weights = (jax.tree.map(np.asarray, tree) for tree in (examples, weights))
    descent = {}
    for edge, weight in weights.items():
        descent[edge] = np.zeros_like(weight)
        for index in np.ndindex(weight.shape):
            losses = []
            for sign in (1, -1):
                moved = weight.copy()
                moved[index] += sign * step
                losses.append(slow_loss(graph, weights | {edge: moved}, examples))
            descent[edge][index] = -(losses[0] - losses[1]) / (2 * step)
    return descent


@st.composite
def widths_and_edges(draw):
    """Acyclic graphs with skip edges, parallel edges, several inputs and outputs."""
    n = draw(st.integers(3, 6))
    possible = [(i, j) for j in range(n) for i in range(j)]
    pairs = draw(st.lists(st.sampled_from(possible), min_size=n - 1, max_size=9))
    for v in range(n):
        if not any(v in pair for pair in pairs):
            other = draw(st.integers(0, n - 2))
            pairs.append(tuple(sorted((v, other if other < v else other + 1))))
    widths = {f"n{v}": draw(st.integers(1, 3)) for v in range(n)}
    edges = {f"e{k}": (f"n{i}", f"n{j}") for k, (i, j) in enumerate(pairs)}
    return widths, edges


def largest_difference(first, second):
    return max(float(np.abs(np.asarray(first[e]) - np.asarray(second[e])).max()) for e in first)


@settings(deadline=None, max_examples=40)
@given(parts=widths_and_edges(), seed=st.integers(0, 2**32 - 1))
def test_on_random_graphs_the_path_form_is_the_gradient_and_keeps_the_balance(parts, seed):
    with jax.enable_x64(True):
        graph = Graph(*parts)
        rng = np.random.default_rng(seed)
        network, examples = random_network(graph, rng), random_examples(graph, rng)
        statistics = path_statistics(graph, examples)
        loss, gradient = jax.value_and_grad(GatedLinearNetwork.loss)(network, examples)
        descent = path_gradient(network, statistics)
        size = 1 + max(float(jnp.abs(d).max()) for d in descent.values())
        negative = {e: -g for e, g in gradient.weights.items()}
        assert largest_difference(descent, negative) < 1e-8 * size

        assert abs(loss_from_statistics(network, statistics) - loss) < 1e-12 * (1 + loss)
        slow = slow_loss(graph, *jax.tree.map(np.asarray, (network.weights, examples)))
        assert abs(slow - loss) < 1e-12 * (1 + loss)
        numerical = finite_difference_descent(graph, network.weights, examples)
        assert largest_difference(descent, numerical) < 1e-8 * (size + float(loss))

        def balance(weights):
            return node_balance(GatedLinearNetwork(graph, weights))

        _, drift = jax.jvp(balance, (network.weights,), (descent,))
        for node in graph.hidden:
            assert np.abs(drift[node]).max() < 1e-12 * size


def test_the_path_form_agrees_with_finite_differences_on_the_seven_node_graph(x64):
    rng = np.random.default_rng(0)
    network, examples = random_network(SEVEN_NODES, rng), random_examples(SEVEN_NODES, rng, n=20)
    descent = path_gradient(network, path_statistics(SEVEN_NODES, examples))
    numerical = finite_difference_descent(SEVEN_NODES, network.weights, examples)
    assert largest_difference(descent, numerical) < 1e-8


def test_the_seven_node_graph_has_seventeen_paths():
    paths = enumerate_paths(SEVEN_NODES)
    assert len(SEVEN_NODES.widths) == 7
    assert len(SEVEN_NODES.edges) == 11
    assert len(paths) == len(set(paths)) == 17
    nodes = list(SEVEN_NODES.widths)
    adjacency = np.zeros((7, 7), int)
    for s, t in SEVEN_NODES.edges.values():
        adjacency[nodes.index(s), nodes.index(t)] += 1
    walks = sum(np.linalg.matrix_power(adjacency, k) for k in range(1, 7))
    for v in (*SEVEN_NODES.hidden, *SEVEN_NODES.outputs):
        from_inputs = sum(walks[nodes.index(u), nodes.index(v)] for u in SEVEN_NODES.inputs)
        assert len(paths_to(SEVEN_NODES, v)) == from_inputs


def test_paths_are_chains_of_edges_from_an_input_to_an_output():
    for path in enumerate_paths(SEVEN_NODES):
        ends = [SEVEN_NODES.edges[e] for e in path]
        assert ends[0][0] in SEVEN_NODES.inputs
        assert ends[-1][1] in SEVEN_NODES.outputs
        assert all(before[1] == after[0] for before, after in pairwise(ends))
    through = paths_through(SEVEN_NODES, "a-b again")
    assert through
    assert all("a-b again" in path for path in through)
    twins = {tuple(e.removesuffix(" again") for e in path) for path in through}
    assert twins == set(paths_through(SEVEN_NODES, "a-b"))
    assert paths_to(SEVEN_NODES, "x1") == ((),)


@pytest.mark.parametrize("M", [1, 3, 4])
def test_a_routing_graph_has_m_squared_paths_and_m_of_them_on_each_outer_edge(M):
    graph = routing_graph(M)
    assert len(enumerate_paths(graph)) == M**2
    for edge in graph.edges:
        assert len(paths_through(graph, edge)) == (M**2 if edge == "hidden" else M)


def test_trained_paths_are_counted_from_gates_and_from_statistics_alike():
    M, routes = 3, [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 0)]
    graph = routing_graph(M)
    examples = GatedExamples(
        x={f"x{i}": np.ones((6, 4)) for i in range(M)},
        y={f"y{j}": np.ones((6, 7)) for j in range(M)},
        edge_gates={f"in{i}": [r[0] == i for r in routes] for i in range(M)}
        | {f"out{j}": [r[1] == j for r in routes] for j in range(M)},
    )
    counts = path_counts(graph, path_gates(graph, examples))
    assert counts["hidden"] == PathCount(all=9, trained=6)
    assert {counts[e] for e in graph.edges if e != "hidden"} == {PathCount(all=3, trained=2)}
    statistics = path_statistics(graph, examples)
    assert path_counts(graph, statistics) == counts
    assert set(statistics.trained) == {(f"in{i}", "hidden", f"out{j}") for i, j in routes}
    # One route is open at a time: no statistics join different routes.
    assert all(j == p for j, p in statistics.x)


def test_path_statistics_are_averages_of_gated_products():
    graph = Graph(
        {"x": 2, "h": 1, "y": 1}, {"in": ("x", "h"), "out": ("h", "y"), "skip": ("x", "y")}
    )
    examples = GatedExamples(
        x={"x": [[1.0, 2.0], [3.0, 0.0]]},
        y={"y": [[1.0], [2.0]]},
        node_gates={"h": [1.0, 0.0]},
        edge_gates={"out": [2.0, 5.0], "skip": [1.0, -1.0]},
    )
    deep, skip = ("in", "out"), ("skip",)
    gates = path_gates(graph, examples)
    np.testing.assert_array_equal(gates[deep], [2.0, 0.0])
    np.testing.assert_array_equal(gates[skip], [1.0, -1.0])
    statistics = path_statistics(graph, examples)
    np.testing.assert_array_equal(statistics.yx[deep], [[1.0, 2.0]])
    np.testing.assert_array_equal(statistics.yx[skip], [[-2.5, 1.0]])
    np.testing.assert_array_equal(statistics.x[deep, deep], [[2.0, 4.0], [4.0, 8.0]])
    np.testing.assert_array_equal(statistics.x[deep, skip], [[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_array_equal(statistics.x[skip, skip], [[5.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(statistics.yy["y"], [[2.5]])


def test_path_weights_multiply_with_the_last_edge_on_the_left():
    rng = np.random.default_rng(0)
    network = random_network(SEVEN_NODES, rng)
    w = network.weights
    np.testing.assert_allclose(
        path_weights(network, ("x1-a", "a-b", "b-c", "c-y2")),
        w["c-y2"] @ w["b-c"] @ w["a-b"] @ w["x1-a"],
        rtol=1e-5,
    )


def contextual_statistics():
    """One pathway for each of two contexts; x uniform on [−1, 1]², the target is x_context."""
    graph = Graph(
        {"x": 2, "h1": 4, "h2": 4, "y": 1},
        {"in1": ("x", "h1"), "out1": ("h1", "y"), "in2": ("x", "h2"), "out2": ("h2", "y")},
    )
    one, two = ("in1", "out1"), ("in2", "out2")
    gated = PathStatistics(
        graph,
        yx={one: [[1 / 6, 0.0]], two: [[0.0, 1 / 6]]},
        x={(one, one): np.eye(2) / 6, (two, two): np.eye(2) / 6},
        yy={"y": [[1 / 3]]},
    )
    linear = PathStatistics(
        graph,
        yx={one: [[1 / 6, 1 / 6]]},
        x={(one, one): np.eye(2) / 3},
        yy={"y": [[1 / 3]]},
    )
    return gated, linear


def test_statistics_given_by_hand_train_the_contextual_task_to_its_known_solutions(x64):
    gated, linear = contextual_statistics()
    network = GatedLinearNetwork.random(gated.graph, 0.1, key=jax.random.key(0))
    silent = GatedLinearNetwork.random(gated.graph, 0.0, key=jax.random.key(0))
    assert loss_from_statistics(silent, gated) == pytest.approx(1 / 6, abs=1e-15)
    for statistics, final in ((gated, 0.0), (linear, 1 / 12)):
        loss = jax.tree_util.Partial(loss_from_statistics, statistics=statistics)
        trained = jax.tree.map(lambda w: w[-1], gradient_flow(loss, network, [0.0, 500.0]))
        assert loss(trained) == pytest.approx(final, abs=1e-8)
        first = path_weights(trained, ("in1", "out1"))
        wanted = [[1.0, 0.0]] if statistics is gated else [[0.5, 0.5]]
        np.testing.assert_allclose(first, wanted, atol=1e-4)


def test_statistics_of_samples_approach_those_of_the_population(x64):
    gated, _ = contextual_statistics()
    rng = np.random.default_rng(0)

    def error(n):
        x, context = rng.uniform(-1, 1, (n, 2)), rng.integers(0, 2, n)
        examples = GatedExamples(
            x={"x": x},
            y={"y": x[np.arange(n), context][:, None]},
            node_gates={"h1": context == 0, "h2": context == 1},
        )
        sampled = path_statistics(gated.graph, examples)
        assert sampled.x.keys() == gated.x.keys()
        return max(float(jnp.abs(sampled.yx[p] - gated.yx[p]).max()) for p in gated.yx)

    # The standard deviation of an entry is at most 1/3 / sqrt(n).
    assert error(400) < 4 / 3 / 20
    assert error(40_000) < 4 / 3 / 200


def test_one_of_two_transposed_statistics_is_enough():
    graph = Graph({"a": 1, "b": 2, "y": 1}, {"ay": ("a", "y"), "by": ("b", "y")})
    statistics = PathStatistics(graph, yx={}, x={(("ay",), ("by",)): [[1.0, 2.0]]}, yy={})
    np.testing.assert_array_equal(statistics.x[("by",), ("ay",)], [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"yx": {("x1-a",): np.ones((2, 2))}}, "not a path"),
        ({"yx": {("x2-y1",): np.ones((3, 2))}}, "widths"),
        ({"x": {(("x2-y1",), ("x2-b", "b-c", "c-y2")): np.ones((3, 3))}}, "different output"),
        ({"yy": {"a": np.ones((2, 2))}}, "not an output"),
        ({"yy": {"y1": np.ones((3, 3))}}, "widths"),
    ],
)
def test_statistics_that_do_not_fit_the_graph_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        PathStatistics(SEVEN_NODES, **({"yx": {}, "x": {}, "yy": {}} | fields))


def test_gradient_flow_conserves_the_balance_of_every_hidden_node(x64):
    rng = np.random.default_rng(1)
    examples = random_examples(SEVEN_NODES, rng, n=20)
    network = jax.tree.map(lambda w: 0.5 * w, random_network(SEVEN_NODES, rng))
    loss = jax.tree_util.Partial(GatedLinearNetwork.loss, examples=examples)
    times = jnp.linspace(0.0, 20.0, 5)
    flow = gradient_flow(loss, network, times, rtol=1e-13, atol=1e-14)
    losses = jax.vmap(loss)(flow)
    assert jnp.all(jnp.diff(losses) < 0)
    assert losses[-1] < 0.9 * losses[0]
    for node, balance in jax.vmap(node_balance)(flow).items():
        moved = max(float(jnp.abs(w[-1] - w[0]).max()) for w in flow.weights.values())
        assert moved > 0.1
        assert jnp.abs(balance - node_balance(network)[node]).max() < 1e-12
