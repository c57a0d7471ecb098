"""Figure 4.1: what does early stopping on familiar data cost?"""

import numpy as np

from recombine import probes
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    any_of,
    curve,
    figures,
    for_all,
    grid,
    mean,
)

from . import DOCUMENT
from .log_results import MINI_PCFG, PATIENCE, SCHEMES, SMOKE, at_stop, chosen, published
from .scales import on_laptop
from .training import Config, trial

END = curve("ood", -1)


def draw_stops(results: Results):
    """Accuracy on new combinations, and where early stopping would have stopped."""
    schemes = chosen(results, "model.embedding", SCHEMES)
    titles = [SCHEMES.get(scheme, scheme) for scheme in schemes]
    figure = figures.panels(*titles, x="step", y="accuracy", shared_y=True)
    for panel, scheme in enumerate(schemes):
        where = {"model.embedding": scheme}
        for color, (name, words) in enumerate((("ood", "new"), ("iid", "familiar"))):
            steps, ys = results.curve(name, **where)
            figures.add_band(figure, steps, ys, words, color=color, panel=panel)
        steps, losses = results.curve("iid_loss", **where)
        patience = PATIENCE * int(steps[1] - steps[0])
        stops = [steps[probes.early_stop(steps, one, patience)] for one in losses]
        figures.add_level(figure, float(np.median(stops)), "stops", panel=panel, axis="x")
    return figure


study = Study(
    name="transformer-details/early-stopping",
    title="Early stopping on familiar data stops before new combinations are learned",
    source=Source(DOCUMENT, "Figure 4.1, Section 4.2.2"),
    question="How much accuracy on new combinations is lost if training stops when the loss on "
    "familiar ones no longer falls?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(**{"model": ("universal",), "model.embedding": ("ped",)}),
            settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(**{
                "problem": (MINI_PCFG,), "model": ("universal",),
                "model.embedding": tuple(SCHEMES),
            }),
            depends=on_laptop,
            cost="none beyond that of scales, whose trials it shares",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(**{
                "problem": ("cogs",), "model": ("transformer",), "model.embedding": tuple(SCHEMES),
            }),
            depends=published,
            cost="40 hours per network on two cores",
        ),
    },
    claims=(
        Claim(
            "stops-too-early",
            "With every scheme of embedding scale, accuracy on new combinations is higher at the "
            "end of training than where early stopping would have stopped.",
            "Figure 4.1",
            for_all(
                "model.embedding",
                lambda scheme: mean(END - at_stop(), **{"model.embedding": scheme}) > 0,
            ),
        ),
        Claim(
            "less-than-half",
            "With at least one scheme it is there less than {0:%} of what it is in the end.",
            "Figure 4.1",
            any_of(*(
                mean(at_stop() / END, **{"model.embedding": scheme}) < 0.5 for scheme in SCHEMES
            )),
        ),
    ),
    figures=(
        Figure(
            "stops",
            "Accuracy during training, and early stopping",
            "Figure 4.1: mean and standard deviation over seeds; the line is the median step at "
            "which early stopping takes the network.",
            draw_stops,
        ),
    ),
    notes=f"Early stopping stops after {PATIENCE} looks at the familiar pairs without a better "
    "loss, and takes the network that was best then. In the paper one of the schemes, TEU, has "
    "the schedule and the rate of the original baseline; here all have one.",
)  # fmt: skip
