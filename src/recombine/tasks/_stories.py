"""Stories with questions in them: the format of bAbI, and stories as tokens."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int

NO_INPUT, QUESTION_MARK, UNKNOWN = 0, 1, 2
THINK_STEPS = 3
"""Steps between a question and its answer, T."""


@dataclass(frozen=True)
class Line:
    """A sentence, or a question with its answer."""

    text: str
    answer: tuple[str, ...] = ()
    """The words of the answer; none for a sentence."""
    support: tuple[int, ...] = ()
    """Numbers of the lines, counted from 1, from which the answer follows."""


@dataclass(frozen=True)
class Story:
    """Lines in their order."""

    lines: tuple[Line, ...]
    task: int = 0
    """The number of the task, from 1 to 20; 0 if it is none of these."""

    @property
    def questions(self) -> int:
        """How many of the lines are questions."""
        return sum(bool(line.answer) for line in self.lines)

    def write(self) -> str:
        """The story as in the official files."""
        rows = []
        for number, line in enumerate(self.lines, 1):
            parts = [f"{number} {line.text}"]
            if line.answer:
                parts += [",".join(line.answer), " ".join(map(str, line.support))]
            rows.append("\t".join(parts) + "\n")
        return "".join(rows)


def parse_stories(text: str, *, task: int = 0, name: str = "text") -> list[Story]:
    """Stories in the official format: a new one begins where lines are numbered from 1 again.

    A line is a number and a sentence; or a number and a question, a tab, the answer with commas
    between its words, a tab, and the numbers of supporting lines.

    **Arguments:**

    - `name`: what the text is called in complaints.

    **Raises:** `ValueError` that names the first line that is not of this format.
    """
    stories: list[Story] = []
    lines: list[Line] = []
    for place, row in enumerate(text.splitlines(), 1):
        if not row.strip():
            continue
        number, lined = _parse_line(row, f"line {place} of {name}")
        if number == 1 and lines:
            stories.append(Story(tuple(lines), task))
            lines = []
        if number != len(lines) + 1:
            raise ValueError(
                f"line {place} of {name} is numbered {number}; it should be {len(lines) + 1}, "
                "or 1 for a new story"
            )
        if any(not 1 <= support < number for support in lined.support):
            raise ValueError(f"line {place} of {name}: lines before it support it, from 1 on")
        lines.append(lined)
    if lines:
        stories.append(Story(tuple(lines), task))
    return stories


def _parse_line(row: str, where: str) -> tuple[int, Line]:
    first, *others = row.split("\t")
    found = re.fullmatch(r"(\d{1,9}) (.*\S)\s*", first)
    if not found:
        raise ValueError(f"{where} is no number, blank and sentence: {row[:60]!r}")
    number, text = int(found[1]), found[2]
    if not others:
        return number, Line(text)
    if len(others) != 2:
        raise ValueError(
            f"{where} has {len(others)} tabs; a question has two, before and after its answer"
        )
    answer = tuple(word for word in others[0].strip().split(",") if word)
    if not answer:
        raise ValueError(f"{where} is a question without an answer")
    if not re.fullmatch(r"\s*(\d{1,9}\s*)*", others[1]):
        raise ValueError(f"{where}: supporting lines are numbers, not {others[1][:60]!r}")
    return number, Line(text, answer, tuple(map(int, others[1].split())))


def words_of(text: str) -> list[str]:
    """Lower-case words and marks; what is neither letters nor a mark is `<unk>`."""
    tokens = re.findall(r"[.?,]|[^\s.?,]+", text.lower())
    return [token if token in ".?," or token.isalpha() else "<unk>" for token in tokens]


@dataclass
class StoryVocabulary:
    """Words by number, in the order in which they appear: 0 is no input, 1 `?`, 2 `<unk>`."""

    words: list[str] = field(default_factory=lambda: ["-", "?", "<unk>"])

    def __post_init__(self) -> None:
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, stories: Iterable[Story]) -> "StoryVocabulary":
        """All words of stories and of their answers."""
        made = cls()
        for story in stories:
            for line in story.lines:
                for word in [*words_of(line.text), *line.answer]:
                    made.add(word)
        return made

    def add(self, word: str) -> int:
        """The number of a word, which is a new one if the word is."""
        if word not in self._numbers:
            self._numbers[word] = len(self.words)
            self.words.append(word)
        return self._numbers[word]

    def number(self, word: str) -> int:
        """The number of a word; that of `<unk>` if it is not known."""
        return self._numbers.get(word, UNKNOWN)


class StoryBatch(NamedTuple):
    """Stories as tokens, one row each.

    After every question there are steps without an input to think, and then as many as the answer
    has words: at these it is to be written.
    """

    tokens: Int[Array | np.ndarray, "size time"]
    answers: Int[Array | np.ndarray, "size time"]
    """The word that is due; 0 where none is."""
    lengths: Int[Array | np.ndarray, " size"]
    tasks: Int[Array | np.ndarray, " size"]
    """Numbers of the tasks."""


def encode_stories(
    stories: Sequence[Story], vocabulary: StoryVocabulary, *, think_steps: int = THINK_STEPS,
    time: int | None = None,
) -> StoryBatch:  # fmt: skip
    """Stories as rows of tokens, filled up with 0.

    **Arguments:**

    - `think_steps`: steps between a question and its answer, T.
    - `time`: the length of the rows; by default that of the longest story.
    """
    rows = [_encode(story, vocabulary, think_steps) for story in stories]
    lengths = np.array([len(tokens) for tokens, _ in rows], np.int32)
    longest = int(lengths.max(initial=1))
    time = longest if time is None else time
    if time < longest:
        raise ValueError(f"a story of {longest} tokens does not fit into {time}")
    both = np.zeros((2, len(rows), time), np.int32)
    for row, (tokens, answers) in enumerate(rows):
        both[0, row, : len(tokens)] = tokens
        both[1, row, : len(answers)] = answers
    return StoryBatch(
        both[0], both[1], lengths, np.array([story.task for story in stories], np.int32)
    )


def _encode(story: Story, vocabulary: StoryVocabulary, think_steps: int):
    tokens: list[int] = []
    answers: list[int] = []
    for line in story.lines:
        told = [vocabulary.number(word) for word in words_of(line.text)]
        asked = [vocabulary.number(word) for word in line.answer]
        pause = think_steps if asked else 0
        tokens += [*told, *[NO_INPUT] * (pause + len(asked))]
        answers += [*[0] * (len(told) + pause), *asked]
    return tokens, answers
