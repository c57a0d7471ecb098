"""Words as numbers, sentences as rows."""

import jax.numpy as jnp
import numpy as np
import pytest

from recombine import tasks

WORDS = tasks.Vocabulary(("jump", "left", "twice"))


def test_a_sentence_ends_with_zeros_and_its_length_counts_one_of_them():
    tokens, lengths = WORDS.encode(["jump left twice", "jump", ""])
    np.testing.assert_array_equal(tokens, [[1, 2, 3, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(lengths, [4, 2, 1])
    assert len(WORDS) == 4


def test_decoding_undoes_encoding_and_stops_at_the_first_end_symbol():
    sentences = ["jump left twice", "", "left"]
    assert WORDS.decode(WORDS.encode(sentences, 9)[0]) == sentences
    assert WORDS.decode(jnp.array([[2, 0, 3], [1, 1, 2]])) == ["left", "jump jump left"]


def test_rows_are_as_wide_as_asked_for_and_no_sentence_is_cut():
    assert WORDS.encode(["jump"], 5)[0].shape == (1, 5)
    with pytest.raises(ValueError, match="a sentence of 2 words needs a width of 3, not 2"):
        WORDS.encode(["jump left"], 2)


def test_an_unknown_word_is_named_with_its_nearest():
    with pytest.raises(ValueError, match="lacks 'jmp'; its nearest is 'jump'"):
        WORDS.encode(["jump", "jmp left"])
