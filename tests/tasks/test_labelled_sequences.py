"""Labelled sequences: framing, filling up, and sets of similar lengths."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import tasks

SOME = tasks.LabelledSequences([[1, 3, 2], [3, 0, 0]], [3, 1], [0, 1], ("", "(", ")", "x"), 2)


def made_up(lengths):
    """Sequences of given lengths, of ones."""
    lengths = np.asarray(lengths)
    tokens = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int32)
    return tasks.LabelledSequences(tokens, lengths, np.arange(len(lengths)), ("", "x"), 99)


def test_text_has_no_padding():
    assert [SOME.text(i) for i in range(len(SOME))] == ["( x )", "x"]


@pytest.mark.parametrize(
    ("begin", "end", "texts"),
    [
        (True, True, ["B ( x ) E", "B x E"]),
        (True, False, ["B ( x )", "B x"]),
        (False, True, ["( x ) E", "x E"]),
        (False, False, ["( x )", "x"]),
    ],
)
def test_a_frame_surrounds_the_tokens_and_not_the_padding(begin, end, texts):
    framed = SOME.framed(begin, end)
    assert [framed.text(i) for i in range(2)] == texts
    assert len(framed.vocabulary) == 4 + begin + end
    np.testing.assert_array_equal((framed.tokens > 0).sum(axis=1), framed.lengths)
    np.testing.assert_array_equal(framed.labels, SOME.labels)


def test_sequences_are_filled_up_and_cut_without_loss():
    wide = SOME.sized(5)
    assert wide.tokens.shape == (2, 5)
    np.testing.assert_array_equal(wide.sized(3).tokens, SOME.tokens)
    with pytest.raises(ValueError, match="needs 3 places"):
        SOME.sized(2)


def test_a_batch_can_be_drawn_in_a_compiled_step():
    batch = jax.jit(lambda data, places: data.take(places))(SOME, jnp.array([1, 0, 1]))
    np.testing.assert_array_equal(batch.labels, [1, 0, 1])
    assert batch.text(0) == "x"


def test_buckets_hold_every_sequence_once_with_the_least_padding():
    lengths = np.repeat([2, 3, 4, 7, 8, 12], [5, 40, 3, 20, 1, 2])

    def padded(ends):
        return sum(min(end for end in ends if end >= length) for length in lengths)

    data = made_up(lengths)
    for count in (1, 2, 3, 6, 9):
        buckets = data.buckets(count)
        assert len(buckets) == min(count, 6)
        labels = np.concatenate([bucket.labels for bucket in buckets])
        np.testing.assert_array_equal(np.sort(labels), data.labels)
        best = min(padded({*ends, 12}) for ends in combinations([2, 3, 4, 7, 8], min(count, 6) - 1))
        assert sum(bucket.tokens.size for bucket in buckets) == best
    with pytest.raises(ValueError, match="at least one bucket"):
        data.buckets(0)


def test_joined_sets_keep_their_order():
    both = tasks.joined([SOME, SOME.sized(4)[:1]])
    assert both.tokens.shape == (3, 4)
    assert [both.text(i) for i in range(3)] == ["( x )", "x", "( x )"]
    assert both.labels.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="one vocabulary"):
        tasks.joined([SOME, SOME.framed()])
