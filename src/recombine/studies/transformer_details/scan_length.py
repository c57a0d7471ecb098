"""Table 4.1: which transformers write outputs that are longer than those of training?"""

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    figures,
    for_all,
    grid,
    mean,
    paired,
    per_seed,
)

from . import DOCUMENT
from .log_results import MINI_SCAN, SMALL, SMOKE, VARIANTS, beside, chosen, draw_curves, published
from .problems import ScanSpec
from .training import Config, trial

CUTOFFS = (22, 24, 25, 26, 27, 28, 30, 32, 33, 36, 40)
ENOUGH = (MINI_SCAN.longest, 27, 28, 30, 32, 33, 36, 40)
"""Cutoffs from which on training has all parts of longer commands."""
UNIVERSAL = ("universal", "relative-universal")


def draw_lengths(results: Results):
    """Accuracy of every network at every cutoff, and of absolute ones that are told the length."""
    figure = figures.panels("", x="most actions of a trained command", y="accuracy, longer outputs")
    cutoffs = results.values("problem.longest")
    networks = chosen(results, "model", VARIANTS)
    for color, model in enumerate(networks):
        for metric, words in (("ood", ""), ("ood_told", ", told the length")):
            values = [
                results.metric(metric, model=model, **{"problem.longest": c}) for c in cutoffs
            ]
            name = f"{VARIANTS.get(model, model)}{words}"
            if not words or model in ("transformer", "universal"):
                shade = color if not words else color + len(networks)
                figures.add_points(figure, cutoffs, values, name, color=shade)
    return figure


study = Study(
    name="transformer-details/scan-length",
    title="Relative positions let a transformer write longer outputs than in training",
    source=Source(DOCUMENT, "Table 4.1, Section 4.2.1"),
    question="Do transformers fail on longer outputs because of positions, and do they know what "
    "to write but not when to end?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(model=UNIVERSAL), settings=SMOKE, cost="15 s on two cores"
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(problem=(MINI_SCAN,), model=tuple(VARIANTS)),
            settings=SMALL,
            cost="6 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(
                problem=tuple(ScanSpec(longest=cutoff) for cutoff in CUTOFFS),
                model=tuple(VARIANTS),
            ),
            depends=published,
            cost="5 to 7 hours per network on two cores, 220 networks",
        ),
    },
    claims=(
        Claim(
            "familiar-lengths",
            "Both universal transformers are right on at least {0:%} of outputs of familiar "
            "lengths.",
            "Section 4.2.1",
            for_all("model", lambda m: mean("iid", model=m) >= 0.98, among=UNIVERSAL),
        ),
        Claim(
            "relative-ahead",
            "On longer outputs the universal transformer with relative positions is ahead of that "
            "with absolute ones by at least {0:points}, at every cutoff from 27 on.",
            "Table 4.1",
            for_all(
                "problem.longest",
                lambda cutoff: (
                    paired(
                        "ood", "relative-universal", "universal", **{"problem.longest": cutoff}
                    )
                    >= 0.3
                ),
                among=ENOUGH,
            ),
        ),
        Claim(
            "told-the-length",
            "Told the true length, the universal transformer with absolute positions is right on "
            "at least {0:points} more of the longer outputs.",
            "Table 4.1",
            for_all(
                "problem.longest",
                lambda cutoff: (
                    mean(
                        per_seed("ood_told") - per_seed("ood"),
                        model="universal",
                        **{"problem.longest": cutoff},
                    )
                    >= 0.2
                ),
                among=ENOUGH,
            ),
            context={"right up to the shorter length": per_seed("ood_prefix", model="universal")},
        ),
    ),
    figures=(
        Figure(
            "lengths",
            "Accuracy on longer outputs",
            "Table 4.1: all seeds, their mean and its 95 % interval. A network that is told the "
            "length cannot end before it.",
            draw_lengths,
        ),
        Figure(
            "training",
            "Accuracy during training",
            "Mean and standard deviation over seeds.",
            lambda results: draw_curves(
                results, "model", VARIANTS, {"iid": "familiar lengths", "ood": "longer outputs"}
            ),
        ),
    ),
    beside=tuple(
        beside(
            "table-4.1", "SCAN length resplit", model, setting=f"cutoff={cutoff}",
            metric="exact match accuracy", where={"problem.longest": cutoff},
        )
        for cutoff in CUTOFFS
        for model in VARIANTS
    ),
    notes="Preset laptop has commands without `around` and `opposite`, trained on up to 8 actions "
    "and tested on 9 to 12, and networks half as wide. Numbers stand beside the paper's at preset "
    "paper. Table 4.1 has medians of five seeds; means are shown here.",
)  # fmt: skip
