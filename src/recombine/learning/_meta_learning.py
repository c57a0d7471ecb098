"""Bilevel meta-learning: slow parameters that make adaptation to a task succeed (Algorithm 2)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..models._meta_model import AbstractMetaModel
from ..tasks._episode import Episode, Examples
from ..tasks._task import AbstractTask
from ..tasks._task_sets import TaskSets
from ._adaptation import Adaptation, query_loss
from ._keep import Best, Kept
from ._loop import AbstractRule
from ._optimizer import AnyOptimizer, adamw, chain, clip

Measure = Callable[[Float[Array, "samples outputs"], Examples], Float[Array, ""]]


class MetaState(NamedTuple):
    """Where meta-learning stands. The next tasks are drawn with `key`."""

    model: AbstractMetaModel
    opt_state: Any
    key: Any
    kept: Any


class MetaLearning(AbstractRule[MetaState]):
    """Learn the slow parameters by differentiating through the whole inner loop (Eq. 1).

    A step draws tasks, adapts to the support set of each, and takes a step on the mean query loss
    with respect to the slow parameters. Steps whose gradient is not finite are left out.

    **Arguments:**

    - `task`: draws the training tasks: `sample(size, key=key)` gives an `Episode`.
    - `adaptation`: the inner loop.
    - `sets`, `measures`: what is measured: functions of predictions and `Examples` by name. `loss`,
        that of the adaptation, is always measured.
    - `optimizer`: the outer optimizer; by default AdamW on gradients of a norm up to 1.
    - `tasks`: tasks per step.
    - `batch_size`: tasks to work on at a time; fewer need less memory, and may be faster where the
        processor's cache is small.
    - `every`: steps between two measurements, after each of which the model is kept if it is the
        best so far: see `Best`.
    - `test_steps`: inner steps when measuring; by default those of the adaptation.
    - `mesh`: devices to spread the tasks of a step over, a mesh with one axis; by default one.
    """

    task: AbstractTask
    adaptation: Adaptation
    sets: TaskSets
    optimizer: AnyOptimizer = eqx.field(
        default_factory=lambda: chain(clip(1.0), adamw(0.001, weight_decay=0.01))
    )
    measures: dict[str, Measure] = eqx.field(default_factory=dict)
    tasks: int = 128
    batch_size: int | None = None
    every: int = 1000
    test_steps: int | None = None
    mesh: jax.sharding.Mesh | None = eqx.field(static=True, default=None)

    @property
    def _keep(self) -> Best:
        return Best("loss", highest=False)

    def init(self, model: AbstractMetaModel, *, key: PRNGKeyArray) -> MetaState:
        """The state with which learning starts."""
        slow, _ = model.partition()
        state = MetaState(model, self.optimizer.init(slow), key, self._keep.initial(model))
        if self.mesh is None:
            return state
        # Where the first step will leave it: the second must not compile anew.
        return eqx.filter_shard(
            state, jax.sharding.NamedSharding(self.mesh, jax.sharding.PartitionSpec())
        )

    @eqx.filter_jit
    def measure(self, model: AbstractMetaModel) -> dict[str, Float[Array, ""]]:
        """Means over the tasks of every set, after adaptation: `{"<set> <measure>": mean}`."""
        adaptation = self.adaptation
        if self.test_steps is not None:
            adaptation = eqx.tree_at(lambda a: a.steps, adaptation, self.test_steps)

        def one(task):
            episode, key = task
            prediction = model(episode.query.x, adaptation(model, episode.support, key=key))
            measures = {"loss": adaptation.loss} | self.measures
            return {name: measure(prediction, episode.query) for name, measure in measures.items()}

        # One fixed key: every measurement sees the same mini-batches.
        keys = jax.random.split(jax.random.key(0), sum(self.sets.sizes))
        size = len(keys) if self.batch_size is None else self.batch_size
        values = jax.lax.map(one, (self.sets.episodes, keys), batch_size=size)
        return {
            f"{name} {measure}": value[place].mean()
            for name, place in self.sets.slices().items()
            for measure, value in values.items()
        }

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
            group = len(keys) if self.batch_size is None else self.batch_size
            if len(keys) % group:
                raise ValueError(
                    f"batch_size ({group}) must divide the number of tasks ({len(keys)})"
                )
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
        """One outer step."""
        key, of_tasks, of_batches = jax.random.split(state.key, 3)
        episode = self.task.sample(self.tasks, key=of_tasks)
        _, gradient = self.gradient(state.model, episode, key=of_batches)
        slow, _ = state.model.partition()
        updates, opt_state = self.optimizer.update(gradient, state.opt_state, slow)
        finite = jnp.array([jnp.isfinite(g).all() for g in jax.tree.leaves(gradient)]).all()
        model, opt_state = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old),
            (eqx.apply_updates(state.model, updates), opt_state),
            (state.model, state.opt_state),
        )
        return MetaState(model, opt_state, key, state.kept)

    def observe(self, state: MetaState) -> dict[str, Array]:
        """What `measure` gives; `loss` is that on the set that the best model is chosen on."""
        seen = self.measure(state.model)
        return {"loss": seen[f"{self.sets.chosen_on} loss"]} | seen

    def noted(self, state: MetaState, seen: dict[str, Array], t: Int[Array, ""]) -> MetaState:
        """The model is kept if it is the best so far."""
        return state._replace(kept=self._keep.update(state.kept, state.model, seen, t))

    def kept(self, state: MetaState) -> Kept:
        """The best model, and the step at which it was measured."""
        return self._keep.choice(state.kept, state.model)
