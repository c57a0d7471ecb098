"""Figure 2.2a: masks help a memory to recall what came after something half known."""

from dataclasses import dataclass

from recombine import tasks
from recombine._ranges import Count
from recombine.lab import Claim, Preset, Recorder, Source, Study, all_of, paired

from . import DOCUMENT
from .bitmap_results import ERRORS, LOSS
from .bitmap_trial import PUBLISHED, BitmapConfig, learn
from .variants import EVERY, SMOKE, final_losses, sizes, variant

WITHOUT_MASKS = ("", "D", "S", "DS")


@dataclass(frozen=True)
class Config(BitmapConfig):
    """Settings of the study of associative recall."""

    bits: Count = 8
    """Bits of a word, W."""
    words: Count = 3
    """Words of a block, W_b."""
    blocks: tuple[Count, Count] = (2, 4)
    """The fewest and the most blocks of a sequence, B."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn to recall blocks."""
    task = tasks.AssociativeRecall(config.bits, config.words, config.blocks)
    learn(config, task, key, recorder)


def with_mask(letters: str) -> str:
    """The same variant with masks."""
    return f"M{letters}"


study = Study(
    name="memory/recall",
    title="Masks help to recall what is only partly known",
    source=Source(DOCUMENT, "Figure 2.2a, Section 2.4, Appendix A.2"),
    question="Does a memory whose lookups mask what is not known learn associative recall faster?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(variant("MDS"),),
            settings=SMOKE
            | {
                "bits": 2,
                "words": 1,
                "blocks": (2, 2),
                "evaluated": 8,
            },
            cost="about 20 s of processor time",
        ),
        "laptop": Preset(
            seeds=6,
            conditions=tuple(variant(letters) for letters in ("", "M", "D", "MD", "MDS")),
            settings=sizes(16, 16, 48)
            | {
                "steps": 12_000,
                "every": 250,
            },
            cost="10 min on two cores",
        ),
        "paper": Preset(
            seeds=12,
            conditions=EVERY,
            settings=PUBLISHED
            | sizes(64, 32, 128)
            | {
                "blocks": (2, 16),
                "model.mask_min": 0.1,
                "steps": 100_000,
                "every": 1000,
            },
            cost="not measured",
        ),
    },
    claims=(
        Claim(
            "masks-lower-the-loss",
            "With masks the mean loss of training is lower, with and without emptied cells.",
            "Figure 2.2a",
            all_of(
                paired("mean_loss", variant(letters), variant(with_mask(letters))) > 0
                for letters in ("", "D")
            ),
            context=final_losses("", "M", "D", "MD", "MDS"),
        ),
        Claim(
            "masks-learn-sooner",
            "With masks half of the loss of guessing is reached in fewer updates.",
            "Figure 2.2a",
            all_of(
                paired("half_time", variant(letters), variant(with_mask(letters))) > 0
                for letters in ("", "D")
            ),
        ),
        Claim(
            "sharp-links-do-not-help",
            "On this task sharp links make the mean loss of training higher.",
            "Figure 2.2a",
            paired("mean_loss", variant("MDS"), variant("MD")) > 0,
        ),
    ),
    figures=(LOSS, ERRORS),
    notes="The thesis trains for a number of updates that it does not state.",
)
