"""Spectra against explicit sums, and the effective dimension against its limit."""

import numpy as np
import pytest

from recombine.theory import ModularSpectrum, ScalingSpectrum, effective_dimension
from recombine.theory._scaling_spectrum import ListedSpectrum

C, OMEGA = 1.15, 1.57


def slow_eigenvalue(i, m):
    s = OMEGA**-m
    return C * (i**-s - (i + 1) ** -s)


@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_telescoped_traces_are_explicit_sums(m):
    spectrum = ScalingSpectrum(m, C, OMEGA)
    first = [slow_eigenvalue(i, m) for i in range(1, 401)]
    assert spectrum.eigenvalues(400) == pytest.approx(first, rel=1e-11)
    assert spectrum.head(150) == pytest.approx(sum(first[:150]), rel=1e-12)
    assert spectrum.tail(150) - spectrum.tail(400) == pytest.approx(sum(first[150:]), rel=1e-12)
    assert spectrum.trace == C
    assert spectrum.tail(0) == C


def test_the_trace_of_a_trivial_dimension_is_reached_by_summing():
    # For m = 0 the sum converges as fast as 1 / p.
    assert ScalingSpectrum(0).eigenvalues(10**5).sum() == pytest.approx(C, rel=2e-5)


def test_a_truncated_sum_misses_most_of_the_trace_in_nine_dimensions():
    spectrum = ScalingSpectrum(9)
    assert spectrum.s == pytest.approx(0.017, abs=5e-4)
    share = spectrum.eigenvalues(10**6).sum() / C
    assert share == pytest.approx(0.21, abs=0.005)
    assert share == pytest.approx(spectrum.head(10**6) / C, rel=1e-9)
    assert spectrum.trace == C


def test_a_dimension_may_be_an_array_that_broadcasts_with_the_parameters():
    m, p = np.array([2, 5, 9]), np.array([[10], [1000.5]])
    spectrum = ScalingSpectrum(m)
    assert spectrum.tail(p).shape == (2, 3)
    assert spectrum.tail(p)[1, 2] == ScalingSpectrum(9).tail(1000.5)
    assert spectrum.eigenvalues(4).shape == (3, 4)
    assert np.array_equal(spectrum.eigenvalues(4)[1], ScalingSpectrum(5).eigenvalues(4))
    assert effective_dimension(spectrum)[0] == pytest.approx(
        effective_dimension(ScalingSpectrum(2)), rel=1e-14
    )


@pytest.mark.parametrize(
    ("m", "dimension", "claimed", "ratio"),
    [
        (2, 11.69, 6.08, 1.925),
        (4, 50.89, 36.91, 1.379),
        (6, 261.5, 224.3, 1.166),
        (8, 1473.0, 1362.7, 1.081),
        (10, 8665.8, 8279.3, 1.047),
    ],
)
def test_effective_dimension_beside_the_papers_estimate(m, dimension, claimed, ratio):
    found = effective_dimension(ScalingSpectrum(m))
    half = 0.05 if dimension > 100 else 0.005
    assert found == pytest.approx(dimension, abs=half)
    assert OMEGA ** (2 * m) == pytest.approx(claimed, abs=half)
    assert found / OMEGA ** (2 * m) == pytest.approx(ratio, abs=5e-4)


def test_effective_dimension_falls_towards_its_limit():
    m = np.array([*range(1, 20), 40])
    ratio = effective_dimension(ScalingSpectrum(m)) / OMEGA ** (2.0 * m)
    assert np.all(np.diff(ratio) < 0)
    i = np.arange(1.0, 10**6)
    limit = 1 / (np.sum(np.log1p(1 / i) ** 2) + 1e-6)
    assert limit == pytest.approx(1.02334, abs=5e-6)
    assert ratio[-1] == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("m", [0, 1, 3, 6])
def test_the_trace_of_the_square_is_the_sum_to_many_terms(m):
    spectrum, terms = ScalingSpectrum(m, 2.0, OMEGA), 10**6
    assert spectrum.squares == pytest.approx(np.sum(spectrum.eigenvalues(terms) ** 2), rel=1.1e-6)
    # What is left out of the sum is, to many digits, an integral.
    left_out = (2.0 * spectrum.s) ** 2 * terms ** (-2 * spectrum.s - 1) / (2 * spectrum.s + 1)
    exact = np.sum(spectrum.eigenvalues(terms) ** 2) + left_out
    assert spectrum.squares == pytest.approx(exact, rel=1e-11)


def test_a_listed_spectrum_has_the_traces_of_its_eigenvalues():
    spectrum = ListedSpectrum([3.0, 0.0, 2.0, 1.0])
    assert spectrum.trace == 6
    assert spectrum.tail([0, 1, 2, 3, 4, 9]).tolist() == [6, 3, 3, 1, 0, 0]
    assert spectrum.head(3) == 5
    assert spectrum.tail(2.25) == 2.5
    assert spectrum.eigenvalues(6).tolist() == [3, 0, 2, 1, 0, 0]
    assert spectrum.eigenvalues(2).tolist() == [3, 0]
    assert effective_dimension(spectrum) == pytest.approx(36 / 14)


def test_the_effective_dimension_of_equal_eigenvalues_is_their_number():
    assert effective_dimension(ListedSpectrum(np.full(17, 0.3))) == pytest.approx(17)


def test_listing_the_scaling_spectrum_gives_the_same_heads():
    spectrum = ScalingSpectrum(2)
    listed = ListedSpectrum(spectrum.eigenvalues(50))
    p = np.arange(51)
    assert listed.head(p) == pytest.approx(spectrum.head(p), rel=1e-12)


def test_a_modular_spectrum_begins_with_the_projections():
    modules = ListedSpectrum([0.5, 0.25])
    spectrum = ModularSpectrum(modules, m=3, b=2)
    assert spectrum.projections == 6
    assert spectrum.eigenvalues(8).tolist() == [1] * 6 + [0.5, 0.25]
    assert spectrum.eigenvalues(4).tolist() == [1] * 4
    same = ListedSpectrum(spectrum.eigenvalues(8))
    p = np.array([0, 2, 5.5, 6, 7, 7.5, 8, 11])
    assert spectrum.tail(p) == pytest.approx(same.tail(p))
    assert spectrum.trace == same.trace
    assert effective_dimension(spectrum) == pytest.approx(effective_dimension(same))


@pytest.mark.parametrize("values", [[1.0, -0.1], [np.nan], [[1.0]], [np.inf]])
def test_eigenvalues_must_be_a_list_of_non_negative_numbers(values):
    with pytest.raises(ValueError, match="eigenvalues must be"):
        ListedSpectrum(values)


@pytest.mark.parametrize(("c", "Omega"), [(0.0, 1.5), (1.0, 1.0), (np.nan, 1.5)])
def test_constants_out_of_range_are_refused(c, Omega):
    with pytest.raises(ValueError, match="c must be > 0 and Omega > 1"):
        ScalingSpectrum(3, c, Omega)
