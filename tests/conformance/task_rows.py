"""One row per task, in a small size. A new task adds a row and inherits all tests of tasks."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from rows import Table

from recombine import data, models, splits, tasks

KEY = jax.random.key(0)


def image_routing():
    return tasks.ImageRouting(
        data.prototypes(key=KEY, shape=(4, 4), train=40, test=20),
        tasks.pixel_permutations(3, 16),
        tasks.random_labels(3, key=KEY),
    )


def routing():
    items = tasks.hierarchical_items()
    return tasks.RoutingTask(items.X, items.Y, 3, splits.ring_mask(3, 2))


def compositional_images():
    return tasks.CompositionalImages(
        2,
        data.template_mixtures(key=KEY, shape=(2, 3), train=40, test=20),
        held_out=splits.HashedTuples(2, key=KEY),
        noise=0.5,
    )


def hyperteacher():
    codes = splits.ListedCodes(splits.up_to_k_hot_masks(4, 2))
    return tasks.HyperTeacher(
        codes, inputs=4, hidden=6, outputs=3, hidden_layers=1, support=5, query=5, key=KEY
    )


def goal_grid():
    return tasks.GoalGrid(
        tasks.Mazes.random(2, 5, seed=0),
        splits.ListedCodes(tasks.goal_codes(2, 2, 2)),
        objects=2,
        distractors=1,
        min_distance=3,
        steps=24,
    )


def preference_grid():
    return tasks.PreferenceGrid(
        jnp.eye(3),
        splits.ListedCodes(splits.up_to_k_hot_masks(3, 2)),
        tasks.ForagingGrid(colours=3, objects=2, layout=("..", ".."), horizon=3),
        support=2,
        query=2,
    )


def modular_teacher():
    teacher = models.ModularNetwork.random(modules=3, inputs=4, hidden=5, outputs=2, key=KEY)
    return tasks.ModularTeacher(teacher, splits.k_hot_masks(3, 2), samples=5)


def paired_images():
    return tasks.PairedImages(data.template_mixtures(key=KEY, shape=(8, 4), train=40, test=20))


SAMPLED = Table(
    {
        "AddMultiply": tasks.AddMultiply,
        "AssociativeRecall": lambda: tasks.AssociativeRecall(3, 2, (2, 3)),
        "Copy": lambda: tasks.Copy(3, (1, 3), (1, 2)),
        "KeyValue": lambda: tasks.KeyValue(3, (2, 4)),
        "CompositionalImages": compositional_images,
        "ContextTask": tasks.ContextTask,
        "DoubleAddition": tasks.DoubleAddition,
        "GoalGrid": goal_grid,
        "HyperTeacher": hyperteacher,
        "ImageRouting": image_routing,
        "ModularTeacher": modular_teacher,
        "PairedImages": paired_images,
        "PreferenceGrid": preference_grid,
        "QuadrantToy": lambda: tasks.QuadrantToy(informative=False),
        "RoutingTask": routing,
        "Scan": lambda: tasks.Scan(tasks.add_primitive_split()),
        "SineRegression": lambda: tasks.SineRegression.random(2, 3, key=KEY),
        "TableLookup": tasks.TableLookup,
        "XorTask": tasks.XorTask,
    }
)
"""Tasks that draw a batch for a key: `sample(size, key=key)`."""


class Drawn(NamedTuple):
    """A task that draws whole sets of sequences for a seed, and the sizes that it is asked for."""

    task: Any
    sizes: dict[str, int]
    more: dict[str, int]
    """How many items a set has beside them, because it must have these."""


DRAWN = Table(
    {
        "ListOps": lambda: Drawn(
            tasks.ListOps(digits=5, longest=40, depths=(1, 2), valid_depths=(3, 3),
                          deeper_depths=(4, 4)),
            {"train": 60, "iid": 20, "tests": 20}, {},
        ),
        "SimpleArithmetic": lambda: Drawn(
            tasks.SimpleArithmetic(digits=5, depths=(2, 2), valid_depths=(3, 3),
                                   deeper_depths=(4, 4)),
            {"train": 60, "iid": 20, "tests": 20}, {"train": 2 * 5 * 5},
        ),
        "TableLookupPatterns": lambda: Drawn(
            tasks.TableLookupPatterns.alternating(symbols=4, functions=8, longest=4),
            # Of the single functions, half are drawn for the 60 in any case.
            {"train": 60, "iid": 20, "ood": 20}, {"train": 4 * 8 // 2},
        ),
    }
)  # fmt: skip
"""Tasks that draw sets of sequences on the host: `sets(**sizes, seed=seed)`."""

NO_TASKS = {
    "Edge": "a part of a SamplingGraph",
    "ForagingGrid": "the world of a PreferenceGrid",
    "LabelledSequences": "what tasks draw",
    "Line": "a part of a Story",
    "LookupTables": "a part of TableLookupPatterns",
    "Mathematics": "it draws pairs of sentences for a seed",
    "MathematicsThirds": "it draws pairs of sentences for a seed",
    "Mazes": "a part of a GoalGrid",
    "PCFGSet": "it draws pairs of sentences for a seed",
    "SamplingGraph": "a part of TableLookupPatterns",
    "ScanSplit": "a part of Scan",
    "Story": "what tasks of stories tell",
    "StoryVocabulary": "words of stories and their numbers",
    "TaskSets": "episodes that a task drew",
    "Translations": "pairs of sentences as numbers",
    "Vocabulary": "words and their numbers",
}
"""Public classes of `tasks` that draw nothing by themselves."""
