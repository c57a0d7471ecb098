"""The network of teacher and student in the theory: one hidden layer whose weights mix modules."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._initializers import truncated_normal


class ModularNetwork(eqx.Module):
    """y = a ψ(W(Θ, z) x / √n) with W(Θ, z) = Σ_m z_m Θ_m and ψ = ReLU; no biases (Eq. 3).

    The task latent z says how much of each module enters a task; Θ and the readout a are shared by
    all tasks. With z = (1, 0, ..., 0) the first layer is the first module itself.
    """

    Theta: Float[Array, "modules hidden inputs"]
    a: Float[Array, "outputs hidden"]

    @classmethod
    def random(
        cls,
        *,
        modules: int = 6,
        inputs: int = 16,
        hidden: int = 16,
        outputs: int = 4,
        key: PRNGKeyArray,
    ) -> "ModularNetwork":
        """Truncated normal weights of nominal deviation 1/√modules (Θ) and 1/√hidden (a).

        Normal draws beyond two deviations are redrawn and the rest is not rescaled, as in the
        published code: the actual deviation is 0.880 of the nominal one.
        """
        module_key, readout_key = jax.random.split(key)
        return cls(
            truncated_normal((modules, hidden, inputs), modules**-0.5, key=module_key),
            truncated_normal((outputs, hidden), hidden**-0.5, key=readout_key),
        )

    def student(
        self, width_factor: int = 1, module_factor: int = 1, *, key: PRNGKeyArray
    ) -> "ModularNetwork":
        """A random network with these factors times the hidden units and modules of this one."""
        modules, hidden, inputs = self.Theta.shape
        return ModularNetwork.random(
            modules=module_factor * modules,
            inputs=inputs,
            hidden=width_factor * hidden,
            outputs=len(self.a),
            key=key,
        )

    def weights(self, z: Float[Array, "*tasks modules"]) -> Float[Array, "*tasks hidden inputs"]:
        """The first layer of each task, W(Θ, z)."""
        modules, hidden, inputs = self.Theta.shape
        return (z @ self.Theta.reshape(modules, -1)).reshape(*z.shape[:-1], hidden, inputs)

    def respond(
        self, W: Float[Array, "tasks hidden inputs"], x: Float[Array, "samples inputs"]
    ) -> Float[Array, "tasks samples outputs"]:
        """The outputs for every input, of every task whose first layer is given."""
        tasks, hidden, inputs = W.shape
        # Neuron by neuron, and all tasks of a neuron side by side: both layers are then one matrix
        # product each, and nothing large is transposed.
        rows = W.swapaxes(0, 1).reshape(-1, inputs) / jnp.sqrt(inputs)
        activity = jax.nn.relu(rows @ x.T).reshape(hidden, -1)
        return jnp.moveaxis((self.a @ activity).reshape(-1, tasks, len(x)), 0, -1)

    def __call__(
        self, z: Float[Array, "tasks modules"], x: Float[Array, "samples inputs"]
    ) -> Float[Array, "tasks samples outputs"]:
        """The outputs of every task for every input."""
        return self.respond(self.weights(z), x)
