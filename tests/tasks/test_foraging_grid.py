import itertools
from collections import Counter
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.tasks import ForagingGrid
from recombine.tasks._foraging_grid import GridInstances

KEY = jax.random.key(0)
WORLD = ForagingGrid()
COUNT = 128
MOVES = {1: (-1, 0), 2: (0, 1), 3: (1, 0), 4: (0, -1)}


@lru_cache
def places(world):
    """Row and column of every free cell."""
    return [(r, c) for r, row in enumerate(world.layout) for c, m in enumerate(row) if m == "."]


def moved(world, cell, action):
    """The cell that an action leads to, read off the layout."""
    free = places(world)
    dr, dc = MOVES.get(action, (0, 0))
    there = free[cell][0] + dr, free[cell][1] + dc
    return free.index(there) if there in free else cell


def instance(agent, cells, colours):
    return GridInstances(*map(jnp.asarray, ([agent], [cells], [colours])))


@pytest.fixture(scope="module")
def shown():
    """Instances with rewards of either sign, some of them 0, and their demonstrations."""
    instances = WORLD.instances(COUNT, key=KEY)
    rewards = jax.random.normal(jax.random.key(1), (COUNT, 4))
    rewards = jnp.where(jax.random.bernoulli(jax.random.key(2), 0.1, rewards.shape), 0.0, rewards)
    return instances, rewards, jax.jit(WORLD.demonstrate)(instances, rewards)


@pytest.fixture(scope="module")
def tables(shown):
    instances, rewards, _ = shown
    return np.asarray(jax.jit(WORLD.action_values)(instances, rewards))


def test_the_paper_grid_has_19_free_cells_and_304_states_and_no_longer_way_than_8():
    assert WORLD.cells == 19
    assert WORLD.cells * WORLD.sets == 304
    step = np.array(
        [[moved(WORLD, i, a) == j for j in range(19)] for i in range(19) for a in MOVES]
    )
    reach = step.reshape(19, 4, 19).any(1) | np.eye(19, dtype=bool)
    within = [np.linalg.matrix_power(reach.astype(int), n) > 0 for n in (7, 8)]
    assert not within[0].all()
    assert within[1].all()


def test_the_picture_shows_walls_agent_and_colours():
    assert WORLD.picture(instance(0, [3, 9, 13, 18], [0, 1, 1, 7])) == "\n".join(
        [
            "#######",
            "#@.#.a#",
            "#..#..#",
            "##.b.##",
            "#..#b.#",
            "#..#.h#",
            "#######",
        ]
    )


def test_cells_are_drawn_without_and_colours_with_replacement_all_equally_often():
    world = ForagingGrid(colours=3, objects=2, layout=("..", ".."))
    drawn = jax.tree.map(np.asarray, world.instances(24_000, key=KEY))
    arrangements = Counter(map(tuple, np.column_stack([drawn.agent, drawn.cells]).tolist()))
    assert set(arrangements) == set(itertools.permutations(range(4), 3))
    # Five standard deviations of a binomial with mean 1000.
    assert all(abs(n - 1000) < 155 for n in arrangements.values())
    colours = Counter(map(tuple, drawn.colours.tolist()))
    assert set(colours) == set(itertools.product(range(3), repeat=2))
    assert all(abs(n - 24_000 / 9) < 245 for n in colours.values())


def test_instances_of_the_paper_grid_use_all_cells_and_never_one_twice():
    drawn = WORLD.instances(1000, key=KEY)
    together = np.column_stack([drawn.agent, drawn.cells])
    assert {len(set(row)) for row in together.tolist()} == {5}
    assert all(set(column) == set(range(19)) for column in together.T.tolist())


def test_action_values_of_a_corridor_are_those_worked_out_by_hand():
    world = ForagingGrid(colours=2, objects=2, layout=("....",), horizon=3)
    here, rewards = instance(0, [2, 3], [0, 1]), jnp.array([[1.0, -5.0]])
    Q, shown = jax.jit(lambda *a: (world.action_values(*a), world.demonstrate(*a)))(here, rewards)
    Q = Q[0]
    both, second, none = 3, 2, 0
    # Two steps to the first object: 0.9. Any detour, such as into a wall, costs a further 0.9.
    np.testing.assert_allclose(Q[0, both], [0.81, 0.81, 0.9, 0.81, 0.81], rtol=1e-6)
    # Beside it: 1 at once; two steps later when going away first.
    np.testing.assert_allclose(Q[1, both], [0.9, 0.9, 1, 0.9, 0.81], rtol=1e-6)
    # Only the second object is left: stepping on it costs 5, and everything else nothing.
    np.testing.assert_allclose(Q[2, second], [0, 0, -5, 0, 0], atol=1e-7)
    np.testing.assert_allclose(Q[2, none], 0, atol=1e-7)
    assert shown.cell[0].tolist() == [0, 1, 2]
    assert shown.action[0].tolist() == [2, 2, 0]
    assert shown.remaining[0].tolist() == [[True, True], [True, True], [False, True]]
    np.testing.assert_allclose(shown.values[0, 0], Q[0, both])


def test_an_agent_collects_what_it_dislikes_if_that_is_worth_the_way():
    world = ForagingGrid(colours=2, objects=2, layout=("...",), horizon=3)
    demonstrate = jax.jit(world.demonstrate)
    cheap, dear = (
        demonstrate(instance(0, [1, 2], [0, 1]), jnp.array([[-cost, 1.0]])) for cost in (0.8, 1.0)
    )
    assert cheap.action[0].tolist() == [2, 2, 0]
    np.testing.assert_allclose(cheap.values[0, 0, 2], 0.9 - 0.8, rtol=1e-5)
    assert dear.action[0, 0] == 0
    assert dear.visited[0].tolist() == [True, False, False]


@pytest.mark.parametrize("index", range(4))
def test_action_values_are_the_best_returns_of_all_action_sequences(shown, tables, index):
    instances, rewards, _ = (jax.tree.map(np.asarray, part) for part in shown)
    ahead = np.array([[moved(WORLD, cell, action) for cell in range(19)] for action in range(5)])
    sequences = np.indices((5,) * 8).reshape(8, -1)
    cell = np.full(sequences.shape[1], instances.agent[index])
    left = np.ones((4, sequences.shape[1]), bool)
    returns = np.zeros(sequences.shape[1])
    for t, action in enumerate(sequences):
        cell = ahead[action, cell]
        taken = left & (cell == instances.cells[index][:, None])
        returns += 0.9**t * (rewards[index] @ taken)
        left &= ~taken
    best = returns.reshape(5, -1).max(1)
    np.testing.assert_allclose(tables[index, instances.agent[index], 15], best, rtol=1e-5)


def test_action_values_equal_a_plain_recursion_in_all_states_that_occur(x64):
    world = ForagingGrid(colours=3, objects=2, layout=("..#", "...", "#.."), horizon=4)
    instances = world.instances(3, key=KEY)
    rewards = jnp.array([[1.0, -0.5], [-0.3, 2.0], [0.7, 0.4]])
    tables = jax.jit(world.action_values)(instances, rewards)

    def values(cell, left, at, pays, steps):
        if steps == 0:
            return [0.0] * 5
        results = []
        for action in range(5):
            there = moved(world, cell, action)
            taken = [o for o in left if at[o] == there]
            rest = tuple(o for o in left if o not in taken)
            later = max(values(there, rest, at, pays, steps - 1))
            results.append(sum(pays[o] for o in taken) + 0.9 * later)
        return results

    for n in range(3):
        at, pays = instances.cells[n].tolist(), rewards[n].tolist()
        for cell, left in itertools.product(range(7), [(), (0,), (1,), (0, 1)]):
            if cell not in [at[o] for o in left]:
                bits = sum(1 << o for o in left)
                expected = values(cell, left, at, pays, 4)
                np.testing.assert_allclose(tables[n, cell, bits], expected, atol=1e-12)


def test_demonstrations_are_greedy_walks_that_collect_what_they_step_on(shown, tables):
    instances, _, walks = (jax.tree.map(np.asarray, part) for part in shown)
    assert (walks.cell[:, 0] == instances.agent).all()
    assert walks.remaining[:, 0].all()
    assert walks.visited[:, 0].all()
    for n in range(COUNT):
        for t in range(8):
            bits = int(walks.remaining[n, t] @ (1 << np.arange(4)))
            Q = walks.values[n, t]
            # Two compiled programs may round differently.
            np.testing.assert_allclose(Q, tables[n, walks.cell[n, t], bits], rtol=1e-5, atol=1e-6)
            assert walks.action[n, t] == np.argmax(Q)
            # It terminates exactly where nothing is to be gained any more.
            assert (walks.action[n, t] == 0) == (Q.max() == 0)
            if t < 7:
                there = moved(WORLD, walks.cell[n, t], walks.action[n, t])
                assert walks.cell[n, t + 1] == there
                kept = walks.remaining[n, t] & (instances.cells[n] != there)
                np.testing.assert_array_equal(walks.remaining[n, t + 1], kept)
                goes_on = walks.visited[n, t] and walks.action[n, t] != 0
                assert walks.visited[n, t + 1] == goes_on
    assert {1, 8} <= set(walks.visited.sum(1))


def test_an_absorbing_end_changes_nothing_but_the_value_of_terminating(shown):
    instances, rewards, walks = shown
    other = jax.jit(ForagingGrid(absorbing=True).demonstrate)(instances, rewards)
    for name in ("cell", "remaining", "action", "visited"):
        np.testing.assert_array_equal(getattr(other, name), getattr(walks, name))
    np.testing.assert_array_equal(other.values[..., 1:], walks.values[..., 1:])
    assert not other.values[..., 0].any()
    assert walks.values[..., 0].any()


def test_observations_show_remaining_objects_the_agent_and_walls(shown):
    instances, _, walks = (jax.tree.map(np.asarray, part) for part in shown)
    seen = np.asarray(WORLD.observe(*_first(shown, 20)))
    assert seen.shape == (20, 8, WORLD.inputs()) == (20, 8, 490)
    free = places(WORLD)
    for n, t in itertools.product(range(20), range(8)):
        expected = np.zeros((7, 7, 10))
        expected[:, :, 9] = 1
        for r, c in free:
            expected[r + 1, c + 1, 9] = 0
        for o in np.flatnonzero(walks.remaining[n, t]):
            r, c = free[instances.cells[n, o]]
            expected[r + 1, c + 1, instances.colours[n, o]] = 1
        r, c = free[walks.cell[n, t]]
        expected[r + 1, c + 1, 8] = 1
        np.testing.assert_array_equal(seen[n, t], expected.ravel())


def test_compact_observations_are_the_full_ones_without_what_never_changes(shown):
    full, compact = (WORLD.observe(*_first(shown, 20), compact=c) for c in (False, True))
    assert compact.shape[-1] == WORLD.inputs(compact=True) == 171
    inside = np.asarray(full).reshape(20, 8, 7, 7, 10)[:, :, 1:-1, 1:-1, :9]
    rows, columns = np.transpose(places(WORLD))
    np.testing.assert_array_equal(compact, inside[:, :, rows, columns].reshape(20, 8, -1))


def _first(shown, count):
    instances, _, walks = shown
    few = GridInstances(*(part[:count] for part in instances))
    return few, walks.cell[:count], walks.remaining[:count]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layout": ("..", "...")}, "rows of equal length"),
        ({"layout": ("..x", "...")}, "rows of equal length"),
        ({"layout": ("..",), "objects": 2}, "between 1 and 1 objects, not 2"),
        ({"objects": 0}, "between 1 and 8 objects, not 0"),
        ({"colours": 0}, "at least one colour"),
        ({"horizon": 0}, "horizon of at least 1"),
    ],
)
def test_a_world_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ForagingGrid(**settings)
