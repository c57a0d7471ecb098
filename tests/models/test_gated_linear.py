import copy

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import GatedExamples, GatedLinearNetwork, Graph

CHAIN = Graph({"a": 2, "b": 1, "c": 1}, {"ab": ("a", "b"), "bc": ("b", "c"), "skip": ("a", "c")})


def chain_network():
    return GatedLinearNetwork(CHAIN, {"ab": [[1.0, -2.0]], "bc": [[3.0]], "skip": [[0.5, 1.0]]})


def test_a_three_node_network_computes_what_a_hand_computes():
    examples = GatedExamples(
        x={"a": [[1.0, 2.0], [2.0, 0.0]]},
        y={"c": [[-1.0], [4.0]]},
        node_gates={"b": [2.0, 1.0]},
        edge_gates={"skip": [1.0, -1.0]},
    )
    h = chain_network().activations(examples)
    # First example: b = 2(1 - 4) = -6; c = 3(-6) + (0.5 + 2) = -15.5.
    # Second example: b = 2; c = 3(2) - (1) = 5.
    np.testing.assert_array_equal(h["b"], [[-6.0], [2.0]])
    np.testing.assert_array_equal(h["c"], [[-15.5], [5.0]])
    # ((-1 + 15.5)² / 2 + (4 - 5)² / 2) / 2.
    assert chain_network().loss(examples) == (14.5**2 / 2 + 0.5) / 2


@pytest.mark.parametrize("gates", [{"node_gates": {"b": [0.0]}}, {"edge_gates": {"ab": [0.0]}}])
def test_a_gate_of_zero_removes_the_path(gates):
    network, x = chain_network(), {"a": [[1.0, 2.0]]}
    assert network(GatedExamples(x=x, **gates))["c"][0, 0] == 0.5 + 2.0
    assert network(GatedExamples(x=x))["c"][0, 0] == -9.0 + 2.5
    without = eqx.tree_at(lambda n: n.weights["ab"], network, 100 * network.weights["ab"])
    assert without(GatedExamples(x=x, **gates))["c"][0, 0] == 2.5


def test_missing_gates_are_one_and_gates_may_be_booleans():
    x = {"a": [[1.0, 2.0], [0.0, 1.0]]}
    ones = {e: [True, True] for e in CHAIN.edges}
    given = GatedExamples(x=x, node_gates={"b": [1, 1], "c": [1, 1]}, edge_gates=ones)
    missing = GatedExamples(x=x)
    network = chain_network()
    np.testing.assert_array_equal(network(given)["c"], network(missing)["c"])


def test_parallel_edges_add():
    graph = Graph({"a": 1, "b": 1}, {"one": ("a", "b"), "two": ("a", "b")})
    network = GatedLinearNetwork(graph, {"one": [[2.0]], "two": [[5.0]]})
    examples = GatedExamples(x={"a": [[1.0], [1.0]]}, edge_gates={"two": [1, 0]})
    np.testing.assert_array_equal(network(examples)["b"], [[7.0], [2.0]])


def test_a_graph_knows_its_inputs_outputs_hidden_nodes_and_order():
    graph = Graph(
        {"y2": 1, "h": 3, "x1": 2, "y1": 1, "x2": 4},
        {"a": ("x1", "h"), "b": ("x2", "h"), "c": ("h", "y1"), "d": ("x2", "y2")},
    )
    assert graph.inputs == ("x1", "x2")
    assert graph.outputs == ("y2", "y1")
    assert graph.hidden == ("h",)
    assert sorted(graph.order) == sorted(graph.widths)
    assert all(graph.order.index(s) < graph.order.index(t) for s, t in graph.edges.values())
    assert graph.incoming["h"] == ("a", "b")
    assert graph.outgoing["x2"] == ("b", "d")
    assert graph.shape("b") == (3, 4)


def test_graphs_are_equal_hashable_and_frozen():
    again = Graph(CHAIN.widths, CHAIN.edges)
    assert again == CHAIN
    assert hash(again) == hash(CHAIN)
    assert copy.deepcopy(CHAIN) == CHAIN
    assert Graph({**CHAIN.widths, "a": 3}, CHAIN.edges) != CHAIN
    with pytest.raises(AttributeError):
        CHAIN._edges = ()


@pytest.mark.parametrize(
    ("widths", "edges", "message"),
    [
        ({"a": 1, "b": 1}, {"e": ("a", "c")}, "unknown node 'c'"),
        ({"a": 0, "b": 1}, {"e": ("a", "b")}, "'a' has width 0"),
        ({"a": 1, "b": 1, "c": 1}, {"e": ("a", "b")}, "'c' has no edge"),
        ({"a": 1, "b": 1}, {"e": ("a", "b"), "f": ("b", "a")}, "cycle"),
        ({"a": 1, "b": 1}, {"e": ("a", "b"), "f": ("b", "b")}, "cycle"),
    ],
)
def test_a_graph_that_makes_no_sense_is_refused(widths, edges, message):
    with pytest.raises(ValueError, match=message):
        Graph(widths, edges)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"ab": [[1.0, 1.0]], "bc": [[1.0]]}, "differ in \\['skip'\\]"),
        ({"ab": [[1.0]], "bc": [[1.0]], "skip": [[1.0, 1.0]]}, "edge 'ab'"),
    ],
)
def test_weights_that_do_not_fit_the_graph_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        GatedLinearNetwork(CHAIN, weights)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": {}}, "need inputs"),
        ({"x": {"a": np.ones((2, 3))}}, "width 3"),
        ({"x": {"b": np.ones((2, 1))}}, "x has"),
        ({"x": {"a": np.ones((2, 2))}, "y": {"b": np.ones((2, 1))}}, "y has"),
        ({"x": {"a": np.ones((2, 2))}, "node_gates": {"a": np.ones(2)}}, "input node 'a'"),
        ({"x": {"a": np.ones((2, 2))}, "node_gates": {"z": np.ones(2)}}, "unknown node 'z'"),
        ({"x": {"a": np.ones((2, 2))}, "edge_gates": {"z": np.ones(2)}}, "unknown edge 'z'"),
        ({"x": {"a": np.ones((2, 2))}, "edge_gates": {"ab": np.ones(3)}}, "expected 2 examples"),
    ],
)
def test_examples_that_do_not_fit_the_graph_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        chain_network()(GatedExamples(**fields))


def test_a_loss_without_targets_is_refused():
    with pytest.raises(ValueError, match="needs targets"):
        chain_network().loss(GatedExamples(x={"a": [[1.0, 2.0]]}))


def test_random_weights_have_the_scale_and_depend_on_the_key():
    graph = Graph({"a": 60, "b": 50, "c": 40}, {"ab": ("a", "b"), "bc": ("b", "c")})
    network = GatedLinearNetwork.random(graph, 0.3, key=jax.random.key(0))
    for edge, weight in network.weights.items():
        assert weight.shape == graph.shape(edge)
        assert np.std(weight) == pytest.approx(0.3, rel=0.05)
        assert abs(np.mean(weight)) < 0.02
    same = GatedLinearNetwork.random(graph, 0.3, key=jax.random.key(0))
    other = GatedLinearNetwork.random(graph, 0.3, key=jax.random.key(1))
    assert eqx.tree_equal(network, same)
    assert not np.allclose(network.weights["ab"], other.weights["ab"])
    orthogonal = GatedLinearNetwork.random(
        graph, 0.3, key=jax.random.key(0), initializer=jax.nn.initializers.orthogonal()
    )
    singular = np.linalg.svd(orthogonal.weights["ab"], compute_uv=False)
    np.testing.assert_allclose(singular, 0.3, rtol=1e-5)


def test_networks_compile_differentiate_and_keep_their_precision(x64):
    examples = GatedExamples(
        x={"a": np.ones((2, 2), np.float32)}, y={"c": np.ones((2, 1), np.float32)}
    )
    network = jax.tree.map(lambda w: w.astype(jnp.float32), chain_network())
    loss, gradient = eqx.filter_jit(eqx.filter_value_and_grad(GatedLinearNetwork.loss))(
        network, examples
    )
    assert loss.dtype == jnp.float32
    assert gradient.weights["bc"].dtype == jnp.float32
    # h = 3(1 - 2) + 1.5 = -1.5, so dL/dW_bc = (h - y) b = (-2.5)(-1).
    assert gradient.weights["bc"][0, 0] == 2.5
