"""What networks make of a symbol that different functions produce: numbers and maps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from recombine import probes, tasks
from recombine.lab import Recorder, Results, figures


def groups_of(task: tasks.TableLookupPatterns) -> np.ndarray:
    """The group of every function: 0 for a, 1 for b."""
    groups = np.zeros(len(task.lookup.functions), int)
    groups[list(task.trained.groups["b"])] = 1
    return groups


def report_symbols(
    network, task: tasks.TableLookupPatterns, frame, recorder: Recorder, blur=None
) -> None:
    """How symbols are represented by what produced them, and who reads them (Section E.3).

    **Arguments:**

    - `blur`: done to the representations `[symbols, functions, features]` before they are compared.
    """
    lookup, groups = task.lookup, groups_of(task)
    vectors = np.asarray(probes.symbol_representations(network.represent, lookup, frame))
    cosines = np.asarray(probes.cosine_maps(vectors if blur is None else blur(vectors)))
    clusters = np.stack([probes.symbol_clusters(of_symbol) for of_symbol in cosines])
    within, across = probes.group_cosines(cosines, groups)
    readable = np.asarray(probes.readable_pairs(network, lookup, frame))
    agreement = [probes.adjusted_rand_index(of_symbol, groups) for of_symbol in clusters]
    recorder.metric("within", within.mean())
    recorder.metric("across", across.mean())
    recorder.metric("lowest_cosine", cosines.min())
    recorder.metric("most_clusters", clusters.max() + 1)
    recorder.metric("mean_clusters", (clusters.max(axis=1) + 1).mean())
    recorder.metric("rand_index", np.mean(agreement))
    recorder.metric("lowest_rand_index", np.min(agreement))
    by_group = probes.mean_by_group(readable.mean(axis=0), groups, groups)
    for first, second in np.ndindex(by_group.shape):
        recorder.metric(f"{'ab'[first]}_to_{'ab'[second]}", by_group[first, second])
    recorder.array("cosines", cosines.astype(np.float32))
    recorder.array("clusters", clusters)
    recorder.array("readable", readable)
    recorder.array("groups", groups)


def draw_maps(cosines: np.ndarray, clusters: np.ndarray, groups: np.ndarray):
    """The cosine maps of all symbols, in the order of clusters, which are boxed (Figure 6.3).

    **Arguments:** of one network

    - `cosines`: `[symbols, functions, functions]`.
    - `clusters`: `[symbols, functions]`.
    - `groups`: `[functions]`; a dot beside every row shows the group, a red and b blue.
    """
    orders = [np.lexsort((np.arange(len(groups)), of_symbol)) for of_symbol in clusters]
    maps = [m[np.ix_(order, order)] for m, order in zip(cosines, orders, strict=True)]
    titles = [f"symbol {symbol}" for symbol in range(len(maps))]
    figure = figures.heatmaps(maps, titles, columns=4, x="function", y="function")
    figure.update_layout(coloraxis={"cmin": min(0.0, float(cosines.min())), "cmax": 1.0})
    for panel, (of_symbol, order) in enumerate(zip(clusters, orders, strict=True)):
        edges = np.flatnonzero(np.diff(of_symbol[order], prepend=-1, append=-1)) - 0.5
        for start, end in pairwise(edges):
            box = (
                np.array([start, end, end, start, start]),
                np.array([start, start, end, end, start]),
            )
            figures.add_curve(figure, *box, "cluster", color=3, panel=panel)
        for group, (name, color) in enumerate((("a", 1), ("b", 0))):
            places = np.flatnonzero(groups[order] == group)
            figures.add_scatter(
                figure, np.full(len(places), -1.5), places, f"group {name}", color=color,
                panel=panel, legend=False,
            )  # fmt: skip
    figure.update_layout(showlegend=False)
    return figure


def first_maps(results: Results, **condition):
    """The maps of the first seed of a condition."""
    return maps_of(results, lambda _: 0, **condition)


def maps_of(results: Results, choose: Callable[[np.ndarray], int], **condition):
    """The maps of the seed of a condition that `choose` finds in their OOD accuracies."""
    seed = choose(results.metric("ood", **condition))
    return draw_maps(
        *(results.array(name, **condition)[seed] for name in ("cosines", "clusters", "groups"))
    )


def compatibility(results: Results) -> np.ndarray | None:
    """How often a group reads what a cluster wrote: `[clusters, groups]`, over symbols and seeds.

    None if not all symbols have two clusters: then there is no such table.
    """
    readable, clusters, groups = (
        results.array(name) for name in ("readable", "clusters", "groups")
    )
    if (clusters.max(axis=2) != 1).any():
        return None
    tables = [
        probes.mean_by_group(readable[t, s], clusters[t, s], groups[t])
        for t, s in np.ndindex(clusters.shape[:2])
    ]
    return np.mean(tables, axis=0)
