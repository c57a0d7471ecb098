"""What must be true of every task."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
from rows import check_complete
from same import same
from task_rows import DRAWN, KEY, NO_TASKS, SAMPLED

from recombine import tasks


def test_every_public_task_has_a_row():
    rows = {type(task).__name__ for task in SAMPLED.values()}
    rows |= {type(row.task).__name__ for row in DRAWN.values()}
    assert rows == {*SAMPLED, *DRAWN}, "a row has the name of its class"
    check_complete(tasks, rows, NO_TASKS, "tests/conformance/task_rows.py")


def test_a_public_class_without_a_row_is_named_with_the_place_of_the_row():
    class Fresh:
        pass

    package = SimpleNamespace(__name__="recombine.tasks", Fresh=Fresh)
    with pytest.raises(AssertionError, match=r"tasks\.Fresh has no row: add one to here\.py"):
        check_complete(package, {"XorTask"}, {}, "here.py")
    check_complete(package, {"Fresh"}, {}, "here.py")
    with pytest.raises(AssertionError, match=r"tasks\.Gone is a reason too many in here\.py"):
        check_complete(package, {"Fresh"}, {"Gone": "a part"}, "here.py")


@pytest.mark.parametrize("name", SAMPLED)
def test_a_sample_has_the_size_asked_for_and_is_deterministic_in_its_key(name):
    task = SAMPLED[name]
    compiled = jax.jit(lambda key: task.sample(7, key=key))
    batch = compiled(KEY)
    assert all(len(part) == 7 for part in jax.tree.leaves(batch))
    assert all(np.all(np.isfinite(part)) for part in jax.tree.leaves(batch))
    assert same(batch, compiled(KEY))
    assert not same(batch, compiled(jax.random.key(1)))


@pytest.mark.parametrize("name", SAMPLED)
def test_a_sample_is_the_same_whether_or_not_it_is_compiled(name):
    task = SAMPLED[name]
    batch = jax.jit(lambda key: task.sample(7, key=key))(KEY)
    # Fused operations round differently.
    pairs = zip(*map(jax.tree.leaves, (batch, task.sample(7, key=KEY))), strict=True)
    assert all(np.allclose(x, y, atol=1e-5) for x, y in pairs)


def rows_of(items):
    """The sequences of a set, as tuples of tokens without padding."""
    tokens, lengths = np.asarray(items.tokens), np.asarray(items.lengths)
    return [tuple(row[:length].tolist()) for row, length in zip(tokens, lengths, strict=True)]


@pytest.mark.parametrize("name", DRAWN)
def test_sets_are_deterministic_in_their_seed(name):
    row = DRAWN[name]
    first, again, other = (row.task.sets(**row.sizes, seed=seed) for seed in (0, 0, 1))
    assert same(first, again)
    assert any(rows_of(first[part]) != rows_of(other[part]) for part in first)


@pytest.mark.parametrize("name", DRAWN)
def test_sets_have_the_sizes_asked_for_and_no_test_item_is_trained(name):
    row = DRAWN[name]
    sets = row.task.sets(**row.sizes, seed=0)
    trained = set(rows_of(sets["train"]))
    for part, items in sets.items():
        asked = (row.sizes.get(word) for word in (part, part.removesuffix("_valid"), "tests"))
        assert len(items) == next(filter(None, asked)) + row.more.get(part, 0)
        assert len(set(rows_of(items))) == len(items), "all items of a set are different"
        assert part == "train" or trained.isdisjoint(rows_of(items))


@pytest.mark.parametrize("name", DRAWN)
def test_tokens_and_labels_are_those_that_a_set_declares(name):
    row = DRAWN[name]
    for items in row.task.sets(**row.sizes, seed=0).values():
        tokens, lengths, labels = map(np.asarray, (items.tokens, items.lengths, items.labels))
        written = np.arange(tokens.shape[1]) < lengths[:, None]
        assert ((tokens > 0) == written).all(), "0 is padding, and nothing else is"
        assert tokens.max() < len(items.vocabulary)
        assert labels.min() >= 0
        assert labels.max() < items.classes
