"""The figures of the toy: points, decision maps over steps and seeds, accuracies and slopes."""

import numpy as np

from recombine.lab import Missing, Results, figures

from .toy_training import NAMES, VIEW, A, B

FIGURE_5 = (0, 1, 2, 4, 8, 16, 32, 1024)
"""The steps that the paper shows."""
POSITIVE, NEGATIVE = 0, 1
"""Blue and orange, in the palette."""


def over_steps(results: Results, name: str, condition: dict) -> tuple[list[int], np.ndarray]:
    """The steps, and a curve `[seeds, steps]`."""
    steps, values = results.curve(name, **condition)
    return [int(step) for step in steps], values


def add_points(figure, points: np.ndarray, panel: int, *, legend: bool = False) -> None:
    """Points: circles are positive, triangles negative."""
    positive = points[:, 0] > 0
    for chosen, name, color, symbol in (
        (positive, "positive", POSITIVE, "circle"),
        (~positive, "negative", NEGATIVE, "triangle-up"),
    ):
        x, y = points[chosen].T
        figures.add_scatter(figure, x, y, name, color=color, symbol=symbol, panel=panel,
                            legend=legend)  # fmt: skip


def axis_of(points: np.ndarray, side: int) -> np.ndarray:
    """The coordinates of a map's columns and rows."""
    largest = 5.3 if np.abs(points).max() > 1 else 1.0
    return np.linspace(-VIEW * largest, VIEW * largest, side)


def first_seed(results: Results, condition: dict):
    """The trial of the first seed: nothing is read of the others, whose maps are large."""
    return min(results.where(**condition).records, key=lambda record: record.seed)


def draw_data(results: Results):
    first = first_seed(results, A)
    figure = figures.panels("training", "test", x="X_1", y="X_2")
    for panel, name in enumerate(("points", "tests")):
        add_points(figure, first.read_array(name), panel, legend=True)
    figure.update_xaxes(range=[-6, 6])
    figure.update_yaxes(range=[-6, 6])
    return figure


def maps_of(results: Results, condition: dict) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Steps, maps `[steps, side, side]` and training points of the first seed."""
    first = first_seed(results, condition)
    return first.read_array("steps").tolist(), first.read_array("maps"), first.read_array("points")


def draw_snapshots(results: Results):
    steps, maps, points = maps_of(results, A)
    chosen = [step for step in FIGURE_5 if step in steps]
    axis = axis_of(points, maps.shape[-1])
    figure = figures.heatmaps(
        [maps[steps.index(step)] for step in chosen], [f"step {step}" for step in chosen],
        columns=4, x="X_1", y="X_2", across=axis, along=axis, diverging=True, blue_is_high=True,
        smooth=True,
    )  # fmt: skip
    for panel in range(len(chosen)):
        add_points(figure, points, panel)
    return figure


def draw_slider(results: Results):
    shown = {name: maps_of(results, c) for name, c in list(NAMES.items())[:2]}
    steps, maps, points = next(iter(shown.values()))
    # Every other cell halves the figure's size without a visible difference.
    axis = axis_of(points, maps.shape[-1])[::2]
    frames = np.stack([maps[:, ::2, ::2] for _, maps, _ in shown.values()], axis=1)
    figure = figures.heatmaps(
        frames[-1], list(shown), x="X_1", y="X_2", across=axis, along=axis, diverging=True,
        blue_is_high=True, smooth=True,
    )  # fmt: skip
    for panel, (_, _, points) in enumerate(shown.values()):
        add_points(figure, points, panel)
    figures.add_steps(figure, steps, frames)
    return figure


def draw_seeds(results: Results):
    runs = results.where(**A)
    # Figure 5 shows the first seed.
    chosen = runs.seeds[1:5] or runs.seeds
    records = {r.seed: r for r in runs.records}
    maps = [records[seed].read_array("maps")[-1] for seed in chosen]
    points = [records[seed].read_array("points") for seed in chosen]
    axis = axis_of(points[0], maps[0].shape[-1])
    figure = figures.heatmaps(
        maps, [f"seed {seed}" for seed in chosen], columns=4, x="X_1", y="X_2", across=axis,
        along=axis, diverging=True, blue_is_high=True, smooth=True,
    )  # fmt: skip
    for panel, own in enumerate(points):
        add_points(figure, own, panel)
    return figure


def draw_accuracy(results: Results):
    figure = figures.panels(
        "held-out quadrant", "training points", x="step + 1", y="accuracy", log_x=True
    )
    for panel, name in enumerate(("held_out_accuracy", "train_accuracy")):
        for color, (title, condition) in enumerate(NAMES.items()):
            try:
                steps, values = over_steps(results, name, condition)
            except Missing:
                continue
            figures.add_seeds(figure, np.array(steps) + 1, values, title, color=color, panel=panel)
    return figure


def draw_slopes(results: Results):
    figure = figures.panels(*list(NAMES)[:2], x="step + 1", y="mean |slope|", log_x=True)
    for panel, condition in enumerate((A, B)):
        for k in (1, 2):
            steps, values = over_steps(results, f"slope_{k}", condition)
            figures.add_seeds(figure, np.array(steps) + 1, values, f"along X_{k}", color=k - 1,
                              panel=panel)  # fmt: skip
    return figure
