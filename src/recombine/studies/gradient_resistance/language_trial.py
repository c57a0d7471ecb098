"""The trial of the language study: train on SCAN in one setting, and test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine import learning, models, probes, tasks
from recombine.lab import Count, Positive, Recorder, Share, Whole, check_intervals

Setting = Literal["A", "A-dedup", "B-masked", "B-uniform"]
Sizes = tuple[tuple[str, int], ...]
"""The parts that are evaluated, in their order, and how many lines each has."""
ONE_WORD = 2
"""The length of a one-word command, with its end token."""


@dataclass(frozen=True)
class Config:
    """Settings of the study of commands."""

    setting: Setting = "A"
    """A: `jump` is trained alone, as a tenth of the lines; A-dedup: once; B-masked: every `jump` is
    replaced by another verb; B-uniform: tested commands are trained too, every command once."""
    steps: Count = 50
    """Updates."""
    every: Count = 5
    """Updates between two evaluations."""
    batch: Count = 256
    """Lines per update, drawn with replacement."""
    learning_rate: Positive = 0.01
    """Initial learning rate of Adam."""
    decay: Share = 0.96
    """Factor of each decay of the learning rate."""
    decay_every: Count = 100
    """Updates between two decays of the learning rate."""
    clip: Positive = 1.0
    """Norm to which gradients are clipped."""
    evaluated: Count = 500
    """Number of training and of test lines on which accuracy is measured, drawn once."""
    held_out: Whole = 500
    """Number of commands without `jump` held out as an IID test; 0: none."""
    embedding: Count = 32
    """Width of the word embeddings."""
    units: Count = 64
    """Units of the decoder; the encoder has half of them in each direction."""
    output_embedding: Count = 8
    """Width of the action embeddings."""
    swapped_start: bool = False
    """Whether the decoder's initial hidden and cell states are swapped, as in the published
    code."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)


def split_of(config: Config, key) -> tasks.ScanSplit:
    """The lines of a setting. With the same key, all settings hold out the same commands."""
    import jax

    hold_out_key, mask_key = jax.random.split(key)
    split = tasks.add_primitive_split("jump")
    if config.held_out:
        split = split.hold_out(config.held_out, key=hold_out_key)
    if config.setting == "A-dedup":
        return split.deduplicated()
    if config.setting == "B-masked":
        return split.masked("jump", key=mask_key)
    return split.united() if config.setting == "B-uniform" else split


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network on the lines of a setting; measure its accuracy on others."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    weight_key, split_key, batch_key, train_key, test_key = jax.random.split(key, 5)
    task = tasks.Scan(split_of(config, split_key))
    tests = eqx.filter_jit(evaluated)(config.evaluated, task, train_key, test_key)
    if config.held_out:
        tests["iid"] = task.lines("iid")
    # One batch, so that one program evaluates all parts.
    sizes = tuple((part, len(batch.inputs)) for part, batch in tests.items())
    together = tasks.SequenceBatch(
        *(jnp.asarray(np.concatenate(columns)) for columns in zip(*tests.values(), strict=True))
    )

    network = eqx.filter_jit(models.Seq2Seq)(
        len(tasks.SCAN_WORDS),
        len(tasks.SCAN_ACTIONS),
        embedding=config.embedding,
        units=config.units,
        output_embedding=config.output_embedding,
        swapped_start=config.swapped_start,
        key=weight_key,
    )
    rate = learning.Staircase(config.learning_rate, config.decay, config.decay_every)
    rule = learning.Descent(
        learning.teacher_forcing_loss,
        learning.Sampled(task, config.batch),
        learning.chain(learning.clip(config.clip), learning.adam(rate)),
        key=batch_key,
        measure=jax.tree_util.Partial(forced, together),
        every=config.every,
    )
    state, seen = recorder.train(rule, eqx.filter_jit(rule.init)(network), config.steps)

    right = by_part(seen["right"].T, sizes)
    accuracy = {part: matches.mean(axis=0) for part, matches in right.items()}
    one_word = np.asarray(tests["train"].input_lengths) == ONE_WORD
    accuracy["one_word"] = (right["train"] & one_word[:, None]).mean(axis=0)
    accuracy["gap"] = accuracy["train"] - accuracy["test"]
    for name, values in accuracy.items():
        recorder.curve(name, seen["step"], values)
        recorder.metric(name, values[-1])
    recorder.curve("loss", seen["step"], seen["loss"])
    recorder.metric("mean_gap", accuracy["gap"].mean())
    for name, value in eqx.filter_jit(decoded)(state.model, together, sizes).items():
        recorder.metric(name, value)


def forced(batch: tasks.SequenceBatch, model: models.Seq2Seq):
    """The loss under teacher forcing, and which sentences are right as a whole."""
    logits, (outputs, lengths) = model(*batch), (batch.outputs, batch.output_lengths)
    return {
        "loss": learning.teacher_forcing_loss(model, batch),
        "right": probes.sentence_matches(logits.argmax(axis=2), outputs, lengths),
    }


def evaluated(size: int, task: tasks.Scan, train_key, test_key) -> dict[str, tasks.SequenceBatch]:
    """Training and test lines to be evaluated on."""
    return {
        "train": task.sample(size, "train", key=train_key),
        "test": task.sample(size, "test", key=test_key),
    }


def by_part(rows, sizes: Sizes) -> dict[str, Any]:
    """Concatenated rows, split into their parts."""
    ends = np.cumsum([size for _, size in sizes])
    return {part: rows[end - size : end] for (part, size), end in zip(sizes, ends, strict=True)}


def decoded(model: models.Seq2Seq, batch: tasks.SequenceBatch, sizes: Sizes):
    """Report word accuracies of both decodings, and the sentences on which they differ."""
    ways = {
        "forced": model(*batch).argmax(axis=2),
        "greedy": model.greedy(batch.inputs, batch.input_lengths, batch.outputs.shape[1]),
    }
    outputs, lengths = batch.outputs, batch.output_lengths
    forced, greedy = (probes.sentence_matches(way, outputs, lengths) for way in ways.values())
    found = {"decoded_differently": (forced != greedy).sum()}
    for name, symbols in ways.items():
        columns = [by_part(rows, sizes) for rows in (symbols, outputs, lengths)]
        for part, _ in sizes:
            parts = (column[part] for column in columns)
            found[f"{part}_words_{name}"] = probes.word_accuracy(*parts)
    return found
