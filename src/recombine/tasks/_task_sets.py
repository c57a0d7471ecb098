"""Sets of tasks that are looked at together."""

import equinox as eqx
import jax
import jax.numpy as jnp

from ._episode import Episode


class TaskSets(eqx.Module):
    """Named sets of tasks on which a meta-learner is measured, always the same.

    **Arguments:**

    - `sets`: episodes by name.
    - `chosen_on`: the set that the best model is chosen on; by default the first. Name it if `sets`
        has been through `jax.jit`, which sorts the names of a dictionary.
    """

    episodes: Episode
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    chosen_on: str

    def __init__(self, sets: dict[str, Episode], chosen_on: str | None = None):
        if not sets:
            raise ValueError("name one set of tasks at least, to choose the best model on")
        self.chosen_on = next(iter(sets)) if chosen_on is None else chosen_on
        if self.chosen_on not in sets:
            raise ValueError(f"no set is called {chosen_on!r}; there are {', '.join(sets)}")
        shapes = {tuple(a.shape[1:] for a in jax.tree.leaves(episode)) for episode in sets.values()}
        if len(shapes) > 1:
            raise ValueError("sets of tasks must have the same shapes; draw them all alike")
        self.names = tuple(sets)
        self.sizes = tuple(len(episode.code) for episode in sets.values())
        self.episodes = jax.tree.map(lambda *parts: jnp.concatenate(parts), *sets.values())

    def slices(self) -> dict[str, slice]:
        """Where each set lies among all tasks."""
        ends = [sum(self.sizes[: n + 1]) for n in range(len(self.sizes))]
        return {
            name: slice(end - size, end)
            for name, size, end in zip(self.names, self.sizes, ends, strict=True)
        }
