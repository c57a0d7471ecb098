"""Bilevel meta-learning: slow parameters that make adaptation to a task succeed (Algorithm 2)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..models._meta_model import AbstractMetaModel
from ..tasks._episode import Episode, Examples
from ..tasks._task import AbstractTask
from ._adaptation import Adaptation, query_loss
from ._loop import AbstractRule

Measure = Callable[[Float[Array, "samples outputs"], Examples], Float[Array, ""]]


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


@eqx.filter_jit
def evaluate(
    model: AbstractMetaModel,
    sets: TaskSets,
    adaptation: Adaptation,
    measures: dict[str, Measure],
    *,
    at_once: int | None = None,
    key: PRNGKeyArray,
) -> dict[str, Float[Array, ""]]:
    """Mean over the tasks of every set, after adaptation to each: `{"<set> <measure>": value}`."""

    def one(task):
        episode, key = task
        fast = adaptation(model, episode.support, key=key)
        prediction = model(episode.query.x, fast)
        return {name: measure(prediction, episode.query) for name, measure in measures.items()}

    keys = jax.random.split(key, sum(sets.sizes))
    size = len(keys) if at_once is None else at_once
    values = jax.lax.map(one, (sets.episodes, keys), batch_size=size)
    return {
        f"{name} {measure}": value[place].mean()
        for name, place in sets.slices().items()
        for measure, value in values.items()
    }


class MetaState(NamedTuple):
    """Where meta-learning stands."""

    model: AbstractMetaModel
    """The model."""
    optimiser: Any
    """The memory of the outer optimiser."""
    key: Any
    """The key from which the next tasks are drawn."""
    best: AbstractMetaModel
    """The model with the lowest loss so far on the task set that the best is chosen on."""
    lowest: Float[Array, ""]
    """That loss."""
    seen: dict[str, Float[Array, ""]]
    """The last measurements."""


class MetaLearning(AbstractRule[MetaState]):
    """Learn the slow parameters by differentiating through the whole inner loop (Eq. 1).

    A step draws tasks, adapts to the support set of each, and takes an AdamW step on the mean
    query loss with respect to the slow parameters, after clipping the gradient's global norm.
    Steps whose gradient is not finite are left out.

    **Arguments:**

    - `task`: draws the training tasks: `sample(size, key=key)` gives an `Episode`.
    - `adaptation`: the inner loop.
    - `sets`, `measures`: what is measured every `measure_every` steps: functions of predictions
        and `Examples` by name. `loss`, that of the adaptation, is always measured.
    - `learning_rate`, `weight_decay`, `clip`: of the outer optimiser.
    - `tasks`: tasks a step.
    - `at_once`: tasks to work on at a time; fewer need less memory, and may be faster where the
        processor's cache is small.
    - `test_steps`: inner steps when measuring; by default those of the adaptation.
    - `mesh`: devices to spread the tasks of a step over, a mesh with one axis; by default one.
    """

    task: AbstractTask
    adaptation: Adaptation
    sets: TaskSets
    learning_rate: float | Float[Array, ""] = 0.001
    weight_decay: float | Float[Array, ""] = 0.01
    clip: float | Float[Array, ""] = 1.0
    measures: dict[str, Measure] = eqx.field(default_factory=dict)
    tasks: int = 128
    at_once: int | None = None
    measure_every: int = 1000
    test_steps: int | None = None
    mesh: jax.sharding.Mesh | None = eqx.field(static=True, default=None)

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.clip_by_global_norm(self.clip),
            optax.adamw(self.learning_rate, weight_decay=self.weight_decay),
        )

    def init(self, model: AbstractMetaModel, *, key: PRNGKeyArray) -> MetaState:
        """The state with which learning starts."""
        slow, _ = model.partition()
        seen = self.measure(model)
        # Every number is lower than one that is none.
        lowest = jnp.where(jnp.isnan(self._deciding(seen)), jnp.inf, self._deciding(seen))
        state = MetaState(model, self._optimiser().init(slow), key, model, lowest, seen)
        if self.mesh is None:
            return state
        # Where the first step will leave it: the second must not compile anew.
        return eqx.filter_shard(
            state, jax.sharding.NamedSharding(self.mesh, jax.sharding.PartitionSpec())
        )

    def measure(self, model: AbstractMetaModel) -> dict[str, Float[Array, ""]]:
        """What is measured of `model` on every task set."""
        adaptation = self.adaptation
        if self.test_steps is not None:
            adaptation = eqx.tree_at(lambda a: a.steps, adaptation, self.test_steps)
        measures = {"loss": adaptation.loss} | self.measures
        # One fixed key: every measurement sees the same mini-batches.
        return evaluate(
            model, self.sets, adaptation, measures, at_once=self.at_once, key=jax.random.key(0)
        )

    def _deciding(self, seen: dict[str, Float[Array, ""]]) -> Float[Array, ""]:
        return seen[f"{self.sets.chosen_on} loss"]

    def gradient(
        self, model: AbstractMetaModel, episode: Episode, *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], AbstractMetaModel]:
        """The mean query loss over tasks, and its gradient with respect to the slow parameters."""
        keys = jax.random.split(key, len(episode.code))
        slow, rest = model.partition()
        number = len(keys)

        def loss_of(slow, episode, keys):
            model = eqx.combine(slow, rest)
            losses = jax.vmap(lambda e, k: query_loss(model, e, self.adaptation, key=k))
            return losses(episode, keys).sum() / number

        def of_share(slow, episode, keys):
            """Loss and gradient of some of the tasks, a group at a time."""
            group = len(keys) if self.at_once is None else self.at_once
            if len(keys) % group:
                raise ValueError(f"at_once ({group}) must divide the number of tasks ({len(keys)})")
            parts = jax.tree.map(lambda a: a.reshape(-1, group, *a.shape[1:]), (episode, keys))

            def accumulate(total, part):
                return jax.tree.map(jnp.add, total, jax.value_and_grad(loss_of)(slow, *part)), None

            zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, slow))
            return jax.lax.scan(accumulate, zero, parts)[0]

        if self.mesh is None:
            return of_share(slow, episode, keys)
        (axis,) = self.mesh.axis_names
        shares, all_of_it = jax.sharding.PartitionSpec(axis), jax.sharding.PartitionSpec()
        spread = jax.shard_map(
            lambda *share: jax.lax.psum(of_share(*share), axis),
            mesh=self.mesh,
            in_specs=(all_of_it, shares, shares),
            out_specs=all_of_it,
            check_vma=False,
        )
        return spread(slow, episode, keys)

    def step(self, state: MetaState, t: Int[Array, ""]) -> MetaState:
        """One outer step, and from time to time a measurement."""
        key, of_tasks, of_batches = jax.random.split(state.key, 3)
        episode = self.task.sample(self.tasks, key=of_tasks)
        _, gradient = self.gradient(state.model, episode, key=of_batches)
        slow, _ = state.model.partition()
        updates, memory = self._optimiser().update(gradient, state.optimiser, slow)
        finite = jnp.array([jnp.isfinite(g).all() for g in jax.tree.leaves(gradient)]).all()
        model, memory = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old),
            (eqx.apply_updates(state.model, updates), memory),
            (state.model, state.optimiser),
        )
        due = (t + 1) % self.measure_every == 0
        # `cond` hashes what it calls, and a method of a module of tracers has no hash.
        seen = jax.lax.cond(due, lambda m: self.measure(m), lambda _: state.seen, model)  # noqa: PLW0108
        better = due & (self._deciding(seen) < state.lowest)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), model, state.best)
        lowest = jnp.where(better, self._deciding(seen), state.lowest)
        return MetaState(model, memory, key, best, lowest, seen)

    def observe(self, state: MetaState) -> dict[str, Array]:
        """The last measurements; `loss` is that on the set that the best model is chosen on."""
        return {"loss": self._deciding(state.seen)} | state.seen
