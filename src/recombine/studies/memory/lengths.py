"""One step past the thesis: copies that are longer, and more of them, than any in training."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine import probes, tasks
from recombine._ranges import Count
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    figures,
    mean,
    paired,
)
from recombine.models import specs

from . import DOCUMENT
from .bitmap_results import LOSS
from .bitmap_trial import BitmapConfig, learn
from .variants import VARIANTS, networks_in, variant

SMALL_ENCODER: dict[str, Any] = {
    "model.encoder.width": 32, "model.encoder.hidden": 64, "model.encoder.heads": 4,
    "model.encoder.layers": 8, "model.encoder.dropout": 0.1, "learning_rate": 1e-3,
}  # fmt: skip


@dataclass(frozen=True)
class Config(BitmapConfig):
    """Settings of the study of lengths."""

    bits: Count = 4
    """Bits of a row."""
    rows: tuple[Count, Count] = (1, 3)
    """The fewest and the most rows of a block in training."""
    repeats: tuple[Count, Count] = (1, 3)
    """The fewest and the most blocks of a sequence in training."""
    longer_rows: Count = 8
    """Rows of the longest blocks in tests, in sequences of one block."""
    longer_repeats: Count = 8
    """Blocks of the longest sequences in tests, of as many rows as the longest in training."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, most in (("rows", self.rows[1]), ("repeats", self.repeats[1])):
            if getattr(self, f"longer_{name}") <= most:
                raise ValueError(f"longer_{name} is not more than the {most} of training")


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn short copies; be tested on every length up to the longest."""
    import equinox as eqx
    import jax

    task = tasks.Copy(config.bits, config.rows, config.repeats)
    learned = learn(config, task, key, recorder)
    of_rows, of_repeats = jax.random.split(learned.key)
    most_rows, most_repeats = config.rows[1], config.repeats[1]

    @eqx.filter_jit
    def errors(model, batch):
        found = probes.bitmap_errors(model, batch)
        return found.bits, found.whole

    def range_of(name, cases, longest, key):
        """Errors of all lengths, whose sequences are filled up alike."""
        wrong, whole = [], []
        for case, of_case in zip(cases, jax.random.split(key, len(cases)), strict=True):
            batch = case.sample(config.evaluated, key=of_case)
            batch = jax.tree.map(lambda x, n=longest: filled(x, n), batch)
            one, all_right = errors(learned.model, batch)
            wrong.append(float(one))
            whole.append(float(all_right))
        lengths = np.arange(1, len(cases) + 1)
        recorder.curve(f"bits_by_{name}", lengths, wrong)
        recorder.curve(f"whole_by_{name}", lengths, whole)
        return np.array(wrong)

    blocks = [tasks.Copy(config.bits, (n, n), (1, 1)) for n in range(1, config.longer_rows + 1)]
    by_rows = range_of("rows", blocks, blocks[-1].longest, of_rows)
    repeated = [
        tasks.Copy(config.bits, (most_rows, most_rows), (n, n))
        for n in range(1, config.longer_repeats + 1)
    ]
    by_repeats = range_of("repeats", repeated, repeated[-1].longest, of_repeats)
    recorder.metric("trained_bits", by_repeats[:most_repeats].mean())
    recorder.metric("more_repeats", by_repeats[most_repeats:].mean())
    recorder.metric("more_rows", by_rows[most_rows:].mean())


def filled(x, longest: int):
    """Rows of zeros up to a length; lengths stay."""
    import jax.numpy as jnp

    if x.ndim == 1:
        return x
    return jnp.pad(x, ((0, 0), (0, longest - x.shape[1]), *[(0, 0)] * (x.ndim - 2)))


def draw(results: Results, name: str):
    """Wrong bits by length."""
    figure = figures.panels("", x=name, y="wrong bits")
    for color, (network, condition) in enumerate(networks_in(results).items()):
        lengths, errors = results.curve(f"bits_by_{name}", **condition)
        figures.add_points(figure, lengths, list(errors.T), network, color=color)
    figures.add_level(figure, 0.5, "guessing")
    longest = results.values(name)[0][1]
    figures.add_level(figure, longest + 0.5, "longer than trained", axis="x")
    return figure


CONDITIONS = (
    *(variant(letters) for letters in VARIANTS),
    {"model": "lstm"},
    {"model": "encoder"},
)


SIZES: dict[type, dict[str, Any]] = {
    specs.MemorySpec: {"model.cells": 12, "model.word": 8, "model.controller.units": 32},
    specs.LSTMTransducerSpec: {"model.units": 64},
    specs.EncoderTransducerSpec: SMALL_ENCODER,
}
"""Sizes of the networks at preset laptop; a user's has its own."""
TINY: dict[type, dict[str, Any]] = {
    specs.EncoderTransducerSpec: {
        "model.encoder.width": 8, "model.encoder.hidden": 8, "model.encoder.heads": 2,
        "model.encoder.layers": 2,
    },
}  # fmt: skip


study = Study(
    name="memory/lengths",
    title="Which memories copy more, and longer, than in training?",
    source=Source(DOCUMENT, "past Section 2.4: lengths that were not trained"),
    question="Do networks that copy a few short blocks copy more of them, and longer ones?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(variant("MDS"), {"model": "lstm"}, {"model": "encoder"}),
            depends=lambda condition: TINY.get(type(condition["model"]), {}),
            settings={
                "bits": 2,
                "rows": (1, 2),
                "repeats": (1, 2),
                "longer_rows": 3,
                "longer_repeats": 3,
                "batch_size": 2,
                "steps": 4,
                "every": 2,
                "evaluated": 8,
            },
            cost="not measured",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=CONDITIONS,
            depends=lambda condition: SIZES.get(type(condition["model"]), {}),
            settings={"steps": 4000, "every": 100},
            cost="not measured yet",
        ),
        "paper": Preset(
            seeds=12,
            conditions=CONDITIONS,
            settings={
                "bits": 8,
                "rows": (2, 8),
                "repeats": (1, 4),
                "longer_rows": 14,
                "longer_repeats": 8,
                "steps": 50_000,
                "every": 500,
            },
            cost="not measured",
        ),
    },
    claims=(
        Claim(
            "memories-copy-more-often",
            "On more repeats than in training, a DNC with all fixes gets fewer bits wrong than an "
            "LSTM.",
            "past the thesis",
            paired("more_repeats", {"model": "lstm"}, variant("MDS")) > 0,
        ),
        Claim(
            "memories-copy-more-than-routers",
            "It gets fewer wrong than NDR, too.",
            "past the thesis",
            paired("more_repeats", {"model": "encoder"}, variant("MDS")) > 0,
        ),
        Claim(
            "sharp-links-copy-longer",
            "On longer blocks than in training, sharp links get fewer bits wrong than a DNC with "
            "emptied cells alone.",
            "past the thesis",
            paired("more_rows", variant("D"), variant("DS")) > 0,
        ),
        Claim(
            "memories-have-learned",
            "At the lengths of training, a DNC with all fixes gets at most {0:%} of bits wrong.",
            "past the thesis",
            mean("trained_bits", **variant("MDS")) <= 0.01,
        ),
    ),
    figures=(
        LOSS,
        Figure(
            "repeats",
            "More repeats than in training",
            "Wrong bits, by the number of blocks.",
            lambda results: draw(results, "repeats"),
        ),
        Figure(
            "rows",
            "Longer blocks than in training",
            "Wrong bits of one block, by its rows.",
            lambda results: draw(results, "rows"),
        ),
    ),
    notes="NDR sees whole sequences at a time, also what comes after a row; the others do not.",
)
