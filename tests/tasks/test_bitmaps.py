"""Tasks of a memory: rows stand where they should, and what is asked can be known."""

import jax
import numpy as np
import pytest

from recombine import tasks

KEY = jax.random.key(0)


def copies(rows):
    """What a copy of rows should write, read from the rows alone."""
    written, held, due = [], [], []
    for row in rows:
        written.append(due.pop(0) if due else np.zeros_like(row))
        if not due and not written[-1].any():
            held.append(row)
            if row[-1]:
                held, due = [], held
    return np.array(written)


def recalls(rows):
    """The block after the one that is shown again, read from the rows alone."""
    bits, markers = rows[:, :-2], rows[:, -2:]
    blocks, block, written, due = [], [], [], []
    asking = False
    for word, (first, second) in zip(bits, markers, strict=True):
        written.append(due.pop(0) if due else np.zeros(rows.shape[1]))
        if first or (second and not asking):
            blocks.append(block)
            block, asking = [], asking or bool(second)
        elif second:
            (found,) = [i for i, other in enumerate(blocks[:-1]) if np.array_equal(other, block)]
            due = [np.append(row, [0, 0]) for row in blocks[found + 1]]
        else:
            block.append(word)
    return np.array(written)


def retrieves(rows, bits):
    """The other half of words, read from the rows alone."""
    words, written, phase = [], [], 0
    for row in rows:
        half, other, marks = row[:bits], row[bits : 2 * bits], row[2 * bits :].any()
        answer = np.zeros(bits)
        if marks:
            phase += 1
        elif phase == 0:
            words.append((half, other))
        else:
            known = phase - 1
            found = [word[1 - known] for word in words if np.array_equal(word[known], half)]
            (answer,) = found
        written.append(answer)
    return np.array(written)


CASES = {
    "copy": (tasks.Copy(), copies),
    "short copy": (tasks.Copy(4, (2, 2), (8, 8)), copies),
    "recall": (tasks.AssociativeRecall(), recalls),
    "two-way": (
        tasks.KeyValue(distinct_values=True), lambda rows: retrieves(rows, 8),
    ),
    "one-way": (tasks.KeyValue(two_way=False), lambda rows: retrieves(rows, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_solver_that_sees_inputs_alone_writes_all_targets(name):
    task, solve = CASES[name]
    draw = jax.jit(lambda key: task.sample(8, key=key))
    for seed in range(4):
        batch = draw(jax.random.key(seed))
        assert batch.inputs.shape == (8, task.longest, task.inputs)
        assert batch.targets.shape == (8, task.longest, task.outputs)
        length = int(batch.lengths[0])
        assert (np.asarray(batch.lengths) == length).all()
        assert not np.asarray(batch.inputs[:, length:]).any()
        assert not np.asarray(batch.targets[:, length:]).any()
        assert (np.asarray(batch.phases[:, :length]) > 0).all()
        assert not np.asarray(batch.phases[:, length:]).any()
        for rows, targets in zip(batch.inputs, batch.targets, strict=True):
            np.testing.assert_array_equal(solve(np.asarray(rows[:length])), targets[:length])


def test_lengths_are_those_of_the_formulas():
    for seed in range(2):
        key = jax.random.key(seed)
        copy = tasks.Copy(2, (3, 3), (2, 5)).sample(2, key=key)
        assert copy.lengths[0] % (2 * 4) == 0
        assert (
            copy.lengths[0] // (2 * 4) == copy.parts.max() + 1
            or copy.lengths[0] < copy.inputs.shape[1]
        )
        recall = tasks.AssociativeRecall(2, 3, (4, 4)).sample(2, key=key)
        assert recall.lengths[0] == 4 * 4 + 3 + 1 + 3
        assert tasks.KeyValue(4, (5, 5)).sample(2, key=key).inputs.shape == (2, 18, 10)
        assert tasks.KeyValue(4, (5, 5), two_way=False).sample(2, key=key).inputs.shape == (
            2,
            12,
            9,
        )


def test_of_two_blocks_the_first_is_asked_for_and_keys_are_unique():
    recall = tasks.AssociativeRecall(4, 1, (2, 2)).sample(20, key=KEY)
    answers = np.asarray(recall.parts)[np.asarray(recall.phases) == 3]
    assert (answers == 1).all()
    pairs = tasks.KeyValue(3, (8, 8)).sample(20, key=KEY)
    for rows in np.asarray(pairs.inputs):
        assert len({tuple(row) for row in rows[:8, :3]}) == 8


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: tasks.Copy(bits=0), "bits=0 is less than 1"),
        (lambda: tasks.Copy(rows=(3, 2)), "rows=3 to 2 is not a range"),
        (lambda: tasks.AssociativeRecall(blocks=(1, 4)), "blocks=1 to 4 is not a range from 2"),
        (lambda: tasks.KeyValue(bits=3, words=(2, 9)), "use 8 words at most"),
    ],
)
def test_tasks_that_cannot_be_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
