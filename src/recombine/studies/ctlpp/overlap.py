"""Figures 6.4, E.3 and E.4: how much two groups of functions must share to be recombined."""

from functools import partial
from typing import Any

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
    figures,
    mean,
)

from ..data_router.paper import network_of
from . import DOCUMENT
from .pattern_trial import (
    CONVERGED,
    PAPER_NAMES,
    Config,
    as_published,
    networks,
    on_laptop,
    task_of,
    title,
    trial,
)
from .patterns import AS_PUBLISHED, ROUTER, SMALL_LSTM, SMOKE, by_seed, converged, differences

SUFFICES = 0.98
"""OOD accuracy from which on groups are recombined."""


def cells(results: Results, model: str = ROUTER) -> dict[tuple[int, int], np.ma.MaskedArray]:
    """OOD accuracy by overlapping functions and shared symbols."""
    return {
        (overlap, shared): by_seed(results, "ood", model, overlap=overlap, shared=shared)
        for overlap, shared in pairs_of(results.where(model=model))
    }


def pairs_of(runs: Results) -> list[tuple[int, int]]:
    """Overlapping functions and shared symbols, of all cells."""
    return sorted({(r.config["overlap"], r.config["shared"]) for r in runs.records})


def least_rise(results: Results, along: int) -> np.ndarray:
    """OOD accuracy with the most minus that with the least of one quantity, in the row in which
    this is least, on average."""
    found = {pair: values for pair, values in cells(results).items() if pair[0] > 0}
    rises = []
    for fixed in {pair[1 - along] for pair in found}:
        line = [pair for pair in found if pair[1 - along] == fixed]
        if len(line) > 1:
            most, least = (found[pick(line, key=lambda p: p[along])] for pick in (max, min))
            rises.append(differences(most, least))
    if not rises:
        raise Missing("there is no sweep along this axis")
    return min(rises, key=np.mean)


def by_overlap(results: Results) -> np.ndarray:
    """OOD accuracy with the largest overlap minus that without overlap."""
    found = cells(results)
    most, none = max(found), min(found)
    if none[0] != 0:
        raise Missing("no run is without overlap")
    return differences(found[most], found[none])


def with_most(results: Results) -> np.ndarray:
    """OOD accuracy with the largest overlap."""
    found = cells(results)
    return found[max(found)].compressed()


def best_elsewhere(results: Results) -> np.ndarray:
    """OOD accuracy in the best of all other cells."""
    found = cells(results)
    del found[max(found)]
    return max((values.compressed() for values in found.values()), key=np.mean)


def share_that_learned(results: Results) -> np.ndarray:
    """1 for every run that learned anything, and 0 for the others."""
    return results.metric("iid", model=ROUTER) > CONVERGED


def draw_sweep(results: Results):
    """Heat maps as in the paper, one per network."""
    shown = networks(results)
    overlaps, shares = (
        sorted({r.config[name] for r in results.records if r.config["overlap"] > 0})
        for name in ("overlap", "shared")
    )
    maps = [
        [[mean_or_nothing(results, o, s, model) for s in shares] for o in overlaps]
        for model in shown
    ]
    figure = figures.heatmaps(
        maps, list(map(title, shown)), x="shared symbols", y="overlapping functions",
        across=[str(s) for s in shares], along=[str(o) for o in overlaps],
    )  # fmt: skip
    figure.update_layout(coloraxis={"cmin": 0.0, "cmax": 1.0})
    return figure


def mean_or_nothing(results: Results, overlap: int, shared: int, model: str) -> float:
    try:
        return float(by_seed(results, "ood", model, overlap=overlap, shared=shared).mean())
    except Missing:
        return float("nan")


def draw_cells(results: Results):
    """All seeds of all cells, also those that do not count."""
    shown = networks(results)
    figure = figures.panels(
        *map(title, shown),
        x="overlapping functions / shared symbols",
        y="accuracy",
        shared_y=True,
    )
    for panel, model in enumerate(shown):
        pairs = pairs_of(results.where(model=model))
        names = [f"{o} / {s}" if o else "none" for o, s in pairs]
        for color, (metric, name) in enumerate((("iid", "IID test"), ("ood", "OOD test"))):
            values = [results.metric(metric, model=model, overlap=o, shared=s) for o, s in pairs]
            figures.add_points(figure, names, values, name, color=color, panel=panel, line=False)
    return figure


def draw_graph(results: Results):
    nodes = {"IN": (0, ""), "a1": (1, ""), "b1": (1, ""), "a2": (2, ""), "o": (2, "some symbols"),
             "b2": (2, ""), "OUT": (3, "or on")}  # fmt: skip
    layers = {name: layer for name, (layer, _) in nodes.items()}
    edges = [
        edge for edge in task_of(Config(**MINI), 0).arrows()
        if layers[edge[0]] < layers[edge[1]]
    ]  # fmt: skip
    return figures.graph(nodes, edges, [edge for edge in edges if edge[2] == "train"])


def sweep(models, pairs) -> tuple[dict, ...]:
    return tuple({"model": m, "overlap": o, "shared": s} for m in models for o, s in pairs)


TRAIN = {(0, 4): 7800, (4, 1): 8500, (4, 4): 12_200, (12, 1): 6000, (12, 4): 12_200}
"""Cells of preset laptop, overlapping functions and shared symbols of 4, and their training items:
about three quarters of those that can be drawn. With the same number in all cells, networks learn
by heart where most can be drawn."""
MINI: dict[str, Any] = {
    "variant": "S", "functions": 24, "include_all_pairs": True, "tested": 500, "data_seed": 0,
}  # fmt: skip
PUBLISHED_PAIRS = tuple((o, s) for o in (4, 8, 12, 16) for s in (2, 3, 4, 5, 6))


def staged_as_published(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset paper: the Bi-LSTM learns faster here."""
    faster = {"learning_rate": 1e-3, "batch_size": 128}
    return as_published(condition) | (faster if network_of(condition) == "bi-lstm" else {})


study = Study(
    name="ctlpp/overlap",
    title="What two groups of functions must share to be recombined",
    source=Source(DOCUMENT, "Figures 6.2, 6.4, E.3 and E.4, Section 6.3.2"),
    question="How many functions, and on how many symbols, must follow both of two groups in "
    "training before a network composes these groups in a new way?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=sweep(("bi-lstm",), ((4, 4),)),
            settings={**MINI, **SMOKE, **SMALL_LSTM, "longest": 4, "train": 60},
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=tuple(
                {"model": ROUTER, "overlap": o, "shared": s, "train": train}
                for (o, s), train in TRAIN.items()
            ),
            settings=MINI,
            depends=on_laptop,
            cost="30 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=sweep(PAPER_NAMES, PUBLISHED_PAIRS),
            depends=staged_as_published,
            settings={
                **AS_PUBLISHED,
                "variant": "S",
                "include_all_pairs": True,
                "estimate_counts": True,
            },
            cost="an accelerator; 300 runs of 18 to 217 min on one P100",
        ),
    },
    claims=(
        Claim(
            "iid-is-learned",
            "IID accuracy of the NDR is at least {0}, on average over runs that learned anything "
            "(IID accuracy above 0.5).",
            "Section 6.3.2",
            mean(lambda results: converged(results, "iid", ROUTER), "IID accuracy") >= 0.98,
            context={"share of runs that learned anything": share_that_learned},
        ),
        Claim(
            "overlap-helps",
            "OOD accuracy of the NDR is higher with the largest overlap than with none, by {0} or "
            "more.",
            "Figure 6.4; none is not in the paper",
            mean(by_overlap) >= 0.3,
        ),
        Claim(
            "more-functions-help",
            "For each number of shared symbols, mean OOD accuracy of the NDR is higher with the "
            "most overlapping functions than with the fewest.",
            "Figure 6.4",
            mean(partial(least_rise, along=0), "rise with functions") > 0,
        ),
        Claim(
            "more-symbols-help",
            "For each number of overlapping functions, mean OOD accuracy of the NDR is higher with "
            "the most shared symbols than with the fewest.",
            "Figure 6.4",
            mean(partial(least_rise, along=1), "rise with symbols") > 0,
        ),
        Claim(
            "only-full-overlap-suffices",
            "Mean OOD accuracy of the NDR reaches {0} with the largest overlap, and nowhere else.",
            "Section 6.3.2",
            all_of(mean(with_most) >= SUFFICES, mean(best_elsewhere) < SUFFICES),
        ),
    ),
    figures=(
        Figure(
            "sweep",
            "OOD accuracy by overlap",
            "Figures 6.4, E.3 and E.4: means over the seeds that learned anything.",
            draw_sweep,
        ),
        Figure(
            "cells",
            "Every seed",
            "Accuracy on trained and on new patterns: all seeds, also those that learned nothing, "
            "means and 95 % intervals.",
            draw_cells,
        ),
        Figure(
            "graph",
            "Which functions follow which",
            "Figure 6.2; coloured edges are those of training alone. Functions of o follow a1 on "
            "some symbols and b1 on others, and both on shared ones. After the second stage an "
            "item ends or begins again with the first.",
            draw_graph,
        ),
    ),
    notes="The preset laptop has 4 symbols, 24 functions, at most 4 of them, and five cells of the "
    "sweep, one of them without overlap, which the paper does not have; at this size 4 shared "
    "symbols are all symbols. The paper goes from 4 to 16 of 32 functions and from 2 to 6 of 8 "
    "symbols. Its heat maps are pictures: no values of cells are in its text. All pairs of "
    "functions that training allows are trained, as in the published code, so that IID tests have "
    "four functions.",
)
