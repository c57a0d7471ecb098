"""The fit of the theory's constants recovers those that made the losses."""

import numpy as np
import pytest

from recombine.theory import (
    ScalingSpectrum,
    fit_scaling_constants,
    mlp_parameter_count,
    monolithic_losses,
)

PARAMETERS = np.array([mlp_parameter_count(w, L) for w in (8, 32, 128) for L in (3, 5, 7)])
GRID = (
    np.array([100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000])[:, None, None],
    PARAMETERS[:, None],
    np.arange(2, 10),
)


def planted(c, Omega, alpha, d=1):
    n, parameters, m = GRID
    return monolithic_losses(n, alpha * parameters, ScalingSpectrum(m, c, Omega), d=d)


def test_parameters_are_those_of_the_papers_nine_networks():
    assert PARAMETERS.tolist() == [97, 241, 385, 1153, 3265, 5377, 16897, 49921, 82945]


def test_parameters_are_counted_by_layer():
    # 3 x 4 + 4, then 4 x 4 + 4, then 4 x 2 + 2.
    assert mlp_parameter_count(4, 3, inputs=3, outputs=2) == 16 + 20 + 10
    assert mlp_parameter_count(4, 2) == 8 + 5
    with pytest.raises(ValueError, match="2 or more"):
        mlp_parameter_count(4, 1)


@pytest.mark.parametrize("constants", [(1.15, 1.57, 0.85), (3.0, 1.2, 0.3), (0.4, 2.1, 1.7)])
@pytest.mark.parametrize("transform", [np.asarray, np.log1p])
def test_planted_constants_are_recovered_from_training_losses(constants, transform):
    fit = fit_scaling_constants(*GRID, planted(*constants).train, transform=transform)
    assert fit[:3] == pytest.approx(constants, rel=1e-3)
    assert fit.residual < 1e-4


def test_planted_constants_are_recovered_from_test_losses():
    losses = planted(1.15, 1.57, 0.85).test
    fit = fit_scaling_constants(*GRID, losses, of="test", transform=np.log1p)
    assert fit[:3] == pytest.approx((1.15, 1.57, 0.85), rel=0.02)


def test_planted_constants_are_recovered_with_several_outputs():
    fit = fit_scaling_constants(*GRID, planted(1.15, 1.57, 0.85, d=3).train, d=3)
    assert fit[:3] == pytest.approx((1.15, 1.57, 0.85), rel=0.02)


def test_noise_moves_the_constants_little_and_the_residual_to_its_size():
    noise = 0.01 * np.random.default_rng(0).normal(size=(10, 9, 8))
    fit = fit_scaling_constants(*GRID, planted(1.15, 1.57, 0.85).train + noise)
    assert fit[:3] == pytest.approx((1.15, 1.57, 0.85), rel=0.02)
    assert fit.residual == pytest.approx(0.01, rel=0.1)
    assert fit.spectrum(3).tail(10) == fit.c * 11 ** -(fit.Omega**-3)


def test_the_residual_is_below_that_of_a_theory_without_dimension():
    noise = 0.05 * np.random.default_rng(1).normal(size=(10, 9, 8))
    losses = planted(1.15, 1.57, 0.85).train + noise
    fit = fit_scaling_constants(*GRID, losses)
    shape = planted(1.0, 1.0001, 1.0).train
    c = np.sum(shape * losses) / np.sum(shape**2)
    assert fit.residual < 0.5 * np.sqrt(np.mean((c * shape - losses) ** 2))


def test_alpha_stays_within_its_bound():
    fit = fit_scaling_constants(*GRID, planted(1.15, 1.57, 3.0).train)
    assert 1.9 < fit.alpha <= 2
    assert fit.residual > 1e-3


@pytest.mark.parametrize("losses", [[0.5, 0.4], [0.5, np.nan, 0.3]])
def test_too_few_or_diverged_losses_are_refused(losses):
    n = 1000 * np.arange(1, len(losses) + 1)
    with pytest.raises(ValueError, match="three or more losses, all of them finite"):
        fit_scaling_constants(n, 97, 3, losses)


def test_training_losses_of_interpolating_models_say_nothing():
    with pytest.raises(ValueError, match="more samples than parameters"):
        fit_scaling_constants([10, 20, 30], 82945, 3, [0.0, 0.0, 0.0])
