"""Mazes whose free cells are connected, and the shortest paths in them."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.sparse.csgraph
from jaxtyping import Array, Bool, Int

MOVES = ("up", "right", "down", "left")
"""The movements, in the order of their actions."""

STAY = len(MOVES)
"""The entry of `Mazes.move` where no move exists: at the target itself, and in walls."""


def random_maze(
    size: int = 11, *, seed: int, complexity: float = 0.75, density: float = 0.75
) -> Bool[np.ndarray, "size size"]:
    """A maze of trees of wall, grown from random cells until they touch other walls.

    A growing wall never closes a loop, so that the free cells are always connected. Around the maze
    stands a wall while it grows, which is then cut off.

    **Arguments:**

    - `size`: rows and columns, an odd number.
    - `seed`: the seed of NumPy's `default_rng`; one seed gives one maze.
    - `complexity`: how far a wall may grow, as a fraction of five times the outer rows and columns.
    - `density`: how many walls are begun, as a fraction of a quarter of the cells.

    **Returns:** where the walls are.
    """
    if size < 3 or size % 2 == 0:
        raise ValueError(f"a maze has an odd size of at least 3, not {size}")
    rng, outer = np.random.default_rng(seed), size + 2
    wall = np.ones((outer, outer), bool)
    wall[1:-1, 1:-1] = False
    for _ in range(int(density * (outer // 2) ** 2)):
        x, y = (2 * int(rng.integers(outer // 2 + 1)) for _ in range(2))
        wall[y, x] = True
        for _ in range(int(complexity * 5 * 2 * outer)):
            around = [(y, x - 2), (y, x + 2), (y - 2, x), (y + 2, x)]
            around = [cell for cell in around if min(cell) >= 0 and max(cell) < outer]
            next_y, next_x = around[rng.integers(len(around))]
            if not wall[next_y, next_x]:
                wall[next_y, next_x] = wall[(y + next_y) // 2, (x + next_x) // 2] = True
                y, x = next_y, next_x
    return wall[1:-1, 1:-1]


def _neighbours(wall: Bool[np.ndarray, "size size"]) -> Int[np.ndarray, "cells moves"]:
    """The cell that a move leads to, or -1 where a wall or the edge blocks it."""
    size = len(wall)
    framed = np.full((size + 2, size + 2), -1)
    framed[1:-1, 1:-1] = np.where(wall, -1, np.arange(size * size).reshape(size, size))
    inner, back, ahead = slice(1, -1), slice(None, -2), slice(2, None)
    shifted = [framed[back, inner], framed[inner, ahead], framed[ahead, inner], framed[inner, back]]
    return np.stack([cells.ravel() for cells in shifted], axis=1)


def _shortest_paths(
    wall: Bool[np.ndarray, "size size"],
) -> tuple[Int[np.ndarray, "cells cells"], Int[np.ndarray, "cells cells"]]:
    """The distance of two cells, and the first move from the second one to the first one."""
    neighbours = _neighbours(wall)
    edges = np.zeros((wall.size, wall.size), bool)
    free = np.flatnonzero(~wall)
    for target in neighbours[free].T:
        open_ = target >= 0
        edges[free[open_], target[open_]] = True
    steps = scipy.sparse.csgraph.shortest_path(edges, unweighted=True)
    if not np.all(np.isfinite(steps[np.ix_(free, free)])):
        raise ValueError("the free cells of a maze must be connected: open a wall between them")
    distance = np.full(edges.shape, -1)
    distance[np.ix_(free, free)] = steps[np.ix_(free, free)]
    ahead = np.where(neighbours >= 0, distance[:, neighbours], -1)
    nearer = (ahead >= 0) & (ahead == distance[:, :, None] - 1)
    return distance, np.where(nearer.any(-1), nearer.argmax(-1), STAY)


class Mazes(eqx.Module):
    """Mazes of one size, and all shortest paths in them. A cell is row * size + column.

    Of several shortest paths one is fixed: in every cell, the first move (up, right, down, left)
    that comes nearer to the target is taken.

    **Arguments:**

    - `walls`: where the walls are; the free cells of each maze must be connected.
    """

    walls: Bool[Array, "mazes cells"]
    """Where the walls are."""
    distance: Int[Array, "mazes cells cells"]
    """The length of the shortest path between two free cells; -1 to and from walls."""
    move: Int[Array, "mazes cells cells"]
    """The move towards a target from another cell, at `[maze, target, cell]`."""
    size: int = eqx.field(static=True)
    """Rows and columns."""

    def __init__(self, walls: Bool[np.ndarray, "mazes size size"]):
        self.size = walls.shape[1]
        self.walls = jnp.asarray(walls.reshape(len(walls), -1))
        distance, move = zip(*map(_shortest_paths, walls), strict=True)
        self.distance = jnp.asarray(np.stack(distance), jnp.int32)
        self.move = jnp.asarray(np.stack(move), jnp.int32)

    @classmethod
    def random(cls, number: int = 5, size: int = 11, *, seed: int) -> "Mazes":
        """Random mazes of the seeds `seed`, `seed + 1`, ..."""
        return cls(np.stack([random_maze(size, seed=seed + i) for i in range(number)]))
