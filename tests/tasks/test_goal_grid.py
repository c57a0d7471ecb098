import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import splits
from recombine.probes import demonstration_scores
from recombine.tasks import GoalGrid, Mazes, goal_codes
from recombine.tasks._goal_grid import GoalInstance

KEY = jax.random.key(0)
KEYS = jax.random.split(KEY, 4000)
SMALL = {"objects": 3, "distractors": 2, "min_distance": 7, "steps": 48}


@functools.cache
def full_world():
    return GoalGrid(Mazes.random(seed=2020), splits.ListedCodes(goal_codes()))


@functools.cache
def small_world(**changes):
    codes = splits.ListedCodes(goal_codes(2, 3, 2))
    return GoalGrid(Mazes.random(2, 7, seed=2020), codes, **(SMALL | changes))


@eqx.filter_jit
def sampled(task, size, key):
    return task.sample(size, key=key)


@eqx.filter_jit
def placed(task, code, keys):
    """One instance of a goal per key."""
    return jax.vmap(lambda key: task.instance(code, key=key))(keys)


class Simulator:
    """The environment of one instance, one step at a time, in plain Python."""

    def __init__(self, walls, observation, goal):
        """Everything but the target's quadrant is read from the first observation."""
        self.walls, self.goal = walls, goal
        objects, agent = observation[:, :, :-2], observation[:, :, -1]
        self.things = {(int(r), int(c)): int(k) for r, c, k in np.argwhere(objects)}
        (self.agent,) = [tuple(map(int, cell)) for cell in np.argwhere(agent)]
        self.done = False

    def observation(self):
        size, channels = len(self.walls), self.goal["objects"] + 2
        seen = np.zeros((size, size, channels))
        for (row, column), kind in self.things.items():
            seen[row, column, kind] = 1
        seen[:, :, -2] = self.walls
        seen[(*self.agent, -1)] = 1
        return seen

    def step(self, action):
        """Act, and be paid."""
        assert not self.done
        if action >= 4:
            on_target = self.things.get(self.agent) == self.goal["object"]
            self.done = on_target and action - 4 == self.goal["interaction"]
            return int(self.done)
        row, column = self.agent
        dr, dc = ((-1, 0), (0, 1), (1, 0), (0, -1))[action]
        row, column, size = row + dr, column + dc, len(self.walls)
        if 0 <= row < size and 0 <= column < size and not self.walls[row, column]:
            self.agent = row, column
        return 0


def replay(task, examples, codes):
    """Play every demonstration, checking all that is shown on the way; returns the lengths."""
    size, lengths = task.mazes.size, []
    x, y, weight, codes = map(np.asarray, (*examples, codes))
    for i, code in enumerate(codes):
        maze, kind, interaction, quadrant = code.argmax(-1)
        walls = np.asarray(task.mazes.walls)[maze].reshape(size, size)
        goal = {"object": kind, "interaction": interaction, "objects": task.objects}
        length = int(weight[i].sum())
        assert weight[i].tolist() == [1] * length + [0] * (task.steps - length)
        seen = x[i].reshape(task.steps, size, size, task.objects + 2)
        world = Simulator(walls, seen[0], goal)
        (target,) = [cell for cell, k in world.things.items() if k == kind]
        half = (size + 1) // 2
        assert 2 * (target[0] >= half) + (target[1] >= half) == quadrant
        assert len(world.things) == task.distractors + 1
        assert not any(walls[cell] for cell in [*world.things, world.agent])
        assert world.agent not in world.things
        start, end = (size * r + c for r, c in (world.agent, target))
        assert length == np.asarray(task.mazes.distance)[maze, end, start] + 1
        rewards = []
        for t in range(length):
            assert np.array_equal(world.observation(), seen[t])
            assert y[i, t].sum() == 1
            rewards.append(world.step(int(y[i, t].argmax())))
        assert rewards == [0] * (length - 1) + [1]
        lengths.append(length)
    return lengths


def test_there_are_200_goals_with_one_value_a_factor():
    codes = goal_codes()
    assert codes.shape == (200, 4, 5)
    assert np.all(codes.sum(-1) == 1)
    assert len(np.unique(codes, axis=0)) == 200
    assert codes.sum(0).tolist() == [[40] * 5, [40] * 5, [100, 100, 0, 0, 0], [50] * 4 + [0]]
    assert goal_codes(2, 3, 2).shape == (48, 4, 4)


@pytest.mark.parametrize("seed", range(5))
def test_a_random_split_trains_150_goals_and_every_value(seed):
    split = splits.random_hold_out(goal_codes(), key=jax.random.key(seed))
    assert (len(split.train), len(split.held_out)) == (150, 50)
    assert np.array_equal(split.train.any(0), goal_codes().any(0))
    assert split.compositional


def test_holding_out_the_bottom_right_quadrant_leaves_150_goals():
    split = splits.module_hold_out(goal_codes(), module=3)
    assert (len(split.train), len(split.held_out)) == (150, 50)
    assert split.train[:, 3].any(0).tolist() == [True, True, True, False, False]
    assert split.held_out[:, 3].any(0).tolist() == [False, False, False, True, False]
    assert not split.compositional


def test_the_full_world_has_the_sizes_of_the_paper():
    task = full_world()
    assert (task.inputs, task.outputs, task.longest) == (847, 6, 51)
    episode = jax.eval_shape(lambda key: task.sample(9, key=key), KEY)
    for examples in episode[:2]:
        assert [part.shape for part in examples] == [(9, 120, 847), (9, 120, 6), (9, 120)]
    assert episode.code.shape == (9, 4, 5)
    distance, walls = map(np.asarray, (task.mazes.distance, task.mazes.walls))
    assert np.all(distance.max(-1)[~walls] >= task.min_distance)


@pytest.mark.parametrize(("world", "least"), [(full_world, 12), (small_world, 8)])
def test_every_demonstration_is_shortest_and_earns_the_reward_with_its_last_step(world, least):
    task = world()
    episode = sampled(task, 40, KEY)
    for examples in (episode.support, episode.query):
        lengths = replay(task, examples, episode.code)
        assert min(lengths) >= least
        assert len(set(lengths)) > 3


def test_support_and_query_are_two_instances_of_one_goal():
    support, query, _ = sampled(small_world(), 40, KEY)
    assert np.all((np.asarray(support.x[:, 0]) != np.asarray(query.x[:, 0])).any(-1))
    # Padding repeats the interaction.
    assert np.array_equal(support.y[:, -1], query.y[:, -1])


def test_goals_are_drawn_from_the_given_codes_only():
    split = splits.module_hold_out(goal_codes(2, 3, 2), module=3)
    task = small_world().on(splits.ListedCodes(split.held_out))
    code = np.asarray(jax.jit(lambda key: task.sample(40, key=key).code)(KEY), bool)
    assert np.all(code[:, 3, 3])
    assert len(np.unique(code, axis=0)) > 6


def test_target_agent_and_distractors_are_uniform_on_the_cells_open_to_them():
    task, draws = small_world(), len(KEYS)
    code = goal_codes(2, 3, 2)[2]  # bottom left in maze 0, object 0
    at = jax.tree.map(np.asarray, placed(task, code, KEYS))
    distance = np.asarray(task.mazes.distance[0])
    row, column = np.indices((7, 7)).reshape(2, -1)
    free = ~np.asarray(task.mazes.walls[0])
    targets = np.flatnonzero(free & (row >= 4) & (column < 4))
    counts = np.bincount(at.target, minlength=49)
    assert set(np.flatnonzero(counts)) == set(targets)
    expected = draws / len(targets)
    assert np.all(np.abs(counts[targets] - expected) < 4 * np.sqrt(expected))
    for target in targets[:3]:
        far = np.flatnonzero(distance[target] >= 7)
        counts = np.bincount(at.agent[at.target == target], minlength=49)
        assert set(np.flatnonzero(counts)) <= set(far)
        expected = counts.sum() / len(far)
        assert np.all(np.abs(counts[far] - expected) < 5 * np.sqrt(expected))
    assert np.bincount(at.types.ravel()).tolist()[0] == 0
    assert np.allclose(np.bincount(at.types.ravel())[1:] / at.types.size, 1 / 2, atol=0.03)
    assert np.all(free[at.others])
    assert np.all(np.bincount(at.others.ravel(), minlength=49)[free] > 0)


@pytest.mark.parametrize("collisions", [False, True])
def test_distractors_hide_target_or_agent_only_if_allowed(collisions):
    task = small_world(collisions=collisions)
    at = placed(task, goal_codes(2, 3, 2)[5], KEYS)
    on_target, on_agent = (
        np.asarray((at.others == cell[:, None]).any(1)) for cell in (at.target, at.agent)
    )
    assert np.all(at.others[:, 0] != at.others[:, 1])
    assert bool(on_target.any()) == bool(on_agent.any()) == collisions


def test_the_observation_does_not_tell_the_goal():
    task = small_world()
    at = jax.tree.map(lambda part: part[0], placed(task, goal_codes(2, 3, 2)[5], KEYS))
    demonstrate = eqx.filter_jit(task.demonstration)
    shown, other = map(demonstrate, (at, at._replace(interaction=0 * at.interaction)))
    assert np.array_equal(shown.x, other.x)
    length = int(shown.weight.sum())
    assert np.array_equal(shown.y[: length - 1], other.y[: length - 1])
    assert np.argmax(shown.y[length - 1]) == 5
    assert np.argmax(other.y[length - 1]) == 4


def test_padding_repeats_the_last_step_without_weight_and_changes_nothing_else():
    task, longer = small_world(), small_world(steps=60)
    a, b = (jax.tree.map(np.asarray, sampled(t, 40, KEY).query) for t in (task, longer))
    for short, long in zip(a, b, strict=True):
        assert np.array_equal(short, long[:, :48])
    assert np.all(b.weight[:, 48:] == 0)
    assert np.array_equal(b.x[:, 47:-1], b.x[:, 48:])
    assert np.array_equal(b.y[:, 47:-1], b.y[:, 48:])


def oracle(task, x, code):
    """Act on what is seen, one step at a time, knowing the goal."""
    maze, kind, interaction, _ = np.asarray(code).argmax(-1)
    walls, move = (np.asarray(table)[maze] for table in (task.mazes.walls, task.mazes.move))
    actions = []
    for seen in np.asarray(x).reshape(task.steps, -1, task.objects + 2):
        agent, target = seen[:, -1].argmax(), seen[:, kind].argmax()
        assert np.array_equal(seen[:, -2], walls)
        arrived = agent == target
        actions.append(4 + interaction if arrived else move[target, agent])
    return np.eye(task.outputs, dtype="float32")[actions]


def test_a_scripted_oracle_has_all_scores_1_and_a_random_policy_hardly_any():
    task = small_world()
    _, query, code = sampled(task, 40, KEY)
    scripted = jnp.array([oracle(task, x, z) for x, z in zip(query.x, code, strict=True)])
    scores = jax.jit(demonstration_scores)
    assert all(np.all(score == 1) for score in scores(scripted, query))
    guesses = jax.random.normal(KEY, scripted.shape)
    accuracy, exact_path, _, _ = map(np.mean, scores(guesses, query))
    assert abs(accuracy - 1 / 6) < 0.08
    assert exact_path == 0


def test_both_precisions_are_kept(x64):
    task = GoalGrid(Mazes.random(2, 7, seed=2020), small_world().codes, **SMALL)
    episode = sampled(task, 10, KEY)
    assert {leaf.dtype for leaf in jax.tree.leaves(episode)} == {jnp.dtype("float64")}
    replay(task, episode.query, episode.code)


def test_a_world_with_a_single_object_needs_no_distractors():
    codes = splits.ListedCodes(goal_codes(1, 1, 3))
    task = GoalGrid(
        Mazes.random(1, 5, seed=1), codes, 1, 3, distractors=0, min_distance=2, steps=30
    )
    episode = sampled(task, 10, KEY)
    replay(task, episode.support, episode.code)


def test_a_picture_shows_maze_objects_way_and_goal():
    task = full_world()
    instance = GoalInstance(*map(jnp.array, (0, 4, 1, 30, 7, [0, 72, 112], [2, 0, 3])))
    assert task.picture(instance) == GOLDEN


GOLDEN = """\
c++++++@...
+#########.
++++++++E#.
.#######.#.
.#.#...#.#.
##.###.#.#.
......a#.#.
.#####.#.#.
...#.#.#.#.
.###.#.###.
..d........
in maze 0, perform interaction 1 on object E top right"""


def test_worlds_that_cannot_be_are_refused():
    mazes, codes = small_world().mazes, small_world().codes
    with pytest.raises(ValueError, match="at least 0, not -1"):
        GoalGrid(mazes, codes, **(SMALL | {"min_distance": -1}))
    with pytest.raises(ValueError, match="two objects"):
        GoalGrid(mazes, codes, **(SMALL | {"objects": 1}))
    with pytest.raises(ValueError, match="no room for 40 distractors"):
        GoalGrid(mazes, codes, **(SMALL | {"distractors": 40}))
    with pytest.raises(ValueError, match="20 steps are too few: demonstrations have up to 27"):
        GoalGrid(mazes, codes, **(SMALL | {"steps": 20}))
    with pytest.raises(ValueError, match="lower min_distance"):
        GoalGrid(mazes, codes, **(SMALL | {"min_distance": 30}))
    for wrong in (goal_codes(), goal_codes(2, 3, 4), goal_codes(2, 3, 2)[:, :3]):
        with pytest.raises(ValueError, match="take them from goal_codes"):
            small_world().on(splits.ListedCodes(wrong))
