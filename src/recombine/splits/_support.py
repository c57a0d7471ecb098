"""What a set of trained tasks supports: the conditions of Theorem 9 on masks, codes and latents.

Masks are bool [tasks, modules], codes bool [tasks, layers, modules]. A verdict is the truth value
of the result, which also holds the reasons.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import ArrayLike, Bool, Float
from scipy.sparse.csgraph import connected_components

Module = int | tuple[int, int]
"""A module by its number or, in codes, by its layer and number."""


@dataclass(frozen=True)
class CompositionalSupport:
    """Whether every module occurs in some task."""

    unseen: tuple[Module, ...]
    """Modules that no task uses."""

    def __bool__(self) -> bool:
        return not self.unseen


@dataclass(frozen=True)
class ConnectedSupport:
    """Whether tasks that share modules chain all of them together."""

    components: tuple[tuple[Module, ...], ...]
    """Modules that tasks join, directly or through one another, in the order of the smallest."""
    unseen: tuple[Module, ...]
    """Modules that no task uses; they are in no component."""
    num_graphs: int = 1
    """How many graphs were judged, each on its own: one per layer."""

    def __bool__(self) -> bool:
        return len(self.components) <= self.num_graphs


def compositional_support(codes: Bool[ArrayLike, "tasks *layers modules"]) -> CompositionalSupport:
    """Whether every module is seen: the sum of the masks has no zero (in any layer of codes).

    ```python
    >>> compositional_support(masks_of(["01", "13"], 4)).unseen
    (2,)
    ```
    """
    trained = checked_codes(codes)
    return CompositionalSupport(_named(np.argwhere(~trained.any(0)), np.ndim(codes)))


def connected_support(
    codes: Bool[ArrayLike, "tasks *layers modules"], *, across_layers: bool = False
) -> ConnectedSupport:
    """Whether masks that overlap chain all tasks together.

    The graph whose nodes are the tasks and whose edges join tasks with a module in common has one
    component.

    ```python
    >>> connected_support(masks_of(["01", "12", "34", "45"], 6)).components
    ((0, 1, 2), (3, 4, 5))
    ```

    **Arguments:**

    - `codes`: the trained masks, or codes.
    - `across_layers`: by default every layer of codes is judged on its own, by the masks that occur
        in it, and all must be connected. If True a task joins its modules in all layers: this is
        the condition on a table of factors, where a combination has one value of every factor.
    """
    trained = checked_codes(codes)
    num_tasks, layers, modules = trained.shape
    labels = np.stack(np.unravel_index(np.arange(layers * modules), (layers, modules)), axis=1)
    if across_layers:
        graphs = [(trained.reshape(num_tasks, -1), labels)]
    else:
        graphs = [
            (trained[:, layer], labels[layer * modules : (layer + 1) * modules])
            for layer in range(layers)
        ]
    return ConnectedSupport(
        components=tuple(
            _named(names[part], np.ndim(codes))
            for masks, names in graphs
            for part in _components(masks)
        ),
        unseen=_named(np.argwhere(~trained.any(0)), np.ndim(codes)),
        num_graphs=len(graphs),
    )


def checked_codes(codes: Bool[ArrayLike, "tasks *layers modules"]) -> np.ndarray:
    """Masks or codes as bool [tasks, layers, modules]."""
    checked = np.asarray(codes, bool)
    if checked.ndim == 2:
        checked = checked[:, None]
    if checked.ndim != 3 or 0 in checked.shape:
        raise ValueError(
            "masks have the shape [tasks, modules] and codes [tasks, layers, modules], none of"
            f" them empty; these have the shape {np.shape(codes)}"
        )
    idle = np.argwhere(~checked.any(-1))
    if len(idle):
        raise ValueError(f"task {idle[0, 0]} uses no module in layer {idle[0, 1]}; leave it out")
    return checked


def _components(masks: np.ndarray) -> list[np.ndarray]:
    """Modules of each connected part; two modules are neighbours if a task uses both."""
    seen = np.flatnonzero(masks.any(0))
    used = masks[:, seen].astype(np.float32)
    count, labels = connected_components(used.T @ used > 0, directed=False)
    return [seen[labels == part] for part in range(count)]


def _named(indices: np.ndarray, ndim: int) -> tuple[Module, ...]:
    """Rows (layer, module) as they are named: by the module alone where there are no layers."""
    return tuple(int(m) if ndim == 2 else (int(layer), int(m)) for layer, m in indices)


@dataclass(frozen=True)
class FamilySamples:
    """Whether a task family has enough tasks to fix how its modules mix."""

    modules: tuple[int, ...]
    directions: int
    """How many distinct directions of tasks lie in its span, those of other families included."""
    needed: int
    """d_k + 1, one more than it has modules; 1 for a single module: its tasks lie on a line."""
    general: bool
    """Whether so many are in general position: every d_k of them linearly independent."""
    contained: bool
    """Whether all its modules belong to a larger family, which then decides."""

    def __bool__(self) -> bool:
        return self.general


@dataclass(frozen=True)
class SampleCondition:
    """Whether every task family that no other contains has enough tasks."""

    families: tuple[FamilySamples, ...]

    def __bool__(self) -> bool:
        return all(family for family in self.families if not family.contained)


def discrete_sample_condition(
    latents: Float[ArrayLike, "tasks modules"], masks: Bool[ArrayLike, "families modules"]
) -> SampleCondition:
    """Whether finitely many tasks are enough: d_k + 1 per family, in general position (Theorem 9).

    A family with d_k modules needs d_k + 1 tasks in its span of which every d_k are linearly
    independent: {0}, {1} and {0, 1} together are enough for modules 0 and 1; {0, 1} alone is not. A
    single module needs one task, the others are its multiples.

    The search for such tasks is exhaustive: quick for tasks drawn at random and for few tasks per
    family, exponential in the number of modules at worst.
    """
    z, b = np.asarray(latents, float), checked_codes(masks)[:, 0]
    families = []
    for mask in b:
        in_span = _directions(z[~(z != 0)[:, ~mask].any(1)][:, mask])
        families.append(
            FamilySamples(
                modules=tuple(np.flatnonzero(mask).tolist()),
                directions=len(in_span),
                needed=int(mask.sum()) + 1 if mask.sum() > 1 else 1,
                general=_has_general_position(in_span),
                contained=bool((b[:, mask].all(1) & (b.sum(1) > mask.sum())).any()),
            )
        )
    return SampleCondition(tuple(families))


def _directions(vectors: np.ndarray) -> np.ndarray:
    """The vectors that are neither zero nor collinear to one before, with norm 1."""
    kept: list[np.ndarray] = []
    for vector in vectors[vectors.any(1)]:
        unit = vector / np.linalg.norm(vector)
        if all(abs(unit @ other) < 1 - 1e-9 for other in kept):
            kept.append(unit)
    return np.array(kept).reshape(-1, vectors.shape[1])


def _has_general_position(directions: np.ndarray) -> bool:
    """Whether d + 1 of the directions in R^d have no d among them that are linearly dependent.

    That is so if one of them has no zero coordinate in a basis of d others.
    """
    d = directions.shape[1]
    if d == 1:
        return len(directions) > 0
    return any(
        (np.abs(np.linalg.solve(basis.T, directions.T)) > 1e-6).all(0).any()
        for basis in _bases(directions, d)
    )


def _bases(directions: np.ndarray, d: int) -> Iterator[np.ndarray]:
    for chosen in combinations(range(len(directions)), d):
        basis = directions[list(chosen)]
        if np.linalg.matrix_rank(basis) == d:
            yield basis
