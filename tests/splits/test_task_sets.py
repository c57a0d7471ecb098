import numpy as np
import pytest

from recombine import splits
from recombine.splits._support import discrete_sample_condition

TABLE_A9 = {
    "D-conn": "0 1 2 3 4 5 01 12 23 34 45 50",
    "D-disc": "0 1 2 3 4 5 01 12 20 34 45 53",
    "C-conn-1": "01 12 23 34 45 50",
    "C-conn-2": "012 234 450",
    "C-disc-1": "01 12 20 34 45 53",
    "C-disc-2": "0 1 2 3 4 5",
    "C-disc-3": "012 345 01 12 20 34 45 53",
}


def latents(task_set):
    return task_set.masks / np.linalg.norm(task_set.masks, axis=1, keepdims=True)


def test_the_printed_sets_are_the_columns_of_table_a9():
    printed = {name for name, one in splits.TASK_SETS.items() if one.printed}
    assert printed == set(TABLE_A9)
    for name, families in TABLE_A9.items():
        expected = {frozenset(map(int, family)) for family in families.split()}
        masks = splits.TASK_SETS[name].masks
        assert masks.shape == (len(families.split()), 6)
        assert {frozenset(np.flatnonzero(mask).tolist()) for mask in masks} == expected


@pytest.mark.parametrize("name", splits.TASK_SETS)
def test_every_set_has_the_support_that_is_printed(name):
    task_set = splits.TASK_SETS[name]
    assert name.startswith("D" if task_set.discrete else "C")
    assert splits.compositional_support(task_set.masks)
    assert bool(splits.connected_support(task_set.masks)) == task_set.connected


@pytest.mark.parametrize("name", splits.TASK_SETS)
def test_the_conditions_predict_which_sets_are_expected_to_work(name):
    task_set = splits.TASK_SETS[name]
    enough = True
    if task_set.discrete:
        enough = bool(discrete_sample_condition(latents(task_set), task_set.masks))
    assert (task_set.connected and enough) == task_set.expected


def test_the_sets_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        splits.TASK_SETS["D-conn"].masks[0] = True
