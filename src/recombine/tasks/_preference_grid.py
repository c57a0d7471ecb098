"""Compositional preferences: rewards of objects are mixtures of modules (Appendix C.3)."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..splits._code_distribution import AbstractCodes
from ._episode import Episode, Examples
from ._foraging_grid import ForagingGrid
from ._task import AbstractTask
from ._task_latents import continuous_latents


class PreferenceGrid(AbstractTask):
    """Predict the action values of an agent whose preferences have to be found in demonstrations.

    A task is a latent z within the span of a mask of modules (Algorithm 1). The agent's preference
    vector Σ_m z_m P_m is a mixture of templates P_m and holds the reward of every colour. The
    learner sees the states that the agent visits in some instances of the grid, with its action
    values in each, and is evaluated on others. An instance fills `world.horizon` samples; those
    after the agent has terminated have weight 0.

    The paper's mean squared error is half the *sum* over the actions, averaged over states that
    count. In this unit predicting the mean action values has a loss of 1.3, and predicting 0 one of
    2.8, on average over templates; single sets of templates give from half to twice as much.

    **Arguments:**

    - `templates`: P, one row per module and one column per colour; standard normal in the paper.
    - `codes`: the masks that tasks are drawn from, codes of one layer.
    - `world`: the grid.
    - `support`, `query`: the number of instances to adapt to, and to be evaluated on. The
        published code takes a single query instance at evaluation.
    - `compact`: observe free cells only, and no walls, which never change.
    - `sum_to_one`: the latents of the paper's prose (see `continuous_latents`).

    ```python
    codes = splits.ListedCodes(splits.up_to_k_hot_masks(8, 3))
    task = tasks.PreferenceGrid(jax.random.normal(jax.random.key(0), (8, 8)), codes)
    episode = task.sample(128, key=jax.random.key(1))
    episode.support.x.shape, episode.support.y.shape  # (128, 128, 490), (128, 128, 5)
    episode.code.shape  # (128, 1, 8)
    ```
    """

    templates: Float[Array, "modules colours"]
    codes: AbstractCodes
    world: ForagingGrid = ForagingGrid()
    support: int = eqx.field(static=True, default=16)
    query: int = eqx.field(static=True, default=16)
    compact: bool = eqx.field(static=True, default=False)
    sum_to_one: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        _, layers, modules = jax.eval_shape(lambda: self.codes.draw(1, key=jax.random.key(0))).shape
        if (layers, modules) != (1, len(self.templates)):
            raise ValueError(
                f"codes of {layers} layers and {modules} modules do not fit templates, which are "
                f"one layer of {len(self.templates)} modules"
            )
        if self.world.colours != self.templates.shape[1]:
            raise ValueError(
                f"templates of {self.templates.shape[1]} colours do not fit a world of "
                f"{self.world.colours}"
            )

    @property
    def inputs(self) -> int:
        """The length of an observation."""
        return self.world.inputs(compact=self.compact)

    @property
    def outputs(self) -> int:
        """The number of actions."""
        return self.world.actions

    def on(self, codes: AbstractCodes) -> "PreferenceGrid":
        """The same templates and the same world on other combinations."""
        return replace(self, codes=codes)

    def preferences(
        self, masks: Bool[Array, "tasks modules"], *, key: PRNGKeyArray
    ) -> Float[Array, "tasks colours"]:
        """Draw a preference vector in the span of each mask."""
        return continuous_latents(masks, key=key, sum_to_one=self.sum_to_one) @ self.templates

    def demonstrations(
        self, preferences: Float[Array, "tasks colours"], number: int, *, key: PRNGKeyArray
    ) -> Examples:
        """Samples from `number` instances of each task: observations, and action values as targets.

        **Returns:** `number * world.horizon` samples per task, instance after instance.
        """
        world, size = self.world, len(preferences)
        instances = world.instances(size * number, key=key)
        rewards = jnp.take_along_axis(
            jnp.repeat(preferences, number, axis=0), instances.colours, axis=1
        )
        shown = world.demonstrate(instances, rewards)
        x = world.observe(instances, shown.cell, shown.remaining, compact=self.compact)
        samples = (size, number * world.horizon)
        return Examples(
            x.reshape(*samples, -1),
            shown.values.reshape(*samples, -1),
            shown.visited.reshape(samples).astype(x.dtype),
        )

    def sample(self, size: int, *, key: PRNGKeyArray) -> Episode:
        """Draw `size` tasks, and new instances of the grid for each."""
        code_key, latent_key, instance_key = jax.random.split(key, 3)
        code = self.codes.draw(size, key=code_key)
        preferences = self.preferences(code[:, 0], key=latent_key)
        examples = self.demonstrations(preferences, self.support + self.query, key=instance_key)
        border = self.support * self.world.horizon
        return Episode(
            Examples(*(part[:, :border] for part in examples)),
            Examples(*(part[:, border:] for part in examples)),
            code.astype(float),
        )
