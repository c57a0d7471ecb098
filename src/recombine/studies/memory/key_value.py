"""Figure 2.2b: the mask of a memory follows which half of a word is known."""

from dataclasses import dataclass

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
    all_of,
    figures,
    mean,
    paired,
)

from . import DOCUMENT
from .bitmap_results import ERRORS, LOSS
from .bitmap_trial import PUBLISHED, BitmapConfig, learn
from .variants import EVERY, SMOKE, sizes, variant

APART = 0.2
"""How much the masks of both phases differ, in the mean over the numbers of a word."""


@dataclass(frozen=True)
class Config(BitmapConfig):
    """Settings of the study of key-value retrieval."""

    bits: Count = 3
    """Bits of half a word, W."""
    words: tuple[Count, Count] = (2, 5)
    """The fewest and the most words of a sequence, L."""
    two_way: bool = True
    """Whether the first half is asked for as well."""
    distinct_values: bool = False
    """Whether second halves differ, too."""


def task_of(config: Config, words: tuple[int, int]) -> "tasks.KeyValue":
    return tasks.KeyValue(config.bits, words, config.two_way, config.distinct_values)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn to retrieve; then look at what lookups compare in every phase."""
    import equinox as eqx
    import jax

    learned = learn(config, task_of(config, config.words), key, recorder)
    dnc = getattr(learned.model, "dnc", None)
    if dnc is None or not dnc.masks:
        return
    of_phases, of_picture = jax.random.split(learned.key)
    task = task_of(config, (config.words[1], config.words[1]))
    batch = task.sample(config.evaluated, key=of_phases)
    masks = eqx.filter_jit(dnc.trace)(2 * batch.inputs - 1).asked.read_masks
    by_phase = np.asarray(probes.by_phase(masks, batch.phases))[:, 0]
    recorder.array("masks", by_phase)
    read, reverse = by_phase[3], by_phase[4]
    if config.two_way:
        recorder.metric("masks_apart", np.abs(read - reverse).mean())
        if np.std(read) * np.std(reverse) > 0:
            recorder.metric("masks_correlation", np.corrcoef(read, reverse)[0, 1])
    one = task.sample(1, key=of_picture)
    shown = eqx.filter_jit(dnc.trace)(2 * one.inputs - 1).asked.read_masks
    recorder.array("mask", np.asarray(shown)[0, :, 0])


def draw_mask(results: Results):
    """The read mask over time."""
    masks = results.array("mask", **variant("M"))[0]
    return figures.heatmaps(
        [masks], ["DNC-M, first seed"], x="number of a word", y="row",
        across=np.arange(masks.shape[1]), along=np.arange(len(masks)), stretched=True,
    )  # fmt: skip


def draw_phases(results: Results):
    """The mean mask of both phases."""
    figure = figures.panels("", x="number of a word", y="mean of the read mask")
    masks = results.array("masks", **variant("M"))
    names = {3: "first half is shown", 4: "second half is shown"}
    for color, (phase, name) in enumerate(names.items()):
        figures.add_seeds(figure, np.arange(masks.shape[2]), masks[:, phase], name, color=color)
    return figure


study = Study(
    name="memory/key-value",
    title="A mask follows which half of a word is known",
    source=Source(DOCUMENT, "Figure 2.2b, Section 2.4, Appendix A.2"),
    question="Does the mask of lookups change when the other half of words is shown?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(variant("M"),),
            settings=SMOKE
            | {
                "bits": 2,
                "words": (1, 2),
                "evaluated": 8,
            },
            cost="not measured",
        ),
        "laptop": Preset(
            seeds=6,
            conditions=(variant(), variant("M")),
            settings=sizes(8, 12, 32)
            | {
                "distinct_values": True,
                "model.mask_min": 0.0,
                "steps": 60_000,
                "every": 1000,
            },
            cost="8 min on two cores",
        ),
        "paper": Preset(
            seeds=12,
            conditions=EVERY,
            settings=PUBLISHED
            | sizes(16, 32, 32)
            | {
                "bits": 8,
                "words": (2, 16),
                "model.mask_min": 0.0,
                "steps": 100_000,
                "every": 1000,
            },
            cost="not measured",
        ),
    },
    claims=(
        Claim(
            "masks-differ-between-phases",
            "The mean read mask of one phase differs from that of the other by more than {0} per "
            "number.",
            "Figure 2.2b",
            mean("masks_apart", **variant("M")) > APART,
        ),
        Claim(
            "masks-are-not-alike",
            "Both are correlated by less than {0}.",
            "Figure 2.2b",
            mean("masks_correlation", **variant("M")) < 0.5,
        ),
        Claim(
            "masks-lower-the-loss",
            "With masks the final loss is lower.",
            "Section 2.4",
            all_of(paired("final_loss", variant(), variant("M")) > 0),
        ),
    ),
    figures=(
        LOSS,
        ERRORS,
        Figure(
            "mask",
            "The read mask over time",
            "Figure 2.2b: a sequence of as many words as there may be. Words are stored, then "
            "first halves are shown, then second ones; a row that marks stands after each.",
            draw_mask,
        ),
        Figure(
            "phases",
            "The mean mask of both phases",
            "All seeds and their mean.",
            draw_phases,
        ),
    ),
)
