import jax.numpy as jnp
import numpy as np

from recombine import models


def test_towers_see_one_part_each_and_add_their_outputs():
    def first(x):
        return x[:, :, :, 0].sum(axis=1)

    x = jnp.arange(16.0).reshape(1, 2, 8, 1)
    ours = models.Towers((first, lambda x: 10 * first(x)), axis=2)(x)
    np.testing.assert_array_equal(ours, [[8 + 160, 10 + 180, 12 + 200, 14 + 220]])


def test_the_output_function_is_applied_to_the_sum():
    ours = models.Towers((jnp.sin, jnp.cos), output=jnp.tanh)(jnp.array([[1.0, 2.0]]))
    np.testing.assert_allclose(ours, np.tanh([[np.sin(1) + np.cos(2)]]), rtol=1e-6)
