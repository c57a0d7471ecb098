"""Table C.6: which transformers suffer from small batches?"""

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    mean,
    per_seed,
)

from . import DOCUMENT
from .log_results import (
    CFQ,
    CFQ_SEPARATE,
    CFQ_SHARED,
    MINI_SCAN,
    PAIRS,
    SMALL,
    SMOKE,
    VARIANTS,
    beside,
    chosen,
)
from .training import Config, trial

BIG, SMALL_BATCH = 64, 16
"""Pairs per update at preset laptop."""
PAPER_SMALL = 512


def as_published(condition):
    """Tables C.1 and C.6: big batches have Noam's schedule, small ones a low constant rate."""
    shared = condition["model"].shared_layers
    found = CFQ | (CFQ_SHARED if shared else CFQ_SEPARATE)
    small = condition["batch_size"] == PAPER_SMALL
    if small:
        found |= {"schedule": "constant", "learning_rate": 1e-4}
        del found["schedule.warmup_steps"]
    return {name: v for name, v in found.items() if name not in ("problem", "batch_size")}


def ratio(model: str):
    """Accuracy with the smallest batches over that with the largest."""

    def read(results: Results):
        sizes = results.values("batch_size")
        small, big = (results.metric("ood", batch_size=size) for size in (sizes[0], sizes[-1]))
        return small / big

    return per_seed(read, "accuracy of small batches / of big ones", model=model)


def draw_sizes(results: Results):
    """Accuracy on new combinations by batch size."""
    figure = figures.panels("familiar", "new", x="batch size", y="accuracy", shared_y=True)
    for color, model in enumerate(chosen(results, "model", VARIANTS)):
        sizes = results.where(model=model).values("batch_size")
        for panel, metric in enumerate(("iid", "ood")):
            values = [results.metric(metric, model=model, batch_size=size) for size in sizes]
            title = VARIANTS.get(model, model)
            figures.add_points(figure, sizes, values, title, color=color, panel=panel)
    return figure


PAPER_BIG = {"transformer": 4096, "relative": 4096, "universal": 2048, "relative-universal": 2048}
PAPER_CONDITIONS = tuple(
    {"problem": "cfq-mcd1", "model": model, "batch_size": size}
    for model, big in PAPER_BIG.items()
    for size in (big, PAPER_SMALL)
)

study = Study(
    name="transformer-details/batch-size",
    title="Relative positions suffer less from small batches",
    source=Source(DOCUMENT, "Table C.6"),
    question="How much accuracy on new combinations is left if batches are small?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(model=("universal",), batch_size=(4, 2)), settings=SMOKE,
            cost="15 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(
                problem=(MINI_SCAN,), model=tuple(VARIANTS), batch_size=(BIG, SMALL_BATCH)
            ),
            settings=SMALL,
            cost="about 5 min on two cores beyond that of scan-length; not yet measured",
        ),
        "paper": Preset(
            seeds=5,
            conditions=PAPER_CONDITIONS,
            depends=as_published,
            cost="weeks per network on two cores",
        ),
    },
    claims=(
        Claim(
            "relative-robust",
            "Relative positions keep a larger share of their accuracy on new combinations than "
            "absolute ones do, with shared layers and with separate ones.",
            "Table C.6",
            all_of(mean(ratio(relative) - ratio(absolute)) > 0 for absolute, relative in PAIRS),
        ),
    ),
    figures=(
        Figure(
            "sizes",
            "Accuracy by batch size",
            "Table C.6: all seeds, their mean and its 95 % interval.",
            draw_sizes,
        ),
    ),
    beside=tuple(
        beside(
            "table-C.6", "CFQ MCD 1", model, row="Transformer" if model == "transformer" else "",
            setting=setting, metric="test accuracy", where={"batch_size": size},
        )
        for model, big in PAPER_BIG.items()
        for setting, size in (
            ("big batch", big),
            ("small batch (512, lr 1e-4 constant in the official code)", PAPER_SMALL),
        )
    ),
    notes="Steps are as many with small batches as with big ones, so that a network sees fewer "
    "pairs. Of CFQ, on which the paper does this, only the split MCD1 can be had.",
)  # fmt: skip
