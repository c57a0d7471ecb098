"""Figures 2.3 and 2.4: memory that is used again and again, and links that do not blur."""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    mean,
    paired,
    per_seed,
)

from . import DOCUMENT
from .bitmap_results import ERRORS, LOSS, draw_by_part
from .bitmap_trial import PUBLISHED
from .copy_trial import Config, trial
from .variants import EVERY, SMOKE, final_losses, sizes, title, variant, variants_in


def growth(results: Results) -> np.ndarray:
    """Wrong bits of the later half of repeats minus those of the earlier half."""
    _, errors = results.curve("by_part")
    half = errors.shape[1] // 2
    return errors[:, half:].mean(axis=1) - errors[:, :half].mean(axis=1)


def draw_bitmaps(results: Results):
    """Inputs, targets and outputs of the first seed, variant by variant."""
    letters = variants_in(results)[0]
    runs = results.where(**variant(letters))
    names = ("input", "target", "output")
    return figures.heatmaps(
        [runs.array(name)[0] for name in names],
        [f"{name}, {title(letters)}" if name == "output" else name for name in names],
        x="row", y="bit", columns=1,
    )  # fmt: skip


def draw_traces(results: Results, name: str, titles: str):
    """An array of every variant, first seed: time upwards."""
    found = variants_in(results)
    arrays = [results.array(name, **variant(letters))[0] for letters in found]
    across = np.arange(arrays[0].shape[1])
    return figures.heatmaps(
        arrays, [title(letters) for letters in found], x=titles, y="row",
        across=across, along=np.arange(len(arrays[0])), stretched=True,
    )  # fmt: skip


study = Study(
    name="memory/copy",
    title="Emptied cells and sharp links make a memory that can be used again",
    source=Source(DOCUMENT, "Figures 2.3 and 2.4, Section 2.4, Appendix A.2"),
    question="Does a memory that must be used again and again learn faster if freed cells are "
    "emptied and links are sharp?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(variant("DS"),),
            settings=SMOKE
            | {
                "bits": 2,
                "rows": (1, 2),
                "repeats": (1, 2),
                "evaluated": 8,
            },
            cost="not measured",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=tuple(variant(letters) for letters in ("", "D", "DS", "MDS")),
            settings=sizes(6, 8, 32)
            | {
                "bits": 4,
                "rows": (5, 5),
                "repeats": (10, 10),
                "model.mask_min": 0.0,
                "steps": 6000,
                "every": 100,
            },
            cost="not measured yet",
        ),
        "paper": Preset(
            seeds=12,
            conditions=EVERY,
            settings=PUBLISHED
            | sizes(16, 16, 32)
            | {
                "model.mask_min": 0.0,
                "steps": 100_000,
                "every": 1000,
            },
            cost="not measured",
        ),
    },
    claims=(
        Claim(
            "fixes-learn-faster",
            "With emptied cells and sharp links the mean loss of training is lower than that of a "
            "DNC.",
            "Figure 2.3b",
            paired("mean_loss", variant(), variant("DS")) > 0,
            context=final_losses("", "D", "DS", "MDS"),
        ),
        Claim(
            "emptying-learns-faster",
            "With emptied cells alone it is lower, too.",
            "Figure 2.3b",
            paired("mean_loss", variant(), variant("D")) > 0,
        ),
        Claim(
            "fixes-reach-zero",
            "With both, hardly a bit is wrong at the end: at most {0:%}.",
            "Figure 2.3b",
            mean("test_bits", **variant("DS")) <= 0.01,
        ),
        Claim(
            "masks-add-little",
            "Masks change the final loss of that by less than {0} of the untrained loss.",
            "Figure 2.3b",
            mean(
                per_seed("final_loss", **variant("MDS"))
                / per_seed("untrained_loss", **variant("MDS"))
                - per_seed("final_loss", **variant("DS"))
                / per_seed("untrained_loss", **variant("DS")),
                "final loss over untrained loss, DNC-MDS minus DNC-DS",
            ).near(0, 0.05),
        ),
        Claim(
            "errors-grow-with-repeats",
            "A DNC gets more bits wrong in later repeats than in earlier ones.",
            "Figure 2.3a",
            mean(growth, "later minus earlier repeats, wrong bits", **variant()) > 0,
        ),
        Claim(
            "sharp-links-have-higher-peaks",
            "While an answer is due, the largest weight of forward distributions is at least {0} "
            "higher with sharp links.",
            "Figure 2.4a, b",
            paired("peak", variant("DS"), variant("D")) >= 0.1,
        ),
        Claim(
            "sharp-links-are-followed",
            "While an answer is due, heads follow forward links more than they look for content if "
            "links are sharp, and less if they are not.",
            "Figure 2.4c, d",
            all_of(
                mean(
                    per_seed("reads_forward", **variant("DS"))
                    - per_seed("reads_content", **variant("DS"))
                )
                > 0,
                mean(
                    per_seed("reads_content", **variant("D"))
                    - per_seed("reads_forward", **variant("D"))
                )
                > 0,
            ),
        ),
    ),
    figures=(
        LOSS,
        ERRORS,
        Figure(
            "by-repeat",
            "Errors by repeat",
            "Wrong bits of fresh sequences.",
            lambda results: draw_by_part(results, "repeat"),
        ),
        Figure(
            "bitmaps",
            "A long repeated copy",
            "Figure 2.3a: input, target and output of the first variant, first seed.",
            draw_bitmaps,
        ),
        Figure(
            "forward",
            "Forward distributions",
            "Figure 2.4a, b: three blocks; sharpened if links are. First seed.",
            lambda results: draw_traces(results, "forward", "cell"),
        ),
        Figure(
            "plain-forward",
            "Forward distributions before they are sharpened",
            "As the published code draws them. First seed.",
            lambda results: draw_traces(results, "plain_forward", "cell"),
        ),
        Figure(
            "modes",
            "How the head reads",
            "Figure 2.4c, d: backward along links, by content, forward. First seed.",
            lambda results: draw_traces(results, "modes", "backward, content, forward"),
        ),
    ),
    notes="The thesis prints the ranges of rows and repeats the other way round; its Figure 2.4 "
    "and its code have 2 to 14 rows and 1 to 8 repeats.",
)
