import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.learning import GradientDescent, train
from recombine.models import GatedExamples, GatedLinearNetwork, Graph
from recombine.theory import (
    check_diagonalizable,
    decoupled_init,
    euler,
    gradient_flow,
    integrate,
    lift,
    loss_from_statistics,
    node_balance,
    path_statistics,
    project,
    reduce,
)
from recombine.theory._paths import PathStatistics
from recombine.theory._reduction import node_bases

FEATURES = np.array(
    [[6, 4, 0, 3, 0, 0, 0], [6, 4, 0, 0, 3, 0, 0], [6, 0, 4, 0, 0, 3, 0], [6, 0, 4, 0, 0, 0, 3]],
    float,
)
SINGULAR_VALUES = [13.60147, 6.40312, 3.0, 3.0]


def random_orthogonal(n, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


def routing_problem(M, routes, *, shared=True, dedicated=False, width=8, X=None, Y=FEATURES):
    """A routing task; its network has a shared pathway, one pathway per route, or both (mixed)."""
    X = np.eye(len(Y)) if X is None else X
    widths = {f"x{i}": X.shape[1] for i in range(M)} | {f"y{j}": Y.shape[1] for j in range(M)}
    edges, gates = {}, {}
    i_of, j_of = np.repeat(routes, len(Y), axis=0).T
    if shared:
        widths |= {"h1": width, "h2": width}
        edges |= {f"in{i}": (f"x{i}", "h1") for i in range(M)} | {"hidden": ("h1", "h2")}
        edges |= {f"out{j}": ("h2", f"y{j}") for j in range(M)}
        gates |= {f"in{i}": i_of == i for i in range(M)} | {f"out{j}": j_of == j for j in range(M)}
    for i, j in routes if dedicated else []:
        first, second = f"h1 {i}{j}", f"h2 {i}{j}"
        widths |= {first: width, second: width}
        edges |= {f"in {i}{j}": (f"x{i}", first), f"hidden {i}{j}": (first, second)}
        edges |= {f"out {i}{j}": (second, f"y{j}")}
        gates |= {f"hidden {i}{j}": (i_of == i) & (j_of == j)}
    items = np.tile(np.arange(len(Y)), len(routes))
    examples = GatedExamples(
        x={f"x{i}": X[(items + i - i_of) % len(Y)] for i in range(M)},
        y={f"y{j}": Y[items] * (j_of == j)[:, None] for j in range(M)},
        edge_gates=gates,
    )
    return Graph(widths, edges), examples


ALL_ROUTES = {M: [(i, j) for i in range(M) for j in range(M)] for M in (2, 3)}
RING = [(i, (i + o) % 3) for i in range(3) for o in (0, 1)]


def chain(sigma, sigma_x):
    """The statistics of one path from x to y over one hidden node."""
    sigma, sigma_x = np.asarray(sigma, float), np.asarray(sigma_x, float)
    graph = Graph(
        {"x": sigma.shape[1], "h": 8, "y": sigma.shape[0]}, {"1": ("x", "h"), "2": ("h", "y")}
    )
    path = ("1", "2")
    return PathStatistics(
        graph, {path: sigma}, {(path, path): sigma_x}, {"y": np.eye(sigma.shape[0])}
    )


def test_the_toy_data_have_their_known_singular_values(x64):
    graph, examples = routing_problem(3, RING)
    statistics = path_statistics(graph, examples)
    found = check_diagonalizable(statistics)
    assert found.residual < 1e-14
    assert found.holds(1e-12)
    for i in range(3):
        V, U = found.bases[f"x{i}"], found.bases[f"y{i}"]
        assert V.shape == (4, 4)
        assert U.shape == (7, 4)
        np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-13)
        np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-13)
    reduction = reduce(statistics)
    assert reduction.S.shape == (6, 4)
    # Six routes and four items: the correlations are averages over 24 examples.
    np.testing.assert_allclose(24 * reduction.S, np.tile(SINGULAR_VALUES, (6, 1)), rtol=1e-6)
    np.testing.assert_allclose(24 * reduction.D, 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("shared", "dedicated", "M", "routes"),
    [(True, False, 3, RING), (True, True, 2, ALL_ROUTES[2]), (False, True, 3, RING)],
    ids=["routing", "mixed", "dedicated"],
)
def test_decoupled_gradient_descent_is_euler_on_the_reduction(x64, shared, dedicated, M, routes):
    X = random_orthogonal(4, 0)
    graph, examples = routing_problem(M, routes, shared=shared, dedicated=dedicated, X=X)
    statistics = path_statistics(graph, examples)
    learning_rate, steps, key = 0.1, 400, jax.random.key(0)
    reduction = reduce(statistics, tau=1 / learning_rate)
    network = decoupled_init(reduction, 0.3, key=key)
    loss = jax.tree_util.Partial(GatedLinearNetwork.loss, examples=examples)
    trained, curves = train(GradientDescent(loss, learning_rate), network, steps)
    B = euler(reduction, reduction.start(0.3), steps)
    np.testing.assert_allclose(reduction.loss(B), curves["loss"], atol=1e-9, rtol=0)
    assert curves["loss"][-1] < 0.02 * curves["loss"][0]
    bases = node_bases(reduction, key=key)
    np.testing.assert_allclose(project(reduction, trained, bases), B[-1], atol=1e-9, rtol=0)
    lifted = lift(reduction, B[-1], bases)
    for edge, weight in trained.weights.items():
        np.testing.assert_allclose(lifted.weights[edge], weight, atol=1e-9, rtol=0)


def test_the_flow_of_the_reduction_is_gradient_flow_and_conserves_its_quantities(x64):
    graph, examples = routing_problem(2, ALL_ROUTES[2], dedicated=True, width=5)
    statistics = path_statistics(graph, examples)
    reduction = reduce(statistics, tau=2.0)
    key, times = jax.random.key(3), jnp.linspace(0.0, 20.0, 6)
    b0 = {e: 0.1 + 0.02 * k for k, e in enumerate(graph.edges)}
    network = decoupled_init(reduction, b0, key=key)
    loss = jax.tree_util.Partial(loss_from_statistics, statistics=statistics)
    full = gradient_flow(loss, network, times, tau=2.0, rtol=1e-11, atol=1e-12)
    B = integrate(reduction, reduction.start(b0), times, rtol=1e-11, atol=1e-12)
    bases = node_bases(reduction, key=key)
    projected = jax.vmap(lambda network: project(reduction, network, bases))(full)
    np.testing.assert_allclose(projected, B, atol=1e-6)
    np.testing.assert_allclose(projected[-1], B[-1], atol=1e-9)
    assert jnp.abs(B[-1] - B[0]).max() > 0.5
    for node, values in reduction.conserved(B[jnp.array([0, -1])]).items():
        np.testing.assert_allclose(values[1], values[0], atol=1e-9)
        R = bases[node]
        matrix = R.T @ node_balance(network)[node] @ R
        np.testing.assert_allclose(matrix, jnp.diag(values[0]), atol=1e-12)


def test_the_right_hand_side_is_the_gradient_of_the_reduced_loss(x64):
    graph = Graph(
        {"x1": 3, "x2": 3, "h": 4, "y": 3},
        {"a": ("x1", "h"), "b": ("x2", "h"), "c": ("h", "y"), "d": ("h", "y"), "e": ("x1", "y")},
    )
    rng = np.random.default_rng(0)
    V1, V2, U = (random_orthogonal(3, seed) for seed in range(3))
    modes = rng.normal(size=(4, 3))
    x1, x2 = np.diag(modes[0]) @ V1.T, np.diag(modes[1]) @ V2.T
    y = (np.diag(modes[2]) + np.diag(modes[3])) @ U.T
    gates = {e: np.full(3, g) for e, g in zip("abcde", rng.normal(size=5), strict=True)}
    examples = GatedExamples(x={"x1": x1, "x2": x2}, y={"y": y}, edge_gates=gates)
    statistics = path_statistics(graph, examples)
    reduction = reduce(statistics, tau=3.0)
    B = jnp.asarray(rng.normal(size=(5, 3)))
    descent = -jax.grad(reduction.loss)(B) / 3.0
    np.testing.assert_allclose(reduction.rate(B), descent, atol=1e-13)
    network = lift(reduction, B, node_bases(reduction, key=jax.random.key(0)))
    assert reduction.loss(B) == pytest.approx(float(network.loss(examples)), abs=1e-13)


def test_equation_10_by_hand():
    # One mode, one path of two edges: tau dB1/dt = B2 (S − B1 B2 D).
    reduction = reduce(chain([[3.0]], [[2.0]]), tau=4.0)
    B = jnp.array([[0.5], [0.25]])
    error = 3.0 - 0.125 * 2.0
    np.testing.assert_allclose(reduction.rate(B)[:, 0], [0.25 * error / 4, 0.5 * error / 4])
    np.testing.assert_allclose(reduction.strength(B), [[0.125]])
    np.testing.assert_allclose(reduction.loss(B), 0.5 - 3.0 * 0.125 + 0.5 * 2.0 * 0.125**2)


def test_non_commuting_input_correlations_are_flagged(x64):
    R = random_orthogonal(3, 1)
    sigma = np.diag([3.0, 2.0, 1.0])
    assert check_diagonalizable(chain(sigma, np.diag([1.0, 2.0, 4.0]))).residual < 1e-13
    mixed = chain(sigma, R @ np.diag([1.0, 2.0, 4.0]) @ R.T)
    found = check_diagonalizable(mixed)
    assert not found.holds()
    assert found.residual > 0.1
    with pytest.raises(ValueError, match="share no singular bases"):
        reduce(mixed)
    assert reduce(mixed, tolerance=np.inf).S.shape == (1, 3)


def test_paths_whose_targets_do_not_commute_are_flagged(x64):
    graph, examples = routing_problem(2, ALL_ROUTES[2])
    assert check_diagonalizable(path_statistics(graph, examples)).holds(1e-12)
    last_route = examples.edge_gates["in1"] * examples.edge_gates["out1"] == 1
    other_features = np.tile(FEATURES[:, [1, 0, 2, 3, 6, 5, 4]], (4, 1))
    y1 = jnp.where(last_route[:, None], other_features, examples.y["y1"])
    swapped = GatedExamples(examples.x, examples.y | {"y1": y1}, {}, examples.edge_gates)
    found = check_diagonalizable(path_statistics(graph, swapped))
    assert found.residual > 0.01 * found.scale
    assert not found.holds()


def test_two_pathways_with_one_output_direction_need_inputs_of_their_own():
    """The contextual task: its two input directions compete for one output direction."""
    one, two = ("in1", "out1"), ("in2", "out2")
    edges = {"in1": ("x", "h1"), "out1": ("h1", "y"), "in2": ("x", "h2"), "out2": ("h2", "y")}
    yx = {one: [[1 / 6, 0.0]], two: [[0.0, 1 / 6]]}
    x = {(one, one): np.eye(2) / 6, (two, two): np.eye(2) / 6}
    joint = PathStatistics(Graph({"x": 2, "h1": 3, "h2": 3, "y": 1}, edges), yx, x, {})
    # The best compromise turns the input basis by 45 degrees.
    assert 1 / 6 > check_diagonalizable(joint).residual > 1 / 6 / np.sqrt(2) - 1e-6
    edges |= {"in1": ("x1", "h1"), "in2": ("x2", "h2")}
    split = PathStatistics(Graph({"x1": 2, "x2": 2, "h1": 3, "h2": 3, "y": 1}, edges), yx, x, {})
    assert check_diagonalizable(split).residual < 1e-7
    reduction = reduce(split)
    np.testing.assert_allclose(reduction.S, [[1 / 6], [1 / 6]], rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_shared_bases_are_found_however_degenerate_the_singular_values(x64, seed):
    """Three inputs and two outputs, many equal, zero and negative values, correlated inputs."""
    rng = np.random.default_rng(seed)
    widths = {"x1": 4, "x2": 4, "x3": 5, "y1": 6, "y2": 4}
    Q = {v: random_orthogonal(w, 10 * seed + k) for k, (v, w) in enumerate(widths.items())}
    edges = {f"{s}-{t}": (s, t) for s in ("x1", "x2", "x3") for t in ("y1", "y2")}
    graph = Graph(widths, edges | {"x1-y1 again": ("x1", "y1")})

    def diagonal(rows, columns):
        values = np.zeros((widths[rows], widths[columns]))
        np.fill_diagonal(values, rng.integers(-1, 3, min(values.shape)))
        return Q[rows] @ values @ Q[columns].T

    yx, x = {}, {}
    for edge, (source, target) in graph.edges.items():
        yx[(edge,)] = diagonal(target, source)
        for other, (source2, target2) in graph.edges.items():
            if target2 == target and ((other,), (edge,)) not in x:
                x[(edge,), (other,)] = diagonal(source, source2)
    statistics = PathStatistics(graph, yx, x, {})
    found = check_diagonalizable(statistics)
    assert found.residual < 1e-10 * found.scale
    broken = yx | {("x1-y1",): random_orthogonal(6, 99)[:, :4]}
    assert not check_diagonalizable(PathStatistics(graph, broken, x, {})).holds()


def test_with_equal_singular_values_any_rotation_is_accepted_if_all_nodes_follow(x64):
    graph, examples = routing_problem(2, ALL_ROUTES[2], Y=random_orthogonal(4, 5))
    statistics = path_statistics(graph, examples)
    found = check_diagonalizable(statistics)
    assert found.residual < 1e-14
    np.testing.assert_allclose(16 * reduce(statistics, found).S, np.ones((4, 4)), rtol=1e-12)


def test_disjoint_parts_of_a_network_share_the_numbers_of_their_modes():
    graph, examples = routing_problem(3, [(0, 0), (1, 1), (2, 2)])
    reduction = reduce(path_statistics(graph, examples))
    np.testing.assert_allclose(12 * reduction.S, np.tile(SINGULAR_VALUES, (3, 1)), rtol=1e-5)


def test_inputs_that_feed_different_output_directions_have_modes_of_their_own(x64):
    graph = Graph(
        {"a": 2, "b": 2, "h": 8, "y": 4}, {"ah": ("a", "h"), "bh": ("b", "h"), "hy": ("h", "y")}
    )
    one, two = ("ah", "hy"), ("bh", "hy")
    yx = {one: np.eye(4)[:, :2] * [4.0, 1.0], two: np.eye(4)[:, 2:] * [3.0, 2.0]}
    x = {(one, one): np.eye(2), (two, two): np.eye(2)}
    statistics = PathStatistics(graph, yx, x, {"y": np.diag([16.0, 1.0, 9.0, 4.0])})
    reduction = reduce(statistics)
    np.testing.assert_allclose(reduction.S, [[4, 0, 0, 1], [0, 3, 2, 0]], atol=1e-12)
    B0 = reduction.edge_strengths(reduction.start(0.1))
    np.testing.assert_allclose(B0["ah"], [0.1, 0, 0, 0.1])
    np.testing.assert_allclose(B0["bh"], [0, 0.1, 0.1, 0])
    network = decoupled_init(reduction, 0.1, key=jax.random.key(0))
    loss = jax.tree_util.Partial(loss_from_statistics, statistics=statistics)
    _, curves = train(GradientDescent(loss, 0.05), network, 300, every=50)
    B = euler(reduction, reduction.start(0.1), 300, step=0.05)
    np.testing.assert_allclose(reduction.loss(B[::50]), curves["loss"], atol=1e-12)
    assert curves["loss"][-1] < 1e-3


def test_a_narrow_hidden_node_carries_the_strongest_modes_only(x64):
    statistics = chain(np.diag([1.0, 5.0, 3.0]), np.eye(3))
    narrow = Graph({"x": 3, "h": 2, "y": 3}, {"1": ("x", "h"), "2": ("h", "y")})
    statistics = PathStatistics(narrow, statistics.yx, statistics.x, {"y": np.diag([1, 25, 9.0])})
    reduction = reduce(statistics)
    np.testing.assert_allclose(reduction.S, [[5.0, 3.0, 1.0]], rtol=1e-12)
    np.testing.assert_allclose(reduction.start(0.1), [[0.1, 0.1, 0.0]] * 2)
    network = decoupled_init(reduction, 0.1, key=jax.random.key(0))
    loss = jax.tree_util.Partial(loss_from_statistics, statistics=statistics)
    _, curves = train(GradientDescent(loss, 0.05), network, 200, every=50)
    B = euler(reduction, reduction.start(0.1), 200, step=0.05)
    np.testing.assert_allclose(reduction.loss(B[::50]), curves["loss"], atol=1e-12)
    # What is left is the mode that does not fit: 1² / 2.
    assert curves["loss"][-1] == pytest.approx(0.5, abs=1e-4)


def half_rise_steps(strength):
    return np.argmax(np.asarray(strength) >= 0.5 * np.asarray(strength)[-1], axis=0)


def test_a_larger_singular_value_is_learned_faster(x64):
    graph, examples = routing_problem(3, RING)
    reduction = reduce(path_statistics(graph, examples))
    B = euler(reduction, reduction.start(0.1), 4000, step=0.1)
    final = reduction.strength(B)
    np.testing.assert_allclose(final[-1], np.tile(SINGULAR_VALUES, (6, 1)), rtol=1e-3)
    first, second, third, fourth = half_rise_steps(final[:, 0])
    assert first < 0.7 * second < 0.7 * 0.7 * third
    assert abs(third - fourth) <= 1


def test_an_edge_on_more_trained_paths_learns_faster(x64):
    M = 3
    graph, examples = routing_problem(M, ALL_ROUTES[M], dedicated=True)
    reduction = reduce(path_statistics(graph, examples))
    change = reduction.edge_strengths(reduction.rate(reduction.start(0.1)))
    # Paths through it: 9 for the shared hidden edge, 3 for its neighbours, 1 for dedicated edges.
    np.testing.assert_allclose(change["hidden"], 9 * change["hidden 00"], rtol=1e-12)
    np.testing.assert_allclose(change["in0"], 3 * change["hidden 00"], rtol=1e-12)
    B = euler(reduction, reduction.start(0.1), 2000, step=0.1)
    strength = dict(zip(reduction.paths, reduction.strength(B)[-1], strict=True))
    shared = strength["in0", "hidden", "out0"][0]
    dedicated = strength["in 00", "hidden 00", "out 00"][0]
    assert shared + dedicated == pytest.approx(13.60147, rel=1e-4)
    assert shared > 0.98 * 13.60147


@pytest.mark.parametrize(("shared", "dedicated"), [(True, False), (False, True)])
def test_the_conserved_quantity_of_symmetric_schemes_weighs_edges_by_their_paths(
    x64, shared, dedicated
):
    M = 3
    graph, examples = routing_problem(M, ALL_ROUTES[M], shared=shared, dedicated=dedicated)
    reduction = reduce(path_statistics(graph, examples))
    B = integrate(reduction, reduction.start(0.2), jnp.array([0.0, 30.0]))
    named = reduction.edge_strengths(B)
    outer, hidden = (
        (named["in0"], named["hidden"]) if shared else (named["in 00"], named["hidden 00"])
    )
    paths = M if shared else 1
    # B_a²/n_a − B_b²/n_b with n = M and M² (shared), 1 and 1 (dedicated).
    quantity = outer**2 / paths - hidden**2 / paths**2
    assert jnp.abs(named["in0" if shared else "in 00"][1, 0] - 0.2) > 0.3
    np.testing.assert_allclose(quantity[1], quantity[0], atol=1e-9)


def test_the_reduction_works_in_32_bit_numbers():
    graph, examples = routing_problem(3, RING, X=random_orthogonal(4, 0))
    statistics = path_statistics(graph, examples)
    reduction = reduce(statistics, tau=10.0)
    assert reduction.S.dtype == jnp.float32
    network = decoupled_init(reduction, 0.3, key=jax.random.key(0))
    loss = jax.tree_util.Partial(GatedLinearNetwork.loss, examples=examples)
    _, curves = train(GradientDescent(loss, 0.1), network, 400, every=100)
    B = euler(reduction, reduction.start(0.3), 400)
    assert curves["loss"].dtype == np.float32
    np.testing.assert_allclose(reduction.loss(B[::100]), curves["loss"], atol=0.02)
