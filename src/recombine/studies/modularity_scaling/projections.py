"""Figure 12: which image does a module see, before and after task training?"""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    every_seed,
    figures,
    grid,
    mean,
)

from . import DOCUMENT
from .images import AS_PUBLISHED, SMOKE
from .images_trial import METHODS, Config, trial

NEAR = 0.05
"""Largest distance of a share from 1/k that counts as chance."""
RULE = {"method": "kernel", "sampling": "per_module_slot"}
SAMPLINGS = {
    "per_module_slot": "classes of one image",
    "per_module_column": "one class of one image",
    "global_random": "all classes of all images",
}


def chance(results: Results) -> float:
    """The share of an image if all images have equal shares."""
    (k,) = results.values("k")
    return 1 / k


def initial_distance_from_chance(results: Results) -> np.ndarray:
    """How far the share of the strongest image is from that of chance, before training."""
    return np.abs(results.metric("initial_share") - chance(results))


def draw_maps(results: Results):
    """One column of a module's projection as k images side by side, of the first seed."""
    maps, titles = [], []
    for method, where in (("modular", {"method": "modular"}), ("kernel", RULE)):
        before_and_after = results.array("maps", **where)[0]
        for when, modules in zip(("before", "after"), before_and_after, strict=True):
            for m, images in enumerate(modules):
                shown = images if images.ndim == 3 else images.mean(axis=-1)
                maps.append(side_by_side(shown / np.abs(shown).max()))
                titles.append(f"{METHODS[method]} {when}, module {m + 1}")
    return figures.heatmaps(maps, titles, columns=2, diverging=True)


def side_by_side(images: np.ndarray) -> np.ndarray:
    """Images in a row, with a gap: [k, rows, columns] as [rows, all columns]."""
    gap = np.full((images.shape[1], 1), np.nan)
    parts = [part for image in images for part in (image, gap)]
    return np.concatenate(parts[:-1], axis=1)


def draw_shares(results: Results):
    figure = figures.panels("", x="task training", y="share of the strongest image")
    shown = {"modular, random projections": {"method": "modular"}} | {
        f"kernel rule on {words}": {"method": "kernel", "sampling": s}
        for s, words in SAMPLINGS.items()
        if s in results.where(method="kernel").values("sampling")
    }
    for color, (name, where) in enumerate(shown.items()):
        shares = [results.metric(m, **where) for m in ("initial_share", "share")]
        figures.add_points(figure, ("before", "after"), shares, name, color=color)
    figures.add_level(figure, chance(results), "chance")
    return figure


def draw_objective(results: Results):
    figure = figures.panels(
        "objective of the kernel rule", "similarity of inputs to a module",
        x="step", y=("yᵀ K⁻¹ y / batch", "mean of K off its diagonal"),
    )  # fmt: skip
    for panel, curve in enumerate(("kernel_loss", "kernel_likeness")):
        steps, values = results.curve(curve, **RULE)
        figures.add_seeds(figure, steps, values, "classes of one image", panel=panel)
    return figure


def by_sampling(*samplings: str) -> tuple[dict[str, str], ...]:
    """Random projections, and the kernel rule's with each way to choose outputs."""
    return ({"method": "modular"}, *grid(method=("kernel",), sampling=samplings))


study = Study(
    name="modularity-scaling/projections",
    title="The kernel rule gives every module one image before training",
    source=Source(DOCUMENT, "Figure 12"),
    question="Does the kernel rule make modules look at one image each, and does training keep it?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=by_sampling(*SAMPLINGS),
            settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(seeds=5, conditions=by_sampling(*SAMPLINGS), cost="40 s on two cores"),
        "paper": Preset(
            seeds=5,
            conditions=by_sampling(*SAMPLINGS),
            settings=AS_PUBLISHED | {"k": 6},
            cost="a day on an accelerator: 300 million weights per network; needs cifar-10",
        ),
    },
    claims=(
        Claim(
            "random-projections-see-all-images",
            "At the start of training the strongest image of a random projection has a share of "
            "its squared weights within {0} of 1/k, in every run.",
            "Figure 12a",
            every_seed(initial_distance_from_chance, method="modular") < NEAR,
            seeds=5,
        ),
        Claim(
            "rule-finds-images",
            "After the kernel rule the strongest image of every module is the one that it was "
            "fitted to, in every run, with a share of at least {1} on average over modules.",
            "Figure 12c",
            all_of(
                every_seed("initial_assigned", **RULE) >= 1,
                every_seed("initial_share", **RULE) >= 0.4,
            ),
            seeds=5,
        ),
        Claim(
            "training-keeps-images",
            "Training leaves every module of the kernel rule its strongest image, in every run.",
            "Figure 12d",
            every_seed("kept", **RULE) >= 1,
            seeds=5,
        ),
        Claim(
            "training-concentrates-random-projections",
            "After training random projections look mostly at one image: the strongest has more "
            "than {0:%} of the squared weights, on average over runs.",
            "Figure 12b",
            mean("share", method="modular") > 0.5,
            seeds=5,
        ),
        Claim(
            "nothing-to-choose-by",
            "If modules are fitted to the classes of all images alike none is preferred: the share "
            "of the strongest image is within {0} of 1/k, in every run.",
            "Appendix E.3",
            every_seed(initial_distance_from_chance, method="kernel", sampling="global_random")
            < NEAR,
            seeds=5,
        ),
        Claim(
            "ours-above-modular",
            "The kernel rule's projections lead to a higher accuracy than random ones.",
            "Figure 4b",
            mean("accuracy", **RULE) > mean("accuracy", method="modular"),
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "maps",
            "What a module sees",
            "Figure 12, of two modules of one run, before and after task training: the first "
            "column of the projection as k images, each row at a scale of its own. The rule was to "
            "find the first image for module 1 and the second for module 2.",
            draw_maps,
        ),
        Figure(
            "shares",
            "How far modules look at one image",
            "The share of a projection's squared weights in its strongest image, mean over "
            "modules.",
            draw_shares,
        ),
        Figure(
            "objective",
            "The kernel rule during its steps",
            "The objective falls although inputs stay equally similar: it does not fall by making "
            "all of them dissimilar, for which growing projections would be enough.",
            draw_objective,
        ),
    ),
    notes="The paper has k = 6 images of CIFAR-10 and shows one column of one module by eye; here "
    "k = 4 digits, and the share of squared weights in the strongest image replaces inspection "
    "by eye. The paper optimises 'a single class at a time' and does not say which class a "
    "module is fitted to: fitted to the classes of all images alike, modules prefer none.",
)
