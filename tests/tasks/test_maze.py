from collections import deque

import numpy as np
import pytest

from recombine.tasks import Mazes
from recombine.tasks._maze import random_maze

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))


def breadth_first(wall, start):
    """The distance of every free cell from `start`, one cell after the other."""
    size, distance, queue = len(wall), {start: 0}, deque([start])
    while queue:
        row, column = queue.popleft()
        for dr, dc in STEPS:
            near = row + dr, column + dc
            inside = 0 <= near[0] < size and 0 <= near[1] < size
            if inside and not wall[near] and near not in distance:
                distance[near] = distance[row, column] + 1
                queue.append(near)
    return distance


@pytest.mark.parametrize(
    ("seed", "walls", "longest"),
    [(2020, 49, 50), (2021, 47, 34), (2022, 48, 26), (2023, 48, 28), (2024, 48, 28)],
)
def test_the_mazes_of_the_published_seeds_have_their_fingerprints(seed, walls, longest):
    assert random_maze(seed=seed).sum() == walls
    assert Mazes.random(1, seed=seed).distance.max() == longest


@pytest.mark.parametrize("size", [5, 7, 11, 15])
def test_free_cells_are_connected_in_every_maze(size):
    for seed in range(30):
        wall = random_maze(size, seed=seed)
        free = list(zip(*np.nonzero(~wall), strict=True))
        assert wall.shape == (size, size)
        assert wall.any()
        assert len(breadth_first(wall, free[0])) == len(free)


def test_a_seed_gives_one_maze_and_mazes_take_one_seed_after_the_other():
    assert np.array_equal(random_maze(7, seed=3), random_maze(7, seed=3))
    assert not np.array_equal(random_maze(7, seed=3), random_maze(7, seed=4))
    both = Mazes.random(2, 7, seed=3)
    assert np.array_equal(both.walls[1], random_maze(7, seed=4).ravel())


def test_without_walls_begun_or_growing_a_maze_is_empty_or_dotted():
    assert not random_maze(7, seed=0, density=0.0).any()
    dotted = random_maze(7, seed=0, complexity=0.0, density=2.0)
    rows, columns = np.nonzero(dotted)
    # Walls begin at even cells of the maze with its border, hence at odd ones without it.
    assert len(rows)
    assert np.all(rows % 2 == 1)
    assert np.all(columns % 2 == 1)


def test_distances_and_moves_agree_with_a_breadth_first_search():
    size = 7
    mazes = Mazes.random(2, size, seed=2020)
    for maze in range(2):
        wall = np.asarray(mazes.walls[maze]).reshape(size, size)
        distance = np.asarray(mazes.distance[maze]).reshape([size] * 4)
        move = np.asarray(mazes.move[maze]).reshape([size] * 4)
        for target in np.ndindex(size, size):
            if wall[target]:
                assert np.all(distance[target] == -1)
                continue
            expected = breadth_first(wall, target)
            for cell in np.ndindex(size, size):
                assert distance[target][cell] == expected.get(cell, -1)
                nearer = [
                    a
                    for a, (dr, dc) in enumerate(STEPS)
                    if cell in expected
                    and expected.get((cell[0] + dr, cell[1] + dc), -1) == expected[cell] - 1 >= 0
                ]
                assert move[target][cell] == (nearer or [4])[0]


def test_a_small_maze_by_hand():
    mazes = Mazes(np.array([[[0, 0, 0], [0, 1, 1], [0, 0, 0]]], bool))
    # From the top right corner: left, left, down, down, right, right.
    assert mazes.distance[0, 8].tolist() == [4, 5, 6, 3, -1, -1, 2, 1, 0]
    assert mazes.move[0, 8].tolist() == [2, 3, 3, 2, 4, 4, 1, 1, 4]


def test_of_ways_equally_short_the_first_move_is_taken():
    mazes = Mazes(np.zeros((1, 3, 3), bool))
    assert mazes.move[0, 0, 8] == 0  # up rather than left
    assert mazes.move[0, 8, 0] == 1  # right rather than down
    assert mazes.move[0, 6, 2] == 2  # down rather than left


def test_bad_mazes_are_refused():
    with pytest.raises(ValueError, match="odd size"):
        random_maze(8, seed=0)
    with pytest.raises(ValueError, match="must be connected"):
        Mazes(np.array([[[0, 1, 0], [0, 1, 0], [0, 1, 0]]], bool))
