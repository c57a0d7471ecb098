"""Figures 5.3 and D.3 to D.7: do columns work in the order in which functions apply?"""

from recombine.lab import (
    Claim,
    Figure,
    Judgement,
    Preset,
    Results,
    Source,
    Study,
    figures,
    grid,
)

from . import DOCUMENT
from .control_flow_trial import trial
from .lookup_results import (
    AS_PUBLISHED,
    SMALL_ENCODER,
    SMOKE,
    as_published,
    longest_first,
    mean,
    on_laptop,
    present,
)
from .lookup_trial import DIRECTIONS, Config
from .paper import networks, title

MODELS = ("ndr", "position-gate", "relative-gate", "relative")
GATED = MODELS[:3]
IN_ORDER = 0.9
"""Spearman's correlation of opening step and distance, at least."""
READS = 0.9
"""Share of columns that read their argument when they open, at least."""
ONE_STEP = (0.75, 1.25)
"""Steps from one function to the next."""
SHOWN = grid(model=("ndr",), direction=DIRECTIONS) + grid(
    model=("position-gate", "relative"), direction=("backward",)
)


def router(results: Results, metric: str) -> dict[str, float]:
    return {d: mean(results, metric, model="ndr", direction=d) for d in DIRECTIONS}


def others(results: Results, metric: str, models: tuple[str, ...]) -> dict[str, float]:
    """A metric's mean of other networks, backward."""
    runs = results.where(direction="backward")
    return {title(m): mean(runs, metric, model=m) for m in present(runs, "model", models)}


def in_order(results: Results) -> Judgement:
    order = router(results, "opening_order")
    evidence = {
        f"Spearman's correlation (bound: above {IN_ORDER:g})": order,
        "share of inputs without one": router(results, "undefined_order"),
        "accuracy on longer inputs": router(results, "longer"),
        "others, share without one": others(results, "undefined_order", GATED[1:]),
    }
    return Judgement(min(order.values()) > IN_ORDER, evidence)


def one_per_step(results: Results) -> Judgement:
    steps = router(results, "steps_per_function")
    low, high = ONE_STEP
    evidence = {f"steps per function (bounds: {low:g} to {high:g})": steps}
    return Judgement(all(low <= s <= high for s in steps.values()), evidence)


def reads_argument(results: Results) -> Judgement:
    reads = router(results, "reads_argument")
    untrained = router(results, "untrained_reads_argument")
    evidence = {
        f"columns that read their argument when they open (bound: at least {READS:g})": reads,
        "the same before training, when all open at once (bound: lower)": untrained,
        "others, backward": others(results, "reads_argument", MODELS[1:]),
    }
    learned = all(reads[d] > untrained[d] for d in DIRECTIONS)
    return Judgement(learned and min(reads.values()) >= READS, evidence)


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
            "correlation is above 0.9 in both directions.",
            "Figures 5.3, D.6 and D.7",
            in_order,
        ),
        Claim(
            "one-column-a-step",
            "In NDR, a column opens about one step after the one that it depends on: 0.75 to 1.25 "
            "steps per function in both directions.",
            "Figures 5.3, D.6 and D.7",
            one_per_step,
        ),
        Claim(
            "columns-read-their-argument",
            "In NDR, at least 90 % of columns attend most to their argument when they open, and "
            "more than before training, in both directions.",
            "Figures 5.3, D.6 and D.7",
            reads_argument,
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
    "networks are trained as in table-lookup.",
)
