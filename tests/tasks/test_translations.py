"""Sets of sentence pairs: tokens, vocabularies, buckets, and what is refused."""

import numpy as np
import pytest

from recombine import tasks

PAIRS = {
    "train": [("a b", "x"), ("b", "y y y"), ("a a a", "x y")],
    "test": [("b a", "y")],
}


def test_texts_are_words_and_single_punctuation_characters():
    words = ["x", "_", "1", ")", "AND", "roll", ".", "agent"]
    assert tasks.words_of("x _ 1 ) AND roll.agent") == words
    assert tasks.spaced("a.b ( c") == ["a.b", "(", "c"]
    assert tasks.characters_of("4 + 2") == ["4", " ", "+", " ", "2"]


def test_pairs_become_rows_that_end_with_zero():
    found = tasks.Translations.of(PAIRS, tasks.spaced)
    assert found.words.words == ("a", "b")
    assert found.symbols.words == ("x", "y")
    train = found.part("train")
    np.testing.assert_array_equal(train.inputs, [[1, 2, 0, 0], [2, 0, 0, 0], [1, 1, 1, 0]])
    np.testing.assert_array_equal(train.input_lengths, [3, 2, 4])
    np.testing.assert_array_equal(train.outputs, [[1, 0, 0, 0], [2, 2, 2, 0], [1, 2, 0, 0]])
    assert found.longest("train") == (3, 3)
    assert found.text("test", 0) == ("b a", "y")
    shared = tasks.Translations.of(PAIRS, tasks.spaced, shared=True)
    assert shared.words == shared.symbols
    assert shared.words.words == ("a", "b", "x", "y")


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"train": []}, "the part 'train' has no pairs"),
        ({"train": [("a", "x"), ("a", " ")]}, "pair 2 of the part 'train' has an empty output"),
        ({"train": [("", "x")]}, "pair 1 of the part 'train' has an empty input"),
    ],
)
def test_empty_sets_and_sentences_are_refused_in_one_line(pairs, message):
    with pytest.raises(ValueError, match=message) as error:
        tasks.Translations.of(pairs, tasks.spaced)
    assert "\n" not in str(error.value)


def test_an_unknown_word_of_a_test_set_is_named_with_its_line_and_the_nearest_word():
    words = tasks.Vocabulary(("jump", "walk"))
    pairs = {"train": [("walk", "W")], "test": [("walk", "W"), ("walk jupm", "W")]}
    line = "input 2 of the part 'test' has the unknown word 'jupm': its nearest is 'jump'"
    with pytest.raises(ValueError, match=line):
        tasks.Translations.of(pairs, tasks.spaced, words=words)


def test_unknown_parts_and_wrong_numbers_of_kinds_are_refused():
    found = tasks.Translations.of(PAIRS, tasks.spaced, kinds={"test": ["easy"]})
    assert found.kinds == {"test": ("easy",)}
    with pytest.raises(ValueError, match="no part 'dev', only train, test"):
        found.part("dev")
    with pytest.raises(ValueError, match="2 kinds of the 1 pairs of 'test'"):
        tasks.Translations.of(PAIRS, tasks.spaced, kinds={"test": ["easy", "hard"]})


def test_buckets_hold_every_pair_once_in_rows_as_short_as_they_can_be():
    pairs = tasks.trimmed(tasks.Scan(tasks.length_resplit(26)).lines("iid"))
    buckets = tasks.length_buckets(pairs, 3)
    assert len(buckets) == 3
    assert sum(len(one.inputs) for one in buckets) == len(pairs.inputs)
    ends = [int(one.output_lengths.max()) for one in buckets]
    assert ends == sorted(ends)
    for one, last in zip(buckets, ends, strict=True):
        assert one.outputs.shape[1] == last
        assert one.inputs.shape[1] == one.input_lengths.max()
    texts = lambda one: sorted(tasks.SCAN_WORDS.decode(one.inputs))  # noqa: E731
    assert sorted(t for one in buckets for t in texts(one)) == texts(pairs)


def test_some_pairs_at_equal_distances_and_sets_joined():
    pairs = tasks.Translations.of(PAIRS, tasks.spaced).part("train")
    some = tasks.first_pairs(pairs, 2)
    np.testing.assert_array_equal(some.input_lengths, [3, 4])
    both = tasks.joined_pairs(tasks.first_pairs(pairs, 1), some)
    np.testing.assert_array_equal(both.input_lengths, [3, 3, 4])
    np.testing.assert_array_equal(both.inputs[0], [1, 2, 0, 0])
