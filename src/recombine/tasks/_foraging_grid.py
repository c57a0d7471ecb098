"""A small grid with objects to collect: instances, action values, greedy demonstrations."""

from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

_STEPS = ((0, 0), (-1, 0), (0, 1), (1, 0), (0, -1))


class GridInstances(NamedTuple):
    """Where the agent starts and the objects lie; all of them on different free cells."""

    agent: Int[Array, " instances"]
    """The agent's cell. Free cells are counted row by row."""
    cells: Int[Array, "instances objects"]
    """The objects' cells."""
    colours: Int[Array, "instances objects"]
    """The objects' colours."""


class Demonstrations(NamedTuple):
    """States that a greedy agent visits, with the values of all actions in them.

    After the end the state stays as it is, and is not `visited`.
    """

    cell: Int[Array, "instances steps"]
    """The agent's cell."""
    remaining: Bool[Array, "instances steps objects"]
    """The objects that the agent has not collected."""
    action: Int[Array, "instances steps"]
    """The action that the agent takes next."""
    values: Float[Array, "instances steps actions"]
    """The action values Q(s, .)."""
    visited: Bool[Array, "instances steps"]
    """True up to and including the state in which the agent terminates."""


class _Maze(NamedTuple):
    """The free cells of a layout, as constants of the compiled program."""

    places: Int[np.ndarray, "cells 2"]
    """Row and column of each cell, inside the border."""
    successor: Int[np.ndarray, "actions cells"]
    """The cell that an action leads to."""


@lru_cache
def _maze(layout: tuple[str, ...]) -> _Maze:
    places = [(r, c) for r, row in enumerate(layout) for c, mark in enumerate(row) if mark == "."]
    index = {place: i for i, place in enumerate(places)}
    successor = [[index.get((r + dr, c + dc), index[r, c]) for r, c in places] for dr, dc in _STEPS]
    return _Maze(np.array(places), np.array(successor))


class ForagingGrid(eqx.Module):
    """An agent walks a grid and collects coloured objects by stepping on them.

    A state is the agent's cell and the set of objects that remain. The actions are 0 terminate,
    1 up, 2 right, 3 down, 4 left; a move into a wall or the border leaves the agent in place. With
    the defaults there are 19 free cells and 19 x 2^4 = 304 states.

    The world holds no preferences: their values are an argument, one reward per object.
    All methods take batches of instances, and may be compiled.

    **Arguments:**

    - `colours`: the number of colours.
    - `objects`: the number of objects of an instance, at most 8: all sets of them are enumerated.
    - `layout`: the rows of the grid inside its border, `.` for a free cell and `#` for a wall.
    - `discount`: the discount factor of future rewards.
    - `horizon`: the number of backups, and the most states that a demonstration has.
    - `absorbing`: terminating is worth 0. Otherwise it is backed up as staying in place for a step,
        as in the published code. Demonstrations are the same, their values of action 0 are not.
    """

    colours: int = eqx.field(static=True, default=8)
    objects: int = eqx.field(static=True, default=4)
    layout: tuple[str, ...] = eqx.field(
        static=True, default=("..#..", "..#..", "#...#", "..#..", "..#..")
    )
    discount: float = eqx.field(static=True, default=0.9)
    horizon: int = eqx.field(static=True, default=8)
    absorbing: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if len(set(map(len, self.layout))) != 1 or set("".join(self.layout)) - set(".#"):
            raise ValueError("a layout is rows of equal length, of `.` for free cells and `#`")
        most = min(self.cells - 1, 8)
        if not 1 <= self.objects <= most:
            raise ValueError(
                f"a world of {self.cells} free cells has between 1 and {most} objects, not "
                f"{self.objects}"
            )
        if self.colours < 1 or self.horizon < 1:
            raise ValueError("there must be at least one colour, and a horizon of at least 1")

    @property
    def cells(self) -> int:
        """The number of free cells."""
        return "".join(self.layout).count(".")

    @property
    def sets(self) -> int:
        """The number of sets of remaining objects. Object o is in set s if bit o of s is 1."""
        return 2**self.objects

    @property
    def actions(self) -> int:
        """The number of actions: terminate, and four moves."""
        return len(_STEPS)

    def inputs(self, *, compact: bool = False) -> int:
        """The length of an observation."""
        rows, columns = len(self.layout) + 2, len(self.layout[0]) + 2
        return self.cells * (self.colours + 1) if compact else rows * columns * (self.colours + 2)

    def instances(self, count: int, *, key: PRNGKeyArray) -> GridInstances:
        """Draw `count` instances: cells without, colours with replacement, both uniformly."""
        picks = self.objects + 1
        kinds = [*range(self.cells, self.cells - picks, -1), *[self.colours] * self.objects]
        # One draw of uniform numbers compiles faster than two of integers.
        drawn = jax.random.uniform(key, (len(kinds), count)) * np.array(kinds)[:, None]
        ranks, colours = jnp.split(drawn.astype(jnp.int32), [picks])
        chosen = []
        for k, cell in enumerate(ranks):
            # A rank is among the cells that earlier picks have left. Each of these, the last one
            # first, turns it into a rank among one cell more, and so at last among all.
            for earlier in reversed(ranks[:k]):
                cell = cell + (cell >= earlier)
            chosen.append(cell)
        return GridInstances(chosen[0], jnp.stack(chosen[1:], axis=1), colours.T)

    def _arrival(
        self, instances: GridInstances, rewards: Float[Array, "instances objects"]
    ) -> Float[Array, "states instances"]:
        """The value of arriving at a cell and then acting for `horizon` - 1 steps.

        The reward of the object that is there, if it remains, and the discounted value of the state
        without it. Instances are the last axis, so that every operation is on long rows; cells and
        sets, which are few, are unrolled, so that there is no gather.
        """
        here = instances.cells.T[:, None] == jnp.arange(self.cells)[:, None]
        reward = rewards.T

        def back_up(_, W):
            V = []
            for cell, ahead in enumerate(_maze(self.layout).successor[1:].T):
                # More steps are never worth less, so that to stay is never better than to move on,
                # and to end (0) is as good where nothing is to be gained.
                best = jnp.zeros_like(W[0])
                for there in sorted(set(ahead.tolist()) - {cell}):
                    best = jnp.maximum(best, W[there])
                V.append(best)
            later = self.discount * jnp.stack(V)
            W = []
            for s in range(self.sets):
                worth = later[:, s]
                for o in range(self.objects):
                    if s >> o & 1:
                        worth = jnp.where(here[o], reward[o] + later[:, s ^ (1 << o)], worth)
                W.append(worth)
            return jnp.stack(W, axis=1)

        nothing = jnp.zeros((self.cells, self.sets, len(rewards)), rewards.dtype)
        W = jax.lax.fori_loop(0, self.horizon, back_up, nothing)
        return W.reshape(self.cells * self.sets, -1)

    def _action_values(self, arrival, cell, left):
        """Q(s, a) = W(the cell that a leads to, what is left), actions first.

        To stay is to arrive where there is no object any more.
        """
        there = jnp.asarray(_maze(self.layout).successor)[:, cell]
        Q = jnp.take_along_axis(arrival, there * self.sets + left, axis=0)
        return Q.at[0].set(0.0) if self.absorbing else Q

    def action_values(
        self, instances: GridInstances, rewards: Float[Array, "instances objects"]
    ) -> Float[Array, "instances cells sets actions"]:
        """Q_h by value iteration: Q_0 = 0, Q_t+1(s, a) = r(s, a) + discount max_a' Q_t(s', a').

        A state in which the agent stands on an object that remains does not occur, and its values
        mean nothing.

        **Arguments:**

        - `instances`: where everything is.
        - `rewards`: what each object pays when it is collected.
        """
        arrival = self._arrival(instances, rewards)
        states = jnp.arange(self.cells * self.sets)[:, None]
        cell, left = jnp.divmod(jnp.broadcast_to(states, arrival.shape), self.sets)
        Q = jax.vmap(self._action_values, (None, 0, 0))(arrival, cell, left)
        return jnp.moveaxis(Q, -1, 0).reshape(-1, self.cells, self.sets, self.actions)

    def demonstrate(
        self, instances: GridInstances, rewards: Float[Array, "instances objects"]
    ) -> Demonstrations:
        """Act greedily on Q_h until the agent terminates, or for `horizon` states.

        Q_h serves at every step. Ties go to the first action, so that the agent terminates where
        nothing is left that it would like to have.

        **Arguments:**

        - `instances`: where everything is.
        - `rewards`: what each object pays when it is collected.
        """
        arrival = self._arrival(instances, rewards)
        successor = jnp.asarray(_maze(self.layout).successor)
        bits = 1 << jnp.arange(self.objects, dtype=jnp.int32)

        def step(state, _):
            cell, left, going = state
            Q = self._action_values(arrival, cell, left)
            action = jnp.argmax(Q, axis=0).astype(jnp.int32)
            there = successor[action, cell].astype(cell.dtype)
            stepped_on = jnp.where(instances.cells == there[:, None], bits, 0).sum(1)
            after = there, left & ~stepped_on.astype(left.dtype), going & (action != 0)
            return after, (cell, left, action, Q, going)

        count = len(rewards)
        start = (
            instances.agent,
            jnp.full(count, self.sets - 1, jnp.int32),
            jnp.ones(count, bool),
        )
        _, (cell, left, action, Q, going) = jax.lax.scan(step, start, length=self.horizon)
        remaining = (left.T[..., None] & bits) > 0
        return Demonstrations(cell.T, remaining, action.T, jnp.moveaxis(Q, -1, 0), going.T)

    def observe(
        self,
        instances: GridInstances,
        cell: Int[Array, "instances steps"],
        remaining: Bool[Array, "instances steps objects"],
        *,
        compact: bool = False,
    ) -> Float[Array, "instances steps inputs"]:
        """What a network sees of states: a one-hot code of every place, flattened.

        The channels of a place are the colours of objects that remain, the agent, and walls. With
        the defaults these are 7 x 7 x 10 = 490 numbers.

        **Arguments:**

        - `instances`: where everything is.
        - `cell`: where the agent is.
        - `remaining`: which objects have not been collected.
        - `compact`: free cells only, and no channel for walls: 19 x 9 = 171 numbers that say the
            same, as walls never change.
        """
        length = self.inputs(compact=compact)
        if compact:
            channels = self.colours + 1
            place = np.arange(self.cells)
            walls = np.zeros(length, bool)
        else:
            channels = self.colours + 2
            place = (_maze(self.layout).places + 1) @ [len(self.layout[0]) + 2, 1]
            # Every place has a wall, except free cells.
            walls = np.arange(length) % channels == channels - 1
            walls[channels * place + channels - 1] = False
        first = jnp.asarray(channels * place, jnp.int32)
        objects = jnp.where(remaining, (first[instances.cells] + instances.colours)[:, None], -1)
        agent = first[cell] + self.colours
        seen = jnp.asarray(walls)
        for one in (*jnp.moveaxis(objects, -1, 0), agent):
            seen = seen | (one[..., None] == jnp.arange(length, dtype=jnp.int32))
        return seen.astype(float)

    def picture(self, instances: GridInstances, index: int = 0) -> str:
        """One instance in letters (Figure 4A): `#` walls, `@` the agent, objects `a`, `b`, ..."""
        rows, columns = len(self.layout) + 2, len(self.layout[0]) + 2
        picture = np.full((rows, columns), "#")
        places = _maze(self.layout).places + 1
        picture[*places.T] = "."
        picture[*places[int(instances.agent[index])]] = "@"
        for cell, colour in zip(instances.cells[index], instances.colours[index], strict=True):
            picture[*places[int(cell)]] = chr(ord("a") + int(colour))
        return "\n".join("".join(row) for row in picture)
