"""Task latents: discrete ones are normalised masks, continuous ones fill the mask's span."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import splits
from recombine.tasks._task_latents import continuous_latents, discrete_latents

KEY = jax.random.key(0)
MASKS = splits.up_to_k_hot_masks(4, 4)


def test_a_discrete_latent_is_its_mask_divided_by_its_norm(x64):
    z = discrete_latents(np.array([[False, True, False, True], [True, True, True, False]]))
    assert np.allclose(z, [[0, 0.5**0.5, 0, 0.5**0.5], [3**-0.5, 3**-0.5, 3**-0.5, 0]], atol=1e-15)
    assert np.allclose(jnp.linalg.norm(discrete_latents(MASKS), axis=1), 1, atol=1e-15)


@pytest.mark.parametrize("sum_to_one", [False, True])
def test_continuous_latents_lie_between_a_half_and_one_on_the_mask_and_are_zero_off_it(sum_to_one):
    masks = np.tile(MASKS, (200, 1))
    z = np.asarray(continuous_latents(masks, key=KEY, sum_to_one=sum_to_one))
    assert np.all(z[~masks] == 0)
    assert np.all(z[masks] >= 0.5)
    assert np.all(z[masks] <= 1)


def test_continuous_latents_follow_algorithm_1(x64):
    E = np.asarray(jax.random.exponential(KEY, MASKS.shape))
    expected = []
    for mask, e in zip(MASKS.astype(float), E, strict=True):
        z = e * mask
        z = z / (1 + np.abs(z).sum())
        expected.append(0.5 * (z + mask))
    assert np.allclose(continuous_latents(MASKS, key=KEY), expected, atol=1e-15)


def test_latents_that_sum_to_one_before_the_shift_make_single_modules_discrete(x64):
    z = continuous_latents(MASKS, key=KEY, sum_to_one=True)
    sizes = MASKS.sum(axis=1)
    assert np.allclose((2 * z - MASKS).sum(axis=1), 1, atol=1e-14)
    assert np.allclose(z[sizes == 1], MASKS[sizes == 1], atol=1e-15)
    # By Algorithm 1 single modules vary too, between 0.5 and 1.
    varied = continuous_latents(MASKS, key=KEY)[sizes == 1].max(axis=1)
    assert np.all((varied > 0.5) & (varied < 1))
    assert np.ptp(varied) > 0.01


def test_the_largest_weight_has_the_mean_of_an_exponential_over_one_plus_itself():
    # E[e / (1 + e)] = 1 - e·E1(1) = 0.40365 for one module.
    z = continuous_latents(np.ones((200_000, 1), bool), key=KEY)
    assert float(z.mean()) == pytest.approx(0.5 * (1 + 0.403653), abs=1e-3)


def test_a_mask_without_any_module_has_no_latent():
    empty = np.zeros((1, 3), bool)
    assert not np.any(discrete_latents(empty))
    for sum_to_one in (False, True):
        assert not np.any(continuous_latents(empty, key=KEY, sum_to_one=sum_to_one))


def test_continuous_samples_of_a_pair_are_in_general_position():
    masks = np.tile([[True, True, False]], (3, 1))
    z = np.asarray(continuous_latents(masks, key=KEY), float)[:, :2]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.linalg.det(z[[i, j]])) > 1e-3
