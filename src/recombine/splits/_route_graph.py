"""The graph of trained routes: its components, how well it mixes, and its family.

Input and output domains are the two sides of a bipartite graph, trained routes its edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import ArrayLike, Bool

Family = Literal["full", "ring", "regular", "other"]
Route = tuple[int, int]


@dataclass(frozen=True)
class RouteComponent:
    """Domains that trained routes connect, directly or through one another."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def route_components(mask: Bool[ArrayLike, "M_in M_out"]) -> tuple[RouteComponent, ...]:
    """Connected components, in the order of their smallest inputs, then outputs."""
    trained = np.asarray(mask, bool)
    seen_in, seen_out = np.zeros(len(trained), bool), np.zeros(trained.shape[1], bool)
    parts = []
    for i in range(len(trained)):
        if seen_in[i]:
            continue
        inputs, outputs = np.zeros_like(seen_in), np.zeros_like(seen_out)
        inputs[i], size = True, 0
        while size < inputs.sum() + outputs.sum():
            size = inputs.sum() + outputs.sum()
            outputs |= trained[inputs].any(0)
            inputs |= trained[:, outputs].any(1)
        seen_in |= inputs
        seen_out |= outputs
        parts.append((np.flatnonzero(inputs), np.flatnonzero(outputs)))
    parts += [(np.array([], int), np.array([j])) for j in np.flatnonzero(~seen_out)]
    return tuple(RouteComponent(tuple(a.tolist()), tuple(b.tolist())) for a, b in parts)


def spectral_gap(mask: Bool[ArrayLike, "M_in M_out"]) -> float:
    """How well trained routes mix the domains, between 0 and 1.

    1 minus the second singular value relative to the first: the geometric mean of that of the mask,
    which governs how fast a common code outgrows others from small weights, and that of the mask
    with rows and columns divided by the square roots of their sums, which is 1 if the graph is
    disconnected and nearly 1 if it has a bottleneck. In a ring of M domains with K routes each
    both are sin(pi K / M) / (K sin(pi / M)).
    """
    trained = np.asarray(mask, bool)
    if len(route_components(trained)) > 1:
        return 0.0
    if 1 in trained.shape:
        return 1.0
    return float(np.clip(1 - np.sqrt(np.prod(relative_singular_values(trained))), 0, 1))


def relative_singular_values(mask: Bool[ArrayLike, "M_in M_out"]) -> tuple[float, float]:
    """The second singular value over the first: of the mask, and of the normalised mask."""
    trained = np.asarray(mask, float)
    normalised = trained / np.sqrt(np.outer(trained.sum(1), trained.sum(0)))
    plain, walk = (np.linalg.svd(m, compute_uv=False) for m in (trained, normalised))
    return float(plain[1] / plain[0]), float(walk[1] / walk[0])


def mask_family(mask: Bool[ArrayLike, "M_in M_out"]) -> Family:
    """The family of a mask.

    `ring` if it is one for some order of the domains, `regular` if all domains of a side have
    equally many routes, else `other`; `full` if all routes are trained.
    """
    trained = np.asarray(mask, bool)
    if trained.all():
        return "full"
    rows, columns = trained.sum(1), trained.sum(0)
    if np.ptp(rows) or np.ptp(columns) or not rows[0]:
        return "other"
    if trained.shape[0] == trained.shape[1] and _is_ring(trained, int(rows[0])):
        return "ring"
    return "regular"


def _is_ring(trained: np.ndarray, K: int) -> bool:
    """Whether some order of rows and columns makes a K-regular mask a ring."""
    M = len(trained)
    if K in (1, M - 1):
        return True
    # Neighbours on a ring, and only they, have K - 1 partners in common.
    overlap = trained.astype(int) @ trained.T.astype(int)
    neighbours = [np.flatnonzero(row == K - 1) for row in overlap]
    if any(len(pair) != 2 for pair in neighbours):
        return False
    order = [0]
    while (following := [i for i in neighbours[order[-1]] if i not in order]) and len(order) < M:
        order.append(int(following[0]))
    if len(order) < M:
        return False
    starts = trained[order] & ~np.roll(trained[order], 1, axis=0)
    return bool(np.all(starts.sum(0) == 1) and np.all(starts.sum(1) == 1))


def joining_routes(components: Sequence[RouteComponent]) -> tuple[Route, ...]:
    """The fewest routes (input, output) that connect all components: one fewer than there are."""
    if len(components) == 1:
        return ()
    hub = next((part for part in components if part.inputs and part.outputs), None)
    if hub is None:  # nothing is trained: start with the first route
        lone_input = next(part for part in components if part.inputs)
        lone_output = next(part for part in components if part.outputs)
        hub = RouteComponent(lone_input.inputs, lone_output.outputs)
        routes = [(hub.inputs[0], hub.outputs[0])]
        others = [part for part in components if part not in (lone_input, lone_output)]
    else:
        routes, others = [], [part for part in components if part is not hub]
    for n, part in enumerate(others):
        if part.inputs:
            routes.append((part.inputs[0], hub.outputs[n % len(hub.outputs)]))
        else:
            routes.append((hub.inputs[n % len(hub.inputs)], part.outputs[0]))
    return tuple(routes)
