"""The 20 tasks of bAbI, generated."""

from collections.abc import Callable, Mapping
from random import Random

from . import _babi_facts as facts
from . import _babi_people as people
from ._stories import Line, Story

BABI_TASKS: Mapping[int, Callable[[Random], Story]] = {
    1: people.single_fact,
    2: people.two_facts,
    3: people.three_facts,
    4: facts.two_arguments,
    5: people.three_arguments,
    6: people.yes_no,
    7: people.counting,
    8: people.lists,
    9: people.negation,
    10: people.indefinite,
    11: people.coreference,
    12: people.conjunction,
    13: people.compound_coreference,
    14: people.time,
    15: facts.deduction,
    16: facts.induction,
    17: facts.positions,
    18: facts.sizes,
    19: facts.path_finding,
    20: facts.motivations,
}
"""What tells a story of every task, from a source of random numbers."""


def babi_stories(
    task: int, count: int, *, seed: int, questions: int | None = None, longest: int | None = None
) -> list[Story]:
    """Stories of a task, the same for the same seed.

    ```python
    babi_stories(1, 1, seed=0)[0].lines[2]  # Line("Where is ...?", ("garden",), (2,))
    ```

    **Arguments:**

    - `task`: its number, from 1 to 20.
    - `questions`: stories end after so many questions; by default where they end by themselves.
    - `longest`: stories of more lines are told anew.
    """
    if task not in BABI_TASKS:
        raise ValueError(f"task={task} is not one of the 20 of bAbI, 1 to 20")
    if count < 0:
        raise ValueError(f"count={count} is negative")
    tell, random = BABI_TASKS[task], Random(f"babi {task} {seed}")
    stories: list[Story] = []
    tries = 0
    while len(stories) < count:
        story = _cut(tell(random), questions)
        tries += 1
        if longest is None or len(story.lines) <= longest:
            stories.append(story)
        elif tries > 100 * (len(stories) + 10):
            raise ValueError(f"hardly a story of task {task} has {longest} lines or fewer")
    return stories


def _cut(story: Story, questions: int | None) -> Story:
    if questions is None:
        return story
    lines: list[Line] = []
    for line in story.lines:
        lines.append(line)
        questions -= bool(line.answer)
        if not questions:
            break
    return Story(tuple(lines), story.task)
