"""Compositional goals: in a maze, reach one object and use it in one way (Appendix C.4)."""

import string
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray

from ..splits._code_distribution import AbstractCodes, ListedCodes
from ._episode import Episode, Examples
from ._maze import MOVES, STAY, Mazes
from ._task import AbstractTask

QUADRANTS = ("top left", "top right", "bottom left", "bottom right")


def goal_codes(
    mazes: int = 5, objects: int = 5, interactions: int = 2
) -> Bool[np.ndarray, "goals factors values"]:
    """All goals, one of every maze, object type, interaction and quadrant: 200 as in the paper.

    A goal has one row per factor (maze, object, interaction, quadrant), True at its value. Rows are
    as long as the factor with most values needs. The quadrant varies fastest; it is the last
    factor, so that `recombine.splits.module_hold_out(codes, module=3)` holds out the bottom
    right one.
    """
    numbers = (mazes, objects, interactions, len(QUADRANTS))
    values = np.indices(numbers).reshape(len(numbers), -1).T
    return np.eye(max(numbers), dtype=bool)[values]


class GoalInstance(NamedTuple):
    """A goal, and where everything is. Cells are counted row by row."""

    maze: Int[Array, ""]
    object: Int[Array, ""]
    """The type of the target."""
    interaction: Int[Array, ""]
    """What has to be done with the target."""
    target: Int[Array, ""]
    """The cell of the target."""
    agent: Int[Array, ""]
    """The cell in which the agent starts."""
    others: Int[Array, " distractors"]
    """The cells of the distractors."""
    types: Int[Array, " distractors"]
    """The types of the distractors."""


class GoalGrid(AbstractTask):
    """Demonstrations of the shortest way to a target object, followed by the target interaction.

    A goal names a maze, a type of object, an interaction and a quadrant of the maze. The support
    set is one demonstration of it, the query set another one with objects and agent elsewhere. The
    learner sees the maze, all objects and the agent, but not which object is meant, nor what to do
    with it: that it must find in the support.

    The target is uniform among the free cells of its quadrant, the agent among the free cells at
    least `min_distance` steps away (target cells without any are left out; in mazes of the paper's
    size there are none). Distractors are of any of the other types, in free cells of their own.
    Actions are up, right, down, left and then the interactions. After the reward the last step is
    repeated, with weight 0, until the demonstration is `steps` long.

    **Arguments:**

    - `mazes`: the mazes.
    - `codes`: the distribution of goals, as in `goal_codes`.
    - `objects`: the number of types of objects.
    - `interactions`: the number of interactions.
    - `distractors`: the number of objects besides the target.
    - `min_distance`: the fewest steps between agent and target.
    - `steps`: the length of a padded demonstration. It changes no result, but costs: the largest
        array of a sample is as long.
    - `collisions`: whether distractors may lie where the target or the agent is, as in the
        published code.

    ```python
    split = splits.random_hold_out(goal_codes(), key=jax.random.key(0))
    task = GoalGrid(Mazes.random(seed=2020), splits.ListedCodes(split.train))
    episode = task.sample(32, key=jax.random.key(1))
    episode.support.x.shape, episode.support.y.shape  # (32, 120, 847), (32, 120, 6)
    unseen = task.on(splits.ListedCodes(split.held_out))
    ```
    """

    mazes: Mazes
    codes: AbstractCodes
    objects: int = eqx.field(static=True, default=5)
    interactions: int = eqx.field(static=True, default=2)
    distractors: int = eqx.field(static=True, default=4)
    min_distance: int = eqx.field(static=True, default=11)
    steps: int = eqx.field(static=True, default=120)
    collisions: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if self.min_distance < 0:
            raise ValueError(f"min_distance is at least 0, not {self.min_distance}")
        if self.distractors and self.objects < 2:
            raise ValueError("distractors are of other types than the target: take two objects")
        free = int(np.sum(~np.asarray(self.mazes.walls), axis=1).min())
        if free < self.distractors + 2:
            raise ValueError(
                f"a maze with {free} free cells has no room for {self.distractors} distractors"
                " beside target and agent"
            )
        if self.steps < self.longest:
            raise ValueError(
                f"{self.steps} steps are too few: demonstrations have up to {self.longest}"
            )
        for maze, quadrant in np.argwhere(~np.any(self._targets, axis=-1)):
            raise ValueError(
                f"in maze {maze}, no cell {QUADRANTS[quadrant]} has another one"
                f" {self.min_distance} steps away: lower min_distance"
            )
        self._check_codes()

    def _check_codes(self):
        numbers = (len(self.mazes.walls), self.objects, self.interactions, len(QUADRANTS))
        drawn = jax.eval_shape(lambda key: self.codes.draw(1, key=key), jax.random.key(0))
        fit = drawn.shape[1:] == (len(numbers), max(numbers))
        if fit and isinstance(self.codes, ListedCodes):
            listed = np.asarray(self.codes.codes)
            known = np.arange(max(numbers)) < np.array(numbers)[:, None]
            fit = bool(np.all((listed & known).sum(-1) == 1) and np.all(listed.sum(-1) == 1))
        if not fit:
            raise ValueError(
                "a goal has one of {} mazes, {} objects, {} interactions and {} quadrants; some of"
                " these have not: take them from goal_codes with the same numbers".format(*numbers)
            )

    @property
    def outputs(self) -> int:
        """The number of actions: the moves, and the interactions."""
        return len(MOVES) + self.interactions

    @property
    def inputs(self) -> int:
        """The length of an observation: types of objects, walls and agent for every cell."""
        return self.mazes.size**2 * (self.objects + 2)

    @property
    def longest(self) -> int:
        """The number of steps of the longest demonstration, and so the least useful `steps`."""
        return int(np.max(self.mazes.distance)) + 1

    @property
    def _targets(self) -> Bool[Array, "mazes quadrants cells"]:
        """Where a target may lie: not all cells of a small maze are far enough from any other."""
        far = self.mazes.distance.max(-1) >= self.min_distance
        return far[:, None] & (self._quadrant == np.arange(len(QUADRANTS))[:, None])

    @property
    def _quadrant(self) -> Int[np.ndarray, " cells"]:
        """The quadrant of a cell; the middle row and column belong to the top and the left."""
        row, column = np.indices((self.mazes.size, self.mazes.size)).reshape(2, -1)
        half = (self.mazes.size + 1) // 2
        return 2 * (row >= half) + (column >= half)

    def on(self, codes: AbstractCodes) -> "GoalGrid":
        """The same world with other goals."""
        return replace(self, codes=codes)

    def sample(self, size: int, *, key: PRNGKeyArray) -> Episode:
        """Draw `size` goals, each with two instances of it and their demonstrations."""
        code_key, place_key = jax.random.split(key)
        code = self.codes.draw(size, key=code_key)
        numbers = jax.random.uniform(place_key, (2, size, *self._numbers))
        both = jax.vmap(jax.vmap(self._placed), (None, 0))(code, numbers)
        # Apart, so that neither of the large arrays is a copy of a part of a larger one.
        support, query = (
            jax.vmap(self.demonstration)(GoalInstance(*one)) for one in zip(*both, strict=True)
        )
        return Episode(support, query, code.astype(float))

    def instance(
        self, code: Bool[ArrayLike, "factors values"], *, key: PRNGKeyArray
    ) -> GoalInstance:
        """Place target, agent and distractors for a goal."""
        return self._placed(jnp.asarray(code), jax.random.uniform(key, self._numbers))

    @property
    def _numbers(self) -> tuple[int, int]:
        return 4, self.mazes.size**2

    def _placed(
        self, code: Bool[Array, "factors values"], numbers: Float[Array, "4 cells"]
    ) -> GoalInstance:
        """Place everything by random numbers: three ranks of every cell, and one for the types.

        Drawn at once, because each call of a random generator takes long to compile.
        """
        maze, object_, interaction, quadrant = jnp.argmax(code, axis=-1)
        *ranks, for_types = numbers
        target = _highest(ranks[0], self._targets[maze, quadrant])[0]
        agent = _highest(ranks[1], self.mazes.distance[maze, target] >= self.min_distance)[0]
        free = ~self.mazes.walls[maze]
        if not self.collisions:
            free = free.at[jnp.stack([target, agent])].set(False)
        others = _highest(ranks[2], free, self.distractors)
        types = jnp.floor(for_types[: self.distractors] * (self.objects - 1)).astype(int)
        types = types + (types >= object_)
        return GoalInstance(maze, object_, interaction, target, agent, others, types)

    def path(self, instance: GoalInstance) -> tuple[Int[Array, " steps"], Int[Array, " steps"]]:
        """The cell and the action of every step of the demonstration."""
        move = self.mazes.move[instance.maze, instance.target]
        size = self.mazes.size
        ahead = jnp.arange(size**2) + jnp.array([-size, 1, size, -1, 0])[move]
        ahead = ahead.astype(instance.agent.dtype)
        _, cells = jax.lax.scan(
            lambda cell, _: (ahead[cell], cell), instance.agent, length=self.steps
        )
        action = jnp.where(move == STAY, STAY + instance.interaction, move)
        return cells, action[cells]

    def demonstration(self, instance: GoalInstance) -> Examples:
        """Observations and actions on the way to the target and at the target."""
        cells, actions = self.path(instance)
        channels = self.objects + 2
        grid = jnp.zeros((self.mazes.size**2, channels))
        grid = grid.at[instance.target, instance.object].set(1)
        grid = grid.at[instance.others, instance.types].set(1)
        grid = grid.at[:, -2].set(self.mazes.walls[instance.maze])
        # Only the agent moves: one fused pass writes the large array.
        agent = jax.nn.one_hot(channels * cells + channels - 1, self.inputs)
        length = self.mazes.distance[instance.maze, instance.target, instance.agent]
        return Examples(
            x=grid.ravel() + agent,
            y=jax.nn.one_hot(actions, self.outputs),
            weight=(jnp.arange(self.steps) <= length).astype(agent.dtype),
        )

    def picture(self, instance: GoalInstance) -> str:
        """A maze in letters (Figure 4D), and the goal in words below it.

        `#` is a wall, `@` the agent and `+` its way to the target; objects are letters by type, the
        target in upper case.
        """
        at = jax.tree.map(np.asarray, instance)
        cells = np.where(self.mazes.walls[at.maze], "#", ".")
        cells[np.asarray(self.path(instance)[0])] = "+"
        cells[at.others] = np.array(list(string.ascii_lowercase))[at.types]
        cells[at.target] = letter = string.ascii_uppercase[int(at.object)]
        cells[at.agent] = "@"
        rows = ["".join(row) for row in cells.reshape(self.mazes.size, -1)]
        goal = (
            f"in maze {at.maze}, perform interaction {at.interaction} on object {letter}"
            f" {QUADRANTS[self._quadrant[at.target]]}"
        )
        return "\n".join([*rows, goal])


def _highest(
    ranks: Float[Array, " cells"], allowed: Bool[Array, " cells"], number: int = 1
) -> Int[Array, " number"]:
    """The cells of highest rank among those allowed: random ones if the ranks are random."""
    return jax.lax.top_k(jnp.where(allowed, ranks, -1), number)[1]
