"""Table 5.1 as figures, and its numbers beside ours."""

from functools import partial

from recombine.lab import Beside, Figure, Reference, Results, figures

from .lookup_results import MEASURES, chance_of, draw_by_length, draw_learning, present, published
from .lookup_trial import DIRECTIONS
from .paper import networks, numbers_of, title


def of_table(model: str, direction: str, metric: str = "longer") -> Reference:
    """A number of Table 5.1."""
    return published("table-5.1", model, direction, metric)


def draw_table(results: Results):
    """The rows of the table, one panel per direction."""
    directions = present(results, "direction", DIRECTIONS)
    figure = figures.panels(*directions, x="", y="accuracy", columns=1, shared_y=True)
    for panel, direction in enumerate(directions):
        runs = results.where(direction=direction)
        models = networks(runs)
        names = [title(model) for model in models]
        for color, (metric, name) in enumerate(MEASURES.items()):
            values = [runs.metric(metric, model=model) for model in models]
            figures.add_points(figure, names, values, name, color=color, panel=panel, line=False)
        found = numbers_of(models, partial(of_table, direction=direction))
        if found:
            label = "paper, longer inputs"
            figures.add_reference(figure, list(found), list(found.values()), label, panel=panel)
        figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    return figure


def table_figures() -> tuple[Figure, ...]:
    """The figures of a study of some rows."""
    return (
        Figure(
            "table",
            "Accuracy of every network",
            "Table 5.1: all seeds, their mean and its 95 % interval. The paper's numbers are of 8 "
            "symbols and 9 to 10 functions; guessing is right for 12.5 % there.",
            draw_table,
        ),
        Figure(
            "by-length",
            "Accuracy by the number of functions",
            "Accuracy of the chosen networks on fresh items.",
            lambda results: draw_by_length(results, "model"),
        ),
        Figure(
            "learning",
            "Accuracy during training",
            "All seeds and their mean.",
            lambda results: draw_learning(results, "model"),
        ),
    )


def beside(model: str, direction: str, metric: str) -> Beside:
    return Beside(
        f"{title(model)}, {direction}, {MEASURES[metric]}",
        of_table(model, direction, metric),
        lambda results: results.metric(metric, model=model, direction=direction),
    )


def table_beside(models: tuple[str, ...]) -> tuple[Beside, ...]:
    """The paper's numbers of some rows beside ours."""
    return tuple(
        beside(model, direction, metric)
        for metric in MEASURES
        for model in models
        for direction in DIRECTIONS
    )
