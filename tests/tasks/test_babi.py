"""Stories of bAbI: an interpreter of their words gives the same answers."""

import numpy as np
import pytest
from babi_interpreter import answers

from recombine import tasks
from recombine.tasks import Line, Story

STORIES = 60


@pytest.mark.parametrize("task", tasks.BABI_TASKS)
def test_an_interpreter_of_the_words_gives_the_same_answers(task):
    for story in tasks.babi_stories(task, STORIES, seed=0):
        expected = [line.answer for line in story.lines if line.answer]
        assert answers(story.lines) == expected
        assert story.task == task
        assert story.questions
        for number, line in enumerate(story.lines, 1):
            assert all(1 <= support < number for support in line.support)
            assert all(not story.lines[support - 1].answer for support in line.support)
            assert bool(line.support) == bool(line.answer)


@pytest.mark.parametrize("task", [1, 2, 5, 6, 7, 8, 9, 10, 12, 15, 19])
def test_what_supports_an_answer_is_enough(task):
    """The question has the same answer if nothing but its support has been told."""
    for story in tasks.babi_stories(task, 20, seed=1):
        for line in story.lines:
            if line.answer:
                told = [story.lines[support - 1] for support in line.support]
                assert answers([*told, line]) == [line.answer]


def test_answers_are_not_always_the_same():
    for task in tasks.BABI_TASKS:
        stories = tasks.babi_stories(task, 100, seed=2)
        given = [line.answer for story in stories for line in story.lines if line.answer]
        most = max(map(given.count, set(given))) / len(given)
        assert most < (0.72 if task in (9, 17) else 0.6), task


def test_three_facts_support_an_answer_of_task_three():
    for story in tasks.babi_stories(3, 20, seed=0):
        assert all(len(line.support) == 3 for line in story.lines if line.answer)


def test_stories_are_those_of_their_seed_and_may_be_cut():
    one = tasks.babi_stories(1, 5, seed=3)
    assert one == tasks.babi_stories(1, 5, seed=3)
    assert one != tasks.babi_stories(1, 5, seed=4)
    short = tasks.babi_stories(1, 5, seed=3, questions=2)
    assert [story.lines for story in short] == [story.lines[:6] for story in one]
    assert all(
        len(s.lines) <= 12 for s in tasks.babi_stories(2, 20, seed=0, questions=1, longest=12)
    )
    with pytest.raises(ValueError, match="task=21 is not one of the 20"):
        tasks.babi_stories(21, 1, seed=0)


TEXT = """1 Mary moved to the bathroom.
2 Where is Mary? \tbathroom\t1
1 John got the milk and the apple.
2 What is John holding?\tmilk,apple\t1
"""


def test_the_official_format_is_read_and_written():
    first, second = tasks.parse_stories(TEXT, task=8)
    assert first.lines[1] == Line("Where is Mary?", ("bathroom",), (1,))
    assert second.lines[1].answer == ("milk", "apple")
    for task in tasks.BABI_TASKS:
        stories = tasks.babi_stories(task, 20, seed=0)
        assert tasks.parse_stories("".join(s.write() for s in stories), task=task) == stories


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Mary moved.", "line 1 of x is no number, blank and sentence"),
        ("1 Mary moved.\n3 John moved.", "line 2 of x is numbered 3; it should be 2"),
        ("1 Mary moved.\n2 Where is Mary?\tbathroom", "line 2 of x has 1 tabs"),
        ("1 Mary moved.\n2 Where is Mary?\t\t1", "line 2 of x is a question without an answer"),
        ("1 A.\n2 Where?\tb\tone", "line 2 of x: supporting lines are numbers"),
        ("1 A.\n2 Where?\tb\t7", "line 2 of x: lines before it support it"),
    ],
)
def test_a_line_of_another_format_is_named(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        tasks.parse_stories(text, name="x")


def test_stories_as_tokens_wait_for_their_answers():
    stories = tasks.parse_stories(TEXT, task=8)
    vocabulary = tasks.StoryVocabulary.of(stories)
    assert vocabulary.words[:6] == ["-", "?", "<unk>", "mary", "moved", "to"]
    batch = tasks.encode_stories(stories, vocabulary, think_steps=3)
    words = [vocabulary.words[token] for token in batch.tokens[0, :14]]
    assert " ".join(words) == "mary moved to the bathroom . where is mary ? - - - -"
    assert batch.lengths[0] == 14
    assert list(np.flatnonzero(batch.answers[0])) == [13]
    assert vocabulary.words[batch.answers[0, 13]] == "bathroom"
    two = [vocabulary.words[token] for token in batch.answers[1][batch.answers[1] > 0]]
    assert two == ["milk", "apple"]
    assert (batch.tasks == 8).all()
    with pytest.raises(ValueError, match="does not fit into 5"):
        tasks.encode_stories(stories, vocabulary, time=5)


def test_words_that_are_not_known_are_one_token():
    vocabulary = tasks.StoryVocabulary.of([Story((Line("Mary moved."),))])
    assert vocabulary.number("nobody") == 2
    other = tasks.encode_stories([Story((Line("Mary x9 moved"),))], vocabulary)
    assert list(other.tokens[0]) == [3, 2, 4]
