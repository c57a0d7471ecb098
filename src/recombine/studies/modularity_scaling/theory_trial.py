"""The trial of the theory: evaluate the closed forms, and simulate their expectations."""

from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from recombine import theory
from recombine.lab import Count, Positive, Recorder

from . import closed_form_values as known
from .closed_form_values import DIMENSIONS, PARAMETERS, SAMPLES

VARIANTS: tuple[Literal["printed", "total", "module"], ...] = ("printed", "total", "module")
SIDES = (10, 10_000)
"""Smallest and largest number of samples and of parameters in Figure 1."""
NORM_DRAWS = 4000
SMALL_EPS = 0.5


@dataclass(frozen=True)
class Config:
    """Settings of the theory: the paper's constants, and the size of the simulation."""

    c: Positive = 1.15
    """The scale c of targets."""
    omega: Positive = 1.57
    """The base Omega of the effective dimension."""
    alpha: Positive = 0.85
    """Effective parameters per parameter of a network."""
    eps: Positive = 1.2
    """The test loss of Figure 3."""
    figure_1_m: Count = 5
    """The input dimension of Figure 1, which the paper does not state."""
    figure_1_points: Count = 50
    """Points along either axis of Figure 1."""
    draws: Count = 3000
    """Number of simulated targets, with one training set each."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Evaluate the closed forms; simulate the quantities of which they are expectations."""

    def spectrum(m):
        return theory.ScalingSpectrum(m, config.c, config.omega)

    def modular(m):
        return theory.ModularSpectrum(spectrum(1), m)

    report_theorems(recorder, config, spectrum, modular)
    report_sample_complexity(recorder, config, spectrum)
    report_figures(recorder, config, spectrum)
    report_simulation(recorder, config, spectrum, modular, key)


def report_theorems(recorder: Recorder, config: Config, spectrum, modular) -> None:
    """Effective dimension, and both theorems, where their values are known."""
    dims = np.array([*known.EFFECTIVE_DIMENSION, 40])
    dimension, power = theory.effective_dimension(spectrum(dims)), config.omega ** (2.0 * dims)
    recorder.array("effective_dimension", np.stack([dimension, power, dimension / power], axis=1))
    rows = []
    for n, p, m in known.THEOREM_1:
        losses = theory.monolithic_losses(n, p, spectrum(m))
        T, F = spectrum(m).tail(p), theory.pseudoinverse_norm(n, p)
        rows.append([T, F, losses.test, losses.train])
    recorder.array("theorem_1", rows)
    recorder.array(
        "theorem_2",
        [
            [theory.modular_losses(n, 100, modular(m), variant=v).test for v in VARIANTS]
            for n, m in known.THEOREM_2
        ],
    )
    dims = np.arange(1, 51)
    for side, n in (("enough", 1000), ("few", 50)):
        losses = theory.modular_losses(n, 100, modular(dims))
        recorder.array(f"modular_with_{side}_samples", np.stack(np.broadcast_arrays(*losses)))
    dims = np.array(DIMENSIONS)
    growth = [theory.monolithic_losses(1000, 100, spectrum(dims)).test] + [
        theory.modular_losses(1000, 100, modular(dims), variant=v).test for v in VARIANTS
    ]
    recorder.array("growth_with_m", [test[-1] / test[0] for test in growth])


def report_sample_complexity(recorder: Recorder, config: Config, spectrum) -> None:
    """The samples needed for a test loss (Figure 3), and the smallest number of parameters.

    The last column is m = 300, effectively infinite.
    """
    p, m = config.alpha * np.array(PARAMETERS, float)[:, None], np.array([*DIMENSIONS, 300])
    required = theory.required_samples(config.eps, p, spectrum(m))
    recorder.array("required", required)
    recorder.array("required_over_p", required / p)
    reached = theory.monolithic_losses(required, p, spectrum(m)).test
    recorder.metric("required_misses_by", np.abs(reached / config.eps - 1).max())
    few = config.alpha * np.array([*known.REQUIRED_MODULAR], float)
    recorder.array("required_modular", theory.required_samples(config.eps, few, spectrum(1)))
    m = np.arange(1, 5)
    needed = (config.c / SMALL_EPS) ** (config.omega**m) - 1
    recorder.array("parameters_needed", needed)
    recorder.array(
        "required_around",
        theory.required_samples(SMALL_EPS, needed * [[0.999], [1.001]], spectrum(m)),
    )


def report_figures(recorder: Recorder, config: Config, spectrum) -> None:
    """The maps of Figure 1, and the dashed lines of Figure 2."""
    import jax

    sides = np.unique(np.geomspace(*SIDES, config.figure_1_points).round())
    of_figure_1 = spectrum(config.figure_1_m)
    near = theory.SampledNorm(jax.random.key(0))
    losses = theory.monolithic_losses(sides, sides[:, None], of_figure_1, near=near)
    recorder.array("figure_1_sides", sides)
    recorder.array("figure_1", np.stack(losses))
    at = np.array([500, 900, 1100, 3000])
    recorder.array("figure_1_at_1000_samples", theory.monolithic_losses(1000, at, of_figure_1).test)

    n, p, m = (np.array(axis, float) for axis in (SAMPLES, PARAMETERS, DIMENSIONS))
    grid = theory.monolithic_losses(n[:, None, None], config.alpha * p[:, None], spectrum(m))
    for name, loss in zip(("train", "test"), grid, strict=True):
        above = loss[:, :, m >= 5].mean(axis=-1)
        recorder.array(f"{name} by k", loss.mean())
        recorder.array(f"{name} by m", loss.mean(axis=(0, 1)))
        recorder.array(f"{name} by p", above[SAMPLES.index(1000)])
        recorder.array(f"{name} by n", above[:, PARAMETERS.index(1153)])


def report_simulation(recorder: Recorder, config: Config, spectrum, modular, key) -> None:
    """Simulated training and test loss, their standard errors and formulas, one row per case."""
    import jax

    keys = iter(jax.random.split(key, 16))
    rows = []
    for n, p, d in known.SIMULATED_1:
        found = theory.simulate_interpolation(
            n, p, spectrum(3), d=d, draws=config.draws, key=next(keys)
        )
        rows.append([*found, *theory.monolithic_losses(n, p, spectrum(3), d=d)])
    recorder.array("simulated_1", rows)
    rows = []
    for n, p, m in known.SIMULATED_2:
        found = theory.simulate_interpolation(n, p, modular(m), draws=config.draws, key=next(keys))
        formulas = (theory.modular_losses(n, p, modular(m), variant=v) for v in VARIANTS[:2])
        rows.append([*found, *chain.from_iterable(formulas)])
    recorder.array("simulated_2", rows)
    rows = []
    for n, p in known.NORMS:
        of_draws = next(keys)
        mean, deviation = (
            theory.SampledNorm(of_draws, statistic, NORM_DRAWS)(n, p)
            for statistic in (np.mean, np.std)
        )
        rows.append([mean, deviation / NORM_DRAWS**0.5, theory.pseudoinverse_norm(n, p)])
    recorder.array("norms", rows)
    recorder.array("norms_near", theory.pseudoinverse_norm(10, np.array([9, 10, 11])))
