"""Maps and borders of functions that are known."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from recombine import probes

border = eqx.filter_jit(probes.boundary_position)


def test_rows_of_a_map_run_upwards_and_columns_to_the_right():
    found = np.asarray(probes.decision_map(lambda x: x @ jnp.array([[1.0], [10.0]]), 3.0, side=4))
    places = np.array([-3, -1, 1, 3])
    np.testing.assert_allclose(found, places[None, :] + 10 * places[:, None], rtol=1e-6)


def test_a_map_shows_the_first_output():
    found = probes.decision_map(lambda x: jnp.stack([x[:, 0], 0 * x[:, 0] - 9], axis=1), side=3)
    np.testing.assert_allclose(found, [[-6, 0, 6]] * 3)


def test_the_border_of_a_line_is_where_the_line_is():
    heights = jnp.array([-2.0, 0.0, 1.0, 3.0])
    found = border(lambda x: x[:, :1] - 0.5 * x[:, 1:] - 0.25, heights)
    np.testing.assert_allclose(found, 0.5 * heights + 0.25, atol=1e-5)


def test_the_border_is_followed_from_the_right():
    """Positive left of −4, and right of the height."""
    heights = jnp.array([0.0, 2.0])

    def bands(x):
        return jnp.where(x[:, :1] < -4, 1.0, x[:, :1] - x[:, 1:])

    np.testing.assert_allclose(border(bands, heights), heights, atol=1e-5)


def test_a_border_out_of_sight_is_at_the_edge():
    heights = jnp.array([-9.0, 9.0])
    found = border(lambda x: x[:, :1] - x[:, 1:], heights, 6.0)
    np.testing.assert_allclose(found, [-6, 6])
