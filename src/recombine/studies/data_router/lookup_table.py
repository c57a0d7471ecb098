"""Table 5.1 as figures, and its numbers beside ours."""

from recombine.lab import Beside, Figure, Results, figures

from .lookup_results import chance_of, draw_by_length, draw_learning, present, published
from .lookup_trial import DIRECTIONS

PAPER_NAMES = {"NDR": "+ geom. + gate (NDR)"}
"""Rows of Table 5.1 that are called otherwise here."""
MEASURES = {"iid": "IID", "longer": "longer inputs"}


def of_table(model: str, direction: str, metric: str):
    """A number of Table 5.1."""
    return published("table-5.1", PAPER_NAMES.get(model, model), direction, metric)


def draw_table(results: Results, order: tuple[str, ...]):
    """The rows of the table, one panel a direction."""
    directions = present(results, "direction", DIRECTIONS)
    figure = figures.panels(*directions, x="", y="accuracy", columns=1, shared_y=True)
    for panel, direction in enumerate(directions):
        runs = results.where(direction=direction)
        models = present(runs, "model", order)
        for color, (metric, name) in enumerate(MEASURES.items()):
            values = [runs.metric(metric, model=model) for model in models]
            figures.add_points(figure, models, values, name, color=color, panel=panel, line=False)
        paper = [of_table(model, direction, "longer").value for model in models]
        figures.add_reference(figure, models, paper, "paper, longer inputs", panel=panel)
        figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    return figure


def table_figures(models: tuple[str, ...]) -> tuple[Figure, ...]:
    """The figures of a study of some rows."""
    return (
        Figure(
            "table",
            "Accuracy of every network",
            "Table 5.1: all seeds, their mean and its 95 % interval. The paper's numbers are of 8 "
            "symbols and 9 to 10 functions; guessing is right for 12.5 % there.",
            lambda results: draw_table(results, models),
        ),
        Figure(
            "by-length",
            "Accuracy by the number of functions",
            "Of the chosen networks, on fresh items.",
            lambda results: draw_by_length(results, "model", models),
        ),
        Figure(
            "learning",
            "Accuracy during training",
            "All seeds and their mean.",
            lambda results: draw_learning(results, "model", models),
        ),
    )


def table_beside(models: tuple[str, ...]) -> tuple[Beside, ...]:
    """The paper's numbers of some rows beside ours."""
    return tuple(
        Beside(
            f"{model}, {direction}, {name}",
            of_table(model, direction, metric),
            lambda results, metric=metric, model=model, direction=direction: results.metric(
                metric, model=model, direction=direction
            ),
        )
        for metric, name in MEASURES.items()
        for model in models
        for direction in DIRECTIONS
    )
