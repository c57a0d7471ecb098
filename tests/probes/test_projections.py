"""Which image a projection looks at."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes
from recombine.probes._accuracy import component_accuracy

PIXELS, MODULES, WIDTH = 20, 8, 6


def normal(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape))


def masked(k, slots):
    """Random projections, each blind to all images but one."""
    keep = np.arange(k)[:, None] == np.asarray(slots)
    U = normal(k, PIXELS, MODULES, WIDTH) * keep[:, None, :, None]
    return U.reshape(k * PIXELS, MODULES, WIDTH)


def test_a_module_blind_to_all_images_but_one_has_a_concentration_of_1():
    slots = [3, 0, 3, 3, 1, 0, 0, 3]
    found = probes.image_concentration(masked(4, slots), 4)
    assert np.allclose(found.share, 1)
    assert list(found.image) == slots
    assert found.distinct == 3


@pytest.mark.parametrize("k", [2, 6])
def test_random_projections_have_a_concentration_of_about_1_over_k(k):
    U, x = normal(k * 200, 32, 50), normal(200, k * 200)
    for found in (probes.image_concentration(U, k), probes.image_concentration(U, k, x=x)):
        assert np.all(found.share >= 1 / k)
        assert found.share.mean() == pytest.approx(1 / k, rel=0.15)
    assert probes.image_concentration(U, k).distinct == k


def test_shares_are_those_of_squared_weights_image_by_image(x64):
    U = normal(3 * PIXELS, MODULES, WIDTH)
    found = probes.image_concentration(U, 3)
    for j in range(MODULES):
        energy = [
            sum(float(w) ** 2 for w in np.asarray(U[i * PIXELS : (i + 1) * PIXELS, j]).ravel())
            for i in range(3)
        ]
        assert found.share[j] == pytest.approx(max(energy) / sum(energy), abs=1e-12)
        assert found.image[j] == np.argmax(energy)


def test_the_variance_of_projected_inputs_counts_where_inputs_are_given(x64):
    U = jnp.ones((2, 1, 1))
    x = jnp.array([[1.0, 3.0], [-1.0, -3.0]])
    found = probes.image_concentration(U, 2, x=x)
    assert found.share[0] == pytest.approx(9 / 10)
    assert found.image[0] == 1
    # Equal weights alone do not tell the images apart, and a constant input varies with nothing.
    assert probes.image_concentration(U, 2).share[0] == 0.5
    assert probes.image_concentration(U, 2, x=x.at[:, 1].set(7.0)).image[0] == 0


def test_a_projection_map_is_a_column_of_a_module_as_images():
    U = normal(3 * PIXELS, MODULES, WIDTH)
    panels = probes.projection_map(U, 3, (4, 5), module=2, column=1)
    assert panels.shape == (3, 4, 5)
    assert panels[1, 2, 3] == U[PIXELS + 2 * 5 + 3, 2, 1]


def test_inputs_that_are_not_k_images_are_refused():
    with pytest.raises(ValueError, match="60 inputs are not those of 7 images"):
        probes.image_concentration(jnp.ones((60, 2, 3)), 7)


def test_two_of_four_images_right_are_an_accuracy_of_a_half():
    labels = jnp.array([[1, 2, 0, 2]])
    logits = jax.nn.one_hot(jnp.array([[1, 2, 1, 0]]), 3)
    assert component_accuracy(logits, labels) == 0.5
    assert component_accuracy(jax.nn.one_hot(labels, 3), labels) == 1
