"""Figures 5.3 and D.3 to D.7: do columns work in the order in which functions apply?"""

from collections.abc import Iterator

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
from recombine.lab.quantities import What
from recombine.lab.vocabulary import Mean

from . import DOCUMENT
from .control_flow_trial import trial
from .lookup_results import (
    AS_PUBLISHED,
    SMALL_ENCODER,
    SMOKE,
    as_published,
    longest_first,
    on_laptop,
    present,
)
from .lookup_trial import DIRECTIONS, Config, needed
from .paper import networks, title

MODELS = ("ndr", "position-gate", "relative-gate", "relative")
SHOWN = grid(model=("ndr",), direction=DIRECTIONS) + grid(
    model=("position-gate", "relative"), direction=("backward",)
)


def of_router(what: What) -> Iterator[Mean]:
    """A quantity of NDR, in each direction."""
    return (mean(what, model="ndr", direction=direction) for direction in DIRECTIONS)


gained = per_seed("reads_argument") - per_seed("untrained_reads_argument")
"""The share of columns that read their argument, minus the same before training."""


def watched(results: Results, metric: str) -> bool:
    """Whether all runs report a metric: networks without gates have no order in which columns
    open, and those without attention are not watched."""
    return all(metric in record.metrics for record in results.records)


def named(results: Results) -> list[tuple[str, Results]]:
    """The runs of every network and direction that were watched, and what they are called."""
    found = []
    for model in networks(results):
        of_model = results.where(model=model)
        for direction in present(of_model, "direction", DIRECTIONS):
            runs = of_model.where(direction=direction)
            if watched(runs, "reads_argument"):
                found.append((f"{title(model)}, {direction}", runs))
    return found


def draw_opening(results: Results):
    figure = figures.panels(
        "opening of columns", "largest attention is on the argument",
        x="functions applied up to a column", y=("step", "share of columns"), columns=2,
    )  # fmt: skip
    for color, (name, runs) in enumerate(named(results)):
        curves = {"reads_by_distance": 1}
        if watched(runs, "opening_order"):
            curves |= {"opening_by_distance": 0}
        for curve, panel in curves.items():
            distances, values = runs.curve(curve)
            figures.add_points(figure, distances, list(values.T), name, color=color, panel=panel)
    return figure


def draw_sharpness(results: Results):
    figure = figures.panels("", x="step", y="largest attention of a column")
    for color, (name, runs) in enumerate(named(results)):
        steps, values = runs.curve("sharpness")
        figures.add_seeds(figure, steps, values, name, color=color)
    return figure


def draw_trace(model: str, direction: str):
    """The first seed's network at work on one input."""

    def draw(results: Results):
        runs = results.where(model=model, direction=direction)
        gates = runs.array("gates")[0] if watched(runs, "opening_order") else None
        words = [str(word) for word in runs.array("words")[0]]
        return figures.routing_trace(words, runs.array("attention")[0], gates)

    return draw


def trace_figure(name: str, model: str, direction: str, where: str) -> Figure:
    return Figure(
        f"trace-{name}",
        f"{title(model)} at work, {direction}",
        f"{where}: attention, the largest of all heads, and gates of the first seed's network on "
        "one of the longest inputs, step by step.",
        draw_trace(model, direction),
    )


study = Study(
    name="data-router/control-flow",
    title="Columns of the neural data router wait for their argument, and then open",
    source=Source(DOCUMENT, "Figures 5.3 and D.3 to D.7"),
    question="Do the columns of a network open one after another, in the order in which their "
    "functions apply?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(model=("ndr",), direction=("backward",)),
            settings=SMOKE | SMALL_ENCODER,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=longest_first(SHOWN),
            depends=on_laptop,
            cost="30 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=SHOWN,
            depends=as_published,
            settings=AS_PUBLISHED,
            cost="hours on an accelerator; about a day per network on two cores",
        ),
    },
    claims=(
        Claim(
            "columns-open-in-order",
            "In NDR, columns open in the order in which their functions apply: Spearman's "
            "correlation is above {0} in both directions.",
            "Figures 5.3, D.6 and D.7",
            all_of(order > 0.9 for order in of_router("opening_order")),
            context={"share of inputs without an order": per_seed("undefined_order", model="ndr")},
        ),
        Claim(
            "one-column-a-step",
            "In NDR, a column opens about one step after the one that it depends on: {0} to {1} "
            "steps per function in both directions.",
            "Figures 5.3, D.6 and D.7",
            all_of(steps.between(0.75, 1.25) for steps in of_router("steps_per_function")),
        ),
        Claim(
            "columns-read-their-argument",
            "In NDR, at least {0:%} of columns attend most to their argument when they open, and "
            "more than before training, in both directions.",
            "Figures 5.3, D.6 and D.7",
            all_of(
                *(reads >= 0.9 for reads in of_router("reads_argument")),
                *(more > 0 for more in of_router(gained)),
            ),
        ),
    ),
    figures=(
        Figure(
            "opening",
            "When columns open, and what they read",
            "All seeds, their mean and its 95 % interval, on the longest inputs. Without gates, "
            "what is read at the step at which the argument can be ready.",
            draw_opening,
        ),
        trace_figure("ndr-backward", "ndr", "backward", "Figures 5.3 and D.7"),
        trace_figure("ndr-forward", "ndr", "forward", "Figure D.6"),
        trace_figure("mixed", "position-gate", "backward", "Figures D.4 and D.5"),
        trace_figure("relative", "relative", "backward", "Figure D.3"),
        Figure(
            "sharpness",
            "How sharp attention is",
            "The largest attention of a column, averaged over columns and inputs. Geometric "
            "attention of NDR does not sum to 1.",
            draw_sharpness,
        ),
    ),
    notes="The figures of the paper show single inputs; here they are numbers over a hundred. The "
    "networks are those of table-lookup and parts, and are trained if those have not been run.",
)
