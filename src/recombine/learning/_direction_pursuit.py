"""Directions one wave at a time: projection pursuit with sine waves.

Descent finds the direction u of a wave sin(ω uᵀx) only from within an angle of about 1/ω, so that
most random starts lead nowhere. The spectrum of the targets has a peak of width 1 at ωu for normal
inputs, whatever ω is: it can be searched, and at low frequencies few places cover it.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._loop import AbstractRule

_BLOCK = 1024
"""Places that are looked at together, which fit into the cache."""
_LONGEST = 0.3
"""The longest step of the ascent of a spectrum, whose peaks have the width 1."""
_FASTER, _SLOWER = 0.2, 5.0
"""What the damping is multiplied by after a step that was good, and one that was not."""


class Waves(NamedTuple):
    """A sum of waves, a₀ + Σ_i c_i cos(w_iᵀx) + s_i sin(w_iᵀx)."""

    w: Float[Array, "waves m"]
    """Frequency times direction; 0 for waves that are still to be found."""
    coefficients: Float[Array, " 2*waves+1"]
    """c, s and a₀."""

    def __call__(self, x: Float[Array, "samples m"]) -> Float[Array, " samples"]:
        """The sum at the samples."""
        return _features(self.w, x) @ self.coefficients

    @property
    def slopes(self) -> Float[Array, " waves"]:
        """The mean square of every wave's slope, |w|² (c² + s²) / 2."""
        c, s = jnp.split(self.coefficients[:-1], 2)
        return jnp.square(self.w).sum(axis=1) * (c**2 + s**2) / 2


class PursuitState(NamedTuple):
    """Where the search stands."""

    waves: Waves
    damping: Float[Array, ""]
    held_out: Float[Array, ""]
    """The mean squared error on held-out samples."""
    best: Waves
    """The waves with the lowest one so far."""
    best_held_out: Float[Array, ""]


class DirectionPursuit(AbstractRule[PursuitState]):
    """Find waves one at a time, and fit all of them together after each.

    A step looks for the highest peak of the spectrum of the residual, |Σ_n r_n exp(−i wᵀx_n)|², at
    random places and on the rays of what was found before; from the best of them the spectrum is
    ascended. The wave joins the others, and damped Gauss-Newton steps fit frequencies and
    directions of all to the targets, coefficients solved for. The waves with the lowest error on
    samples held out are kept. Not in the paper.

    **Arguments:**

    - `x`, `y`: the training set.
    - `key`: of the places that are looked at.
    - `reach`: the highest frequency that is searched.
    - `places`: how many random places of the spectrum a step looks at.
    - `climbers`: from how many of them the spectrum is ascended.
    - `climbs`: steps of the ascent.
    - `fits`: Gauss-Newton steps after each wave.
    - `ridge`: penalty of the coefficients' squares, per sample.
    - `share`: the share of the samples that is held out, the last ones.
    """

    x: Float[Array, "samples m"]
    y: Float[Array, " samples"]
    key: PRNGKeyArray
    reach: float | Float[Array, ""] = 15.0
    places: int = 32768
    climbers: int = 128
    climbs: int = 30
    fits: int = 4
    ridge: float | Float[Array, ""] = 1e-4
    share: float = eqx.field(static=True, default=0.15)

    def __check_init__(self):
        if not 0 < self.share < 1 or not 1 <= self._fitted() < len(self.x):
            raise ValueError(f"a share of {self.share:g} of {len(self.x)} samples; hold some out")
        if not 1 <= self.climbers <= self.places:
            raise ValueError(f"{self.climbers} climbers from {self.places} places; use 1 to all")

    def _fitted(self) -> int:
        """How many samples are not held out."""
        return len(self.x) - round(self.share * len(self.x))

    def init(self, waves: int) -> PursuitState:
        """The state before the first step, with room for so many waves."""
        m = self.x.shape[1]
        none = Waves(jnp.zeros((waves, m), self.x.dtype), jnp.zeros(2 * waves + 1, self.x.dtype))
        x, y = self._fit_set()
        none = self._solved(none.w, x, y)
        error = self._held_out_error(none)
        return PursuitState(none, jnp.asarray(1e-3, self.x.dtype), error, none, error)

    def _fit_set(self):
        n = self._fitted()
        return self.x[:n], self.y[:n]

    def _held_out_error(self, waves: Waves) -> Float[Array, ""]:
        n = self._fitted()
        return jnp.square(self.y[n:] - waves(self.x[n:])).mean()

    def _solved(self, w, x, y) -> Waves:
        """Waves with the coefficients that fit best."""
        F = _features(w, x)
        A = F.T @ F + self.ridge * len(x) * jnp.eye(F.shape[1])
        return Waves(w, jnp.linalg.solve(A, F.T @ y))

    def _peak(self, residual, w, x, key) -> Float[Array, " m"]:
        """Where the spectrum of the residual is highest, as far as it was looked at."""
        x, residual, w = (a.astype(jnp.float32) for a in (x, residual, w))
        of_directions, of_radii = jax.random.split(key)
        reach = jnp.asarray(self.reach, jnp.float32)
        blocks = -(-self.places // _BLOCK)
        shape = (blocks, min(self.places, _BLOCK), x.shape[1])
        u = _unit(jax.random.normal(of_directions, shape, jnp.float32))
        # As many at every frequency: the lower it is, the fewer directions there are to tell apart.
        places = u * reach * jax.random.uniform(of_radii, (*shape[:2], 1), jnp.float32)
        rays = _unit(w)[:, None] * jnp.linspace(0, reach, _BLOCK // 16, dtype=jnp.float32)[:, None]
        heights = jax.lax.map(lambda block: _spectrum(block, x, residual), places)
        on_rays = jax.lax.map(lambda block: _spectrum(block, x, residual), rays)
        starts = [
            _highest(places.reshape(-1, x.shape[1]), heights.reshape(-1), self.climbers),
            _highest(rays.reshape(-1, x.shape[1]), on_rays.reshape(-1), min(32, on_rays.size)),
        ]

        def climb(places, pace):
            slope = jax.vmap(jax.grad(lambda p: jnp.log(_spectrum(p[None], x, residual)[0])))(
                places
            )
            size = jnp.linalg.norm(slope, axis=1, keepdims=True)
            # Near a peak log |S|² is −|w − w₀|², whose slope of 2 |w − w₀| halved leads there.
            return places + slope * jnp.minimum(0.5, pace * _LONGEST / (size + 1e-6)), None

        paces = jnp.linspace(1, 0.3, self.climbs, dtype=jnp.float32)
        ends, _ = jax.lax.scan(climb, jnp.concatenate(starts), paces)
        return ends[jnp.nanargmax(_spectrum(ends, x, residual))]

    def _fit(self, waves: Waves, damping, x, y):
        """Damped Gauss-Newton steps of all waves at once."""
        K, m = waves.w.shape

        def step(carry, _):
            waves, damping = carry
            residual = y - waves(x)
            F = _features(waves.w, x)
            c, s = jnp.split(waves.coefficients[:-1], 2)
            turned = F[:, K : 2 * K] * -c + F[:, :K] * s
            J = jnp.concatenate([F, (turned[:, :, None] * x[:, None]).reshape(len(x), -1)], axis=1)
            scale = len(x) * jnp.square(waves.coefficients[:-1]).mean()
            D = jnp.concatenate(
                [
                    jnp.full(2 * K + 1, self.ridge * len(x)),
                    jnp.full(K * m, damping * scale + 1e-9),
                ]
            )
            moved = jnp.linalg.solve(J.T @ J + jnp.diag(D), J.T @ residual)[2 * K + 1 :]
            after = self._solved(waves.w + moved.reshape(K, m), x, y)
            good = jnp.square(y - after(x)).sum() < jnp.square(residual).sum()
            waves = jax.tree.map(lambda a, b: jnp.where(good, a, b), after, waves)
            damping = jnp.clip(damping * jnp.where(good, _FASTER, _SLOWER), 1e-7, 1e3)
            return (waves, damping), None

        (waves, damping), _ = jax.lax.scan(step, (waves, damping), length=self.fits)
        return waves, damping

    def step(self, state: PursuitState, t: Int[Array, ""]) -> PursuitState:
        """One wave more, as long as there is room; and a fit of all."""
        x, y = self._fit_set()
        waves = state.waves
        K = len(waves.w)
        found = self._peak(y - waves(x), waves.w, x, jax.random.fold_in(self.key, t))
        w = jnp.where((jnp.arange(K) == t)[:, None], found.astype(waves.w.dtype), waves.w)
        waves, damping = self._fit(self._solved(w, x, y), state.damping, x, y)
        error = self._held_out_error(waves)
        better = error < state.best_held_out
        best, lowest = jax.tree.map(
            lambda a, b: jnp.where(better, a, b), (waves, error), (state.best, state.best_held_out)
        )
        return PursuitState(waves, jnp.minimum(damping, 1e-1), error, best, lowest)

    def observe(self, state: PursuitState) -> dict[str, Array]:
        """The error on samples that are fitted and on those held out, and the lowest of these."""
        x, y = self._fit_set()
        return {
            "loss": jnp.square(y - state.waves(x)).mean(),
            "held_out": state.held_out,
            "best_held_out": state.best_held_out,
        }

    def directions(
        self, state: PursuitState, most: int, same: float = 0.95, least: float = 0.01
    ) -> Float[np.ndarray, "directions m"]:
        """The directions of the best waves, at most so many, the one with the largest slope first.

        **Arguments:**

        - `same`: waves with a larger |cosine| share a direction, that in which their slopes are
            largest together.
        - `least`: the smallest share of the mean squared slope that a direction must have.
        """
        w, slopes = np.asarray(state.best.w, float), np.asarray(state.best.slopes, float)
        return grouped_directions(w, slopes, most, same, least)


def grouped_directions(
    w: Float[np.ndarray, "waves m"], slopes: Float[np.ndarray, " waves"], most: int, same: float,
    least: float,
) -> Float[np.ndarray, "directions m"]:  # fmt: skip
    """Directions of groups of waves, from the largest slope to the smallest."""
    u = w / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-12)
    left = np.argsort(-slopes)
    groups = []
    while len(left):
        near = np.abs(u[left] @ u[left[0]]) > same
        near[0] = True
        groups.append(left[near])
        left = left[~near]
    groups.sort(key=lambda group: -slopes[group].sum())
    large = [g for g in groups if slopes[g].sum() >= least * slopes.sum()][:most]
    # The direction in which the slopes of a group are largest: the first eigenvector.
    return np.stack([np.linalg.eigh((u[g].T * slopes[g]) @ u[g])[1][:, -1] for g in large])


def _features(w, x):
    phases = x @ w.T
    found: Bool[Array, " waves"] = (w != 0).any(axis=1)
    ones = jnp.ones((len(x), 1), x.dtype)
    return jnp.concatenate([jnp.cos(phases) * found, jnp.sin(phases), ones], axis=1)


def _spectrum(w, x, residual):
    """|Σ_n r_n exp(−i wᵀx_n)|² at places w."""
    turns = w @ (x.T / (2 * jnp.pi))
    return jnp.square(_wave(turns) @ residual) + jnp.square(_wave(turns - 0.25) @ residual)


def _wave(turns):
    """cos 2πt to 2e-4, thirty times as fast as the exact one: enough to look for peaks."""
    z = 2 * jnp.pi * (jnp.abs(turns - jnp.round(turns)) - 0.25)
    z2 = z * z
    return -z * (1 - z2 * (1 / 6 - z2 * (1 / 120 - z2 / 5040)))


def _highest(places, heights, most):
    return places[jax.lax.top_k(heights, most)[1]]


def _unit(w):
    return w / jnp.maximum(jnp.linalg.norm(w, axis=-1, keepdims=True), 1e-12)
