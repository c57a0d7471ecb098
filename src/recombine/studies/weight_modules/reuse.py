"""Do networks that generalize use the weights of short compositions for long ones?"""

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    mean,
    paired,
    per_seed,
)

from ..data_router.lookup_results import SMALL_LSTM, SMOKE, on_laptop
from ..data_router.lookup_trial import DIRECTIONS
from . import DOCUMENT
from .reuse_trial import Config, needed, trial

MODELS = ("ndr", "relative-gate")
"""The networks of preset laptop; figures show others, too."""
GATED = "relative-gate"
FORWARD, BACKWARD = {"direction": "forward"}, {"direction": "backward"}
TESTS = ("all", "short", "long", "longer")


def networks_in(results: Results) -> dict[str, Results]:
    """The networks that have been run, by title."""
    found = {}
    for model in results.values("model"):
        for direction in DIRECTIONS:
            try:
                found[f"{model}, {direction}"] = results.where(model=model, direction=direction)
            except Missing:
                continue
    if not found:
        raise Missing("no network has been run")
    return found


def draw_reuse(results: Results):
    """Reuse against generalization, one point per network."""
    figure = figures.panels(
        "", x="accuracy on longer inputs, unmasked",
        y="long compositions under the mask of short ones",
    )  # fmt: skip
    for color, (title, runs) in enumerate(networks_in(results).items()):
        valid = runs.metric("valid").astype(bool)
        if valid.all():
            figures.add_scatter(
                figure, runs.metric("longer"), runs.metric("reuse"), title, color=color
            )
    return figure


def draw_exchange(results: Results):
    networks = networks_in(results)
    return figures.heatmaps(
        [runs.array("accuracy").mean(axis=0) for runs in networks.values()], list(networks),
        x="tested on", y="mask of", across=list(TESTS), along=["all", "short", "long"],
    )  # fmt: skip


def draw_overlap(results: Results):
    figure = figures.panels("", x="layer", y="intersection over union")
    for color, (title, runs) in enumerate(networks_in(results).items()):
        layers, values = runs.curve("iou")
        figures.add_seeds(figure, layers, values, title, color=color)
    return figure


study = Study(
    name="weight-modules/reuse",
    title="Weights of short compositions do long ones where a network generalizes",
    source=Source(DOCUMENT, "Sections 3.1 and 5.2.1, put together"),
    question="Does a network that applies more functions than in training use the weights of short "
    "compositions for long ones, and does one that fails use others?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(model=("lstm",), direction=("backward",)),
            settings=SMOKE
            | SMALL_LSTM
            | {"mask_batch": 8, "mask_steps": 4, "mask_rate": 1.0, "betas": (1e-3, 1e-2)},
            cost="20 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(model=MODELS, direction=DIRECTIONS),
            depends=on_laptop,
            cost="not measured; without the networks, which data-router/table-lookup trains",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(model=MODELS, direction=DIRECTIONS),
            depends=on_laptop,
            settings={"mask_steps": 20_000, "mask_rate": 0.01},
            cost="not measured; the paper has no such study",
        ),
    },
    claims=(
        Claim(
            "short-modules-do-long-compositions",
            "In both directions the mask of short compositions leaves NDR at least {0:%} of its "
            "accuracy on long ones.",
            "Sections 3.1 and 5.2.1",
            all_of(mean("reuse", model="ndr", direction=d) >= 0.9 for d in DIRECTIONS),
            context={"longer inputs": per_seed("longer", model="ndr")},
        ),
        Claim(
            "reuse-follows-generalization",
            "A transformer with relative positions and copy gates, which generalizes forward and "
            "not backward, keeps at least {0:points} more of it forward.",
            "Sections 3.1 and 5.2.1",
            paired("reuse", FORWARD, BACKWARD, model=GATED) >= 0.1,
            context={"longer inputs": per_seed("longer", model=GATED)},
        ),
        Claim(
            "router-reuses-more",
            "Backward, NDR keeps at least {0:points} more of it than that transformer.",
            "Sections 3.1 and 5.2.1",
            paired("reuse", "ndr", GATED, direction="backward") >= 0.1,
        ),
    ),
    figures=(
        Figure(
            "reuse",
            "Reuse and generalization",
            "The share of accuracy on long compositions that the mask of short ones leaves, and "
            "accuracy on inputs longer than in training; one point per network and seed.",
            draw_reuse,
        ),
        Figure(
            "exchange",
            "Masks on compositions of other lengths",
            "Accuracy under the masks of all, of short and of long compositions, mean over seeds.",
            draw_exchange,
        ),
        Figure(
            "overlap",
            "Overlap by layer",
            "Intersection over union of the masks of short and of long compositions.",
            draw_overlap,
        ),
    ),
    notes="A question of this package: the thesis looks for modules in Chapter 3, and for networks "
    "that generalize in Chapter 5. Networks are those of data-router/table-lookup.",
)
