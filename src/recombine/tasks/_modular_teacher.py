"""The teacher of the theory: tasks are mixtures of the modules of one random network."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray

from ..models._modular_network import ModularNetwork
from ._episode import Episode, Examples
from ._task import AbstractTask
from ._task_latents import continuous_latents, discrete_latents


class ModularTeacher(AbstractTask):
    """Regress the outputs of a `ModularNetwork` whose task latent is hidden (Appendix C.1).

    A task draws a mask, and then its latent: with masks 01 and 12 of three modules, discrete tasks
    are (1, 1, 0)/√2 and (0, 1, 1)/√2, and a continuous one is (0.71, 0.58, 0). Inputs are uniform
    with mean 0 and standard deviation 1; outputs have no noise.

    **Arguments:**

    - `network`: the teacher.
    - `masks`: the masks of the task families, drawn with equal probability.
    - `discrete`: one latent per mask; otherwise it is drawn within the mask's span.
    - `sum_to_one`: how continuous latents are drawn, see `continuous_latents`.
    - `samples`: the number of examples per task in the support set, and in the query set.
    """

    network: ModularNetwork
    masks: Bool[Array, "families modules"] = eqx.field(converter=jnp.asarray)
    discrete: bool = False
    sum_to_one: bool = False
    samples: int = 256

    def on(self, masks: Bool[ArrayLike, "families modules"]) -> "ModularTeacher":
        """The same teacher with continuous tasks of other masks, seen or unseen."""
        masks = jnp.asarray(masks)
        return ModularTeacher(self.network, masks, False, self.sum_to_one, self.samples)

    def latents(self, size: int, *, key: PRNGKeyArray) -> Float[Array, "size modules"]:
        """Draw the latents z of `size` tasks, with replacement."""
        mask_key, latent_key = jax.random.split(key)
        return self.latents_of(jax.random.choice(mask_key, self.masks, (size,)), key=latent_key)

    def latents_of(
        self, masks: Bool[ArrayLike, "tasks modules"], *, key: PRNGKeyArray
    ) -> Float[Array, "tasks modules"]:
        """Draw one latent for each of the masks."""
        if self.discrete:
            return discrete_latents(masks)
        return continuous_latents(masks, key=key, sum_to_one=self.sum_to_one)

    def inputs(self, size: int, *, key: PRNGKeyArray) -> Float[Array, "size inputs"]:
        """Draw inputs, uniform on [-√3, √3]."""
        side = 3**0.5
        shape = (size, self.network.Theta.shape[-1])
        return jax.random.uniform(key, shape, minval=-side, maxval=side)

    def sample(self, size: int, *, key: PRNGKeyArray) -> Episode:
        """Draw `size` tasks, each with examples of its own."""
        latent_key, support_key, query_key = jax.random.split(key, 3)
        z = self.latents(size, key=latent_key)

        def examples(z, key):
            x = self.inputs(self.samples, key=key)
            return Examples(x, self.network(z[None], x)[0], jnp.ones(len(x)))

        support, query = (
            jax.vmap(examples)(z, jax.random.split(key, size)) for key in (support_key, query_key)
        )
        return Episode(support, query, z[:, None])
