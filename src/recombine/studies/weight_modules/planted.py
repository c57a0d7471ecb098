"""Ground truth: are modules found that are known by construction?"""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    any_of,
    figures,
    grid,
    mean,
    per_seed,
)

from . import DOCUMENT
from .planted_trial import METHODS, Config, trial

KINDS = ("side-by-side", "copied-weights", "gated-linear", "hyperteacher")
FOUND = 0.9
OWN, OTHERS = 0.95, 0.5
TITLES = {
    "masks": "learned masks", "magnitude": "largest weights", "saliency": "largest gradients",
    "random": "at random",
}  # fmt: skip


def present(results: Results) -> list[str]:
    """The kinds that have been run."""
    found = results.values("kind")
    if not found:
        raise Missing("no kind of network has been run")
    return [kind for kind in KINDS if kind in found]


def draw_overlap(results: Results):
    """One row per kind and one column per method: the table of the study."""
    kinds = present(results)
    if len(kinds) < 2:
        raise Missing("a table needs two kinds of networks or more")
    table = [
        [results.metric(f"{method}_iou", kind=kind).mean() for method in METHODS] for kind in kinds
    ]
    return figures.heatmaps(
        [np.array(table)], ["intersection over union"], across=[TITLES[m] for m in METHODS],
        along=kinds,
    )  # fmt: skip


def draw_seeds(results: Results):
    kinds = present(results)
    figure = figures.panels("", x="", y="intersection over union")
    for color, method in enumerate(METHODS):
        values = [results.metric(f"{method}_iou", kind=kind) for kind in kinds]
        figures.add_points(figure, kinds, values, TITLES[method], color=color, line=False)
    figures.add_level(figure, FOUND, "bound of the claim")
    return figure


def draw_effect(results: Results):
    """What is left of every module under every mask."""
    kinds = present(results)
    found = []
    for kind in kinds:
        runs = results.where(kind=kind)
        effects = runs.array("masks_explained")
        if effects.ndim != 3:
            raise Missing("trials with different numbers of modules")
        found.append(effects.mean(axis=0))
    return figures.heatmaps(found, kinds, x="measured on module", y="mask of module")


study = Study(
    name="weight-modules/planted",
    title="Modules that are known by construction are found",
    source=Source(DOCUMENT, "Section 3.1, on networks whose modules are known"),
    question="Does a learned mask find the weights that are known to compute a function, and does "
    "it find them better than the size of weights or their gradients?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(kind=("gated-linear",)),
            settings={
                "modules": 2,
                "size": 3,
                "width": 3,
                "steps": 80,
                "rate": 0.1,
                "evaluated": 16,
                "batch_size": 16,
                "samples": 2,
            },
            cost="seconds",
        ),
        "laptop": Preset(seeds=3, conditions=grid(kind=KINDS), cost="5 min of worker time"),
        "paper": Preset(
            seeds=10,
            conditions=grid(kind=KINDS),
            settings={"modules": 4, "size": 16, "width": 32, "steps": 20_000, "rate": 0.01},
            cost="not measured; the paper has no such networks",
        ),
    },
    claims=(
        Claim(
            "planted-modules-are-found",
            "Of at least one kind, planted modules and learned masks have an intersection over "
            "union of {0} or more.",
            "Section 3.1",
            any_of(*(mean("masks_iou", kind=kind) >= FOUND for kind in KINDS)),
            context={kind: per_seed("masks_iou", kind=kind) for kind in KINDS},
        ),
        Claim(
            "all-kinds-are-found",
            "So it is of all kinds.",
            "Section 3.1",
            all_of(mean("masks_iou", kind=kind) >= FOUND for kind in KINDS),
        ),
        Claim(
            "masks-ahead-of-magnitude",
            "Of all kinds, learned masks are ahead of the largest weights by at least {0} in "
            "intersection over union.",
            "Section 3.1",
            all_of(
                mean(per_seed("masks_iou", kind=kind) - per_seed("magnitude_iou", kind=kind)) >= 0.2
                for kind in KINDS
            ),
        ),
        Claim(
            "masks-do-their-function",
            "Under its mask a module explains at least {0:%} of the variance of its outputs, and "
            "the others at most {1:%} of theirs.",
            "Section 3.1",
            all_of(
                statement
                for kind in KINDS
                for statement in (
                    mean("masks_own", kind=kind) >= OWN,
                    mean("masks_others", kind=kind) <= OTHERS,
                )
            ),
        ),
    ),
    figures=(
        Figure(
            "overlap",
            "Planted modules and what is found",
            "Intersection over union with the planted weights, mean over modules and seeds. "
            "Learned masks are not told how many weights to keep; the other methods are.",
            draw_overlap,
        ),
        Figure(
            "seeds",
            "Planted modules and what is found, seed by seed",
            "Intersection over union, mean over modules.",
            draw_seeds,
        ),
        Figure(
            "effect",
            "What learned masks leave",
            "Explained variance of the outputs of every module under the mask of every module.",
            draw_effect,
        ),
    ),
    notes="The thesis has no networks with known modules; the method is its own. Nothing but masks "
    "is trained: planted weights are drawn, and a function is what the whole network computes.",
)
