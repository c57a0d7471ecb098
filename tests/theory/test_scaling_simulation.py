"""Theorems 1 and 2 against fitted models, and against a plain simulation with every coordinate."""

import jax
import numpy as np
import pytest

from recombine.theory import (
    ModularSpectrum,
    ScalingSpectrum,
    modular_losses,
    monolithic_losses,
    simulate_interpolation,
)
from recombine.theory._scaling_spectrum import ListedSpectrum


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("n", "p", "d", "test", "train"),
    [
        (30, 10, 1, 0.9446, 0.4126),
        (15, 10, 2, 1.8892, 0.8252),
        (10, 30, 1, 1.1737, 0),
        (5, 30, 2, 2.3474, 0),
    ],
)
def test_theorem_1_is_the_mean_of_simulated_losses(n, p, d, test, train):
    spectrum = ScalingSpectrum(3, c=1.15, Omega=1.57)
    expected = monolithic_losses(n, p, spectrum, d=d)
    assert expected == pytest.approx((train, test), abs=5e-5)
    found = simulate_interpolation(n, p, spectrum, d=d, key=jax.random.key(n))
    assert found.test == pytest.approx(expected.test, abs=4 * found.test_error)
    assert 0.001 < found.test_error / found.test < 0.01
    if p >= d * n:
        assert found.train < 1e-10
    else:
        assert found.train == pytest.approx(expected.train, abs=4 * found.train_error)


@pytest.mark.usefixtures("x64")
def test_as_many_parameters_as_equations_interpolate():
    found = simulate_interpolation(10, 10, ScalingSpectrum(3), draws=200, key=jax.random.key(0))
    assert found.train < 1e-10
    assert found.test > 2


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("n", "m", "total", "printed"), [(60, 20, 0.5080, 0.2626), (15, 5, 3.302, 3.278)]
)
def test_theorem_2_is_the_mean_of_simulated_losses_if_counts_are_consistent(n, m, total, printed):
    spectrum = ModularSpectrum(ScalingSpectrum(1), m)
    consistent = modular_losses(n, 30, spectrum, variant="total")
    found = simulate_interpolation(n, 30, spectrum, key=jax.random.key(m))
    assert consistent.test == pytest.approx(total, abs=5e-4)
    assert found.test == pytest.approx(consistent.test, abs=4 * found.test_error)
    literal = modular_losses(n, 30, spectrum, variant="printed")
    assert literal.test == pytest.approx(printed, abs=5e-4)
    if n == 60:
        assert abs(found.test - literal.test) > 50 * found.test_error
        assert abs(found.train - literal.train) > 50 * found.train_error
        assert found.train == pytest.approx(consistent.train, abs=4 * found.train_error)


@pytest.mark.parametrize(("n", "p", "d"), [(20, 8, 1), (8, 20, 1), (10, 8, 2)])
def test_theorem_1_holds_for_any_spectrum_with_every_coordinate_drawn(n, p, d):
    rng, draws, P, fresh = np.random.default_rng(5), 2000, 26, 20
    values = rng.uniform(0, 1, P)
    A = rng.normal(size=(draws, d * n, P))
    W = rng.normal(size=(draws, P)) * np.sqrt(values)
    t = np.einsum("rnp,rp->rn", A, W)
    theta = np.einsum("rpn,rn->rp", np.linalg.pinv(A[:, :, :p]), t)
    misfit = np.einsum("rnp,rp->rn", A[:, :, :p], theta) - t
    new = rng.normal(size=(draws, d * fresh, P))
    error = np.einsum("rnp,rp->rn", new[:, :, :p], theta) - np.einsum("rnp,rp->rn", new, W)
    expected = monolithic_losses(n, p, ListedSpectrum(values), d=d)
    for squares, samples, loss in (
        (error**2, fresh, expected.test),
        (misfit**2, n, expected.train),
    ):
        losses = squares.sum(axis=-1) / samples
        assert losses.mean() == pytest.approx(loss, abs=4 * losses.std() / draws**0.5 + 1e-12)


def test_single_precision_and_repeated_keys():
    spectrum = ScalingSpectrum(3)
    first, again, other = (
        simulate_interpolation(6, 14, spectrum, draws=300, key=jax.random.key(k)) for k in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert first.train < 1e-8
    assert first.test == pytest.approx(
        monolithic_losses(6, 14, spectrum).test, abs=4 * first.test_error
    )


def test_impossible_simulations_are_refused():
    with pytest.raises(ValueError, match="must be 1 or more"):
        simulate_interpolation(0, 5, ScalingSpectrum(3), key=jax.random.key(0))
    with pytest.raises(ValueError, match="a single m"):
        simulate_interpolation(9, 5, ScalingSpectrum(np.array([3, 4])), key=jax.random.key(0))
