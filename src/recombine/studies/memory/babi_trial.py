"""Questions about stories: tasks of bAbI, learned together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine import data, learning, probes, tasks
from recombine._ranges import Count, Whole
from recombine.lab import Recorder, check_intervals
from recombine.models import specs

from .bitmap_trial import BitmapConfig, optimizer_of

SOLVED = 0.05
"""The error up to which a task is solved."""


@dataclass(frozen=True)
class Config(BitmapConfig):
    """Settings of the study of bAbI."""

    model: specs.AbstractTransducerSpec = specs.MemorySpec(heads=2)
    """The network that reads embeddings of words."""
    tasks: tuple[int, ...] = (1, 6, 11, 15)
    """The tasks that are learned together, by their numbers."""
    data: Literal["told", "babi"] = "told"
    """Stories that are told, or those of the official files."""
    stories: Count = 1000
    """Stories that are told per task, for training."""
    tested: Count = 200
    """Stories that are told per task, for the test."""
    questions: Count | None = 2
    """Questions after which a story that is told ends; none: where it ends by itself."""
    longest: Count = 30
    """Lines of the longest story that is told."""
    think_steps: Whole = 3
    """Steps between a question and its answer, T."""
    embedding: Count = 32
    """Numbers that stand for a word, E."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_intervals(self.steps, every=self.every)
        if not self.tasks or not set(self.tasks) <= set(range(1, 21)):
            raise ValueError(f"tasks={self.tasks} are not numbers from 1 to 20")


def stories_of(config: Config, seed: int) -> tuple[list["tasks.Story"], list["tasks.Story"]]:
    """Stories to learn from, and others."""
    if config.data == "babi":
        return tuple(  # type: ignore[return-value]
            [
                story
                for task in config.tasks
                for story in tasks.parse_stories(
                    texts[task], task=task, name=f"task {task}, {part}"
                )
            ]
            for part, texts in ((p, data.babi_texts(p)) for p in ("train", "test"))
        )

    def told(count: int, seed: int) -> list["tasks.Story"]:
        return [
            story
            for task in config.tasks
            for story in tasks.babi_stories(
                task, count, seed=seed, questions=config.questions, longest=config.longest
            )
        ]

    return told(config.stories, 2 * seed), told(config.tested, 2 * seed + 1)


def batches_of(stories: Sequence["tasks.Story"], vocabulary: Any, config: Config) -> Any:
    """Sets of stories of like lengths, of which every batch has one."""
    import jax
    import jax.numpy as jnp

    ordered = sorted(stories, key=lambda story: (len(story.lines), story.task))
    parts = np.array_split(np.arange(len(ordered)), min(4, max(1, len(ordered) // 64)))
    sets = []
    for part in parts:
        chosen = [ordered[place] for place in part]
        encoded = tasks.encode_stories(chosen, vocabulary, think_steps=config.think_steps)
        sets.append(jax.tree.map(jnp.asarray, encoded))
    return learning.Mixture.of_sets(sets, config.batch_size)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn tasks together, and report the error of each."""
    import equinox as eqx
    import jax

    of_stories, of_embedding, of_model, of_batches = jax.random.split(key, 4)
    seed = int(jax.random.randint(of_stories, (), 0, 2**30))
    train, test = stories_of(config, seed)
    vocabulary = tasks.StoryVocabulary.of(train + test)

    @eqx.filter_jit
    def build():
        from recombine import models

        table = jax.random.normal(of_embedding, (len(vocabulary), config.embedding))
        sizes = specs.TransducerSizes(config.embedding, len(vocabulary))
        network = config.model.build(sizes, of_model)
        return models.TokenTransducer(models.Embedding(table), network)

    rule = learning.Descent(
        learning.story_loss, batches_of(train, vocabulary, config), optimizer_of(config),
        key=of_batches, every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, rule.init(build()), config.steps)
    recorder.curve("loss", curves["step"], curves["loss"])
    recorder.metric("final_loss", curves["loss"][-1])
    encoded = tasks.encode_stories(test, vocabulary, think_steps=config.think_steps)
    found = probes.story_errors(state.model, encoded)
    recorder.curve("by_task", found.tasks, found.error)
    recorder.metric("error", found.mean)
    recorder.metric("solved", found.solved(SOLVED))
    for task, error in zip(found.tasks, found.error, strict=True):
        recorder.metric(f"error_{task}", error)
