"""Which routes to train so that trained routes mix the domains well, chosen one at a time.

Every choice looks at the slowest mode of the random walk along trained routes. Small masks are
decomposed anew for every choice. For large ones a decomposition is made once and kept up to date,
since a new route changes the matrix whose inverse has the slow modes by one outer product.
"""

import itertools
from typing import Protocol

import numpy as np
from jaxtyping import ArrayLike, Bool
from scipy.linalg import blas, eigh, lapack
from threadpoolctl import threadpool_limits

from ._route_graph import Route, joining_routes, relative_singular_values, route_components

_MOST_DECOMPOSED = 120
_TRACKED = 5
_MOST_VECTORS = 150
_MOST_BLOCKS = 5
_SHIFT, _OLD_SHIFT = 0.995, 0.985
_EXACT = 1e-11
_GAP_ERROR = 1e-9
_MOST_ESTIMATES = 3
_ALIKE = 1e-9


def mixing_routes(mask: Bool[ArrayLike, "M_in M_out"], gap: float) -> tuple[Route, ...]:
    """Few routes (input, output) whose training would raise the spectral gap to `gap`.

    First those that connect the components; then, one at a time, the one between the domains that
    the slowest mode of the random walk places furthest apart (a greedy choice, not the minimum).
    """
    trained = np.array(mask, bool)
    routes = list(joining_routes(route_components(trained)))
    trained[tuple(np.array(routes, int).reshape(-1, 2).T)] = True
    if 1 in trained.shape or trained.all():
        return tuple(routes)
    # The matrices of one step are too small for threads, which would only wait for each other.
    with threadpool_limits(1, user_api="blas"):
        return (*routes, *_added_routes(trained, gap))


def _added_routes(trained: np.ndarray, gap: float) -> list[Route]:
    """The routes that raise the gap of a connected mask, which is changed in place."""
    routes = []
    walk: _Walk
    if min(trained.shape) <= _MOST_DECOMPOSED:
        walk = _DecomposedWalk(trained)
    else:
        walk = _TrackedWalk(trained)
    while not (trained.all() or walk.reaches(gap)):
        i, j = walk.furthest
        trained[i, j] = True
        walk.add(i, j)
        routes.append((i, j))
    return routes


class _Walk(Protocol):
    """The random walk along trained routes, while routes are added."""

    furthest: Route
    """The untrained route between the domains that the slowest mode places furthest apart."""

    def reaches(self, gap: float) -> bool:
        """Whether the spectral gap is at least `gap`."""

    def add(self, i: int, j: int) -> None:
        """Train one more route."""


class _DecomposedWalk:
    """A walk whose modes are computed anew for every route, by a singular value decomposition."""

    def __init__(self, trained: np.ndarray):
        self._trained = trained.copy()
        self._decompose()

    def _decompose(self) -> None:
        rows, columns = np.sqrt(self._trained.sum(1)), np.sqrt(self._trained.sum(0))
        plain = np.linalg.svd(self._trained.astype(float), compute_uv=False)
        U, normalised, Vt = np.linalg.svd(
            self._trained / np.outer(rows, columns), full_matrices=False
        )
        self._gap = 1 - np.sqrt(plain[1] / plain[0] * normalised[1] / normalised[0])
        apart = _distances(U[:, 1] / rows, Vt[1] / columns, self._trained)
        self.furthest = _first_of_largest(apart)

    def reaches(self, gap: float) -> bool:
        return bool(self._gap >= gap)

    def add(self, i: int, j: int) -> None:
        self._trained[i, j] = True
        self._decompose()


class _TrackedWalk:
    """A walk whose modes are kept up to date, at a cost quadratic in the number of domains.

    With B the mask, R and C its row and column sums and S = R - B C^-1 B^T, the modes x of the
    inputs obey S x = mu R x, where 1 - mu is the square of a singular value of R^-1/2 B C^-1/2.
    Constant x has mu = 0; the slowest mode has the next mu. Shifted to just below that, by sigma,
    the inverse of S - sigma R is dominated by the slowest modes, and a block Krylov sequence that
    starts from the former ones finds the new ones in a few steps.

    A route (i, j) adds c / (c + 1) d d^T to S, with d = e_i - B e_j / c and c = C_jj, and
    e_i e_i^T to R: the inverse follows by the formula of Woodbury.
    """

    _inverse: np.ndarray

    def __init__(self, trained: np.ndarray):
        self._transposed = trained.shape[0] > trained.shape[1]
        self._B = np.array(trained.T if self._transposed else trained, float)
        self._trained = self._B > 0
        self._rows, self._columns = self._B.sum(1), self._B.sum(0)
        self._rng = np.random.default_rng(0)
        size = len(self._B)
        wanted = (1, min(_TRACKED, size - 1))
        self._S = np.diag(self._rows) - (self._B / self._columns) @ self._B.T
        values, self._modes = eigh(self._S, np.diag(self._rows), subset_by_index=wanted)
        self._plain_modes: np.ndarray | None = None
        self._mu = max(values[0], 0.0)
        self._inverse = np.empty(0)
        self._invert()
        self._find()

    def add(self, i: int, j: int) -> None:
        if self._transposed:
            i, j = j, i
        c = self._columns[j]
        d = -self._B[:, j] / c
        d[i] += 1
        # Of the vectors d, e_i and the row sums; the inverse of the last is constant.
        own = self._constant * self._rows.sum() - self._sigma
        images = np.stack([self._inverse @ d, self._inverse[:, i], np.full(len(d), 1 / own)], 1)
        products = np.stack([d @ images, images[i], self._rows @ images])
        weights = np.array(
            [
                [c / (c + 1), 0, 0],
                [0, self._constant - self._sigma, self._constant],
                [0, self._constant, 0],
            ]
        )
        change = np.eye(3) + weights @ products
        changed = np.flatnonzero(d)
        self._S[np.ix_(changed, changed)] += c / (c + 1) * np.outer(d[changed], d[changed])
        self._B[i, j], self._trained[i, j] = 1, True
        self._rows[i] += 1
        self._columns[j] += 1
        if self._trained.all():
            return
        if np.linalg.det(change) > 1e-3:
            left = images @ np.linalg.solve(change, weights)
            self._inverse = blas.dgemm(-1, left, images, 1, self._inverse, trans_b=1, overwrite_c=1)
        else:  # the slowest mode has become slower than sigma
            self._invert()
        self._find()

    def reaches(self, gap: float) -> bool:
        # A bound is often enough to see that the gap is not reached.
        if self._plain_modes is not None:
            for _ in range(_MOST_ESTIMATES):
                if self._largest_possible_gap() < gap - _GAP_ERROR:
                    return False
        size = len(self._B)
        wanted = (max(size - _TRACKED, 0), size - 1)
        self._plain_modes = eigh(self._B @ self._B.T, subset_by_index=wanted)[1]
        return bool(1 - np.sqrt(np.prod(relative_singular_values(self._trained))) >= gap)

    def _largest_possible_gap(self) -> float:
        """A bound of the spectral gap, from one step of subspace iteration for B B^T.

        The second Ritz value is at most the second eigenvalue; the first is below the largest
        eigenvalue by at most its residual.
        """
        modes = self._plain_modes
        assert modes is not None
        images = self._B @ (self._B.T @ modes)
        values, weights = np.linalg.eigh(modes.T @ images)
        residual = np.linalg.norm((images - modes * values[-1:]) @ weights[:, -1])
        above = min(residual, residual**2 / max(values[-1] - values[-2], 1e-300))
        self._plain_modes = np.linalg.qr(images)[0]
        relative = np.sqrt(max(values[-2], 0) / (values[-1] + above) * max(1 - self._mu, 0))
        return float(1 - np.sqrt(relative))

    def _invert(self) -> None:
        """Invert S - sigma R anew, with a multiple of the row sums' outer product for constants."""
        self._constant = 2 / self._rows.sum()
        S = self._S + self._constant * np.outer(self._rows, self._rows)
        self._sigma = _SHIFT * self._mu
        while True:
            factor, failed = lapack.dpotrf(S - self._sigma * np.diag(self._rows), lower=1)
            if not failed:
                break
            self._sigma *= 0.8
        inverse, _ = lapack.dpotri(factor, lower=1)
        self._inverse = np.asfortranarray(inverse + inverse.T)  # of which one half is zero
        np.fill_diagonal(self._inverse, np.diag(inverse))

    def _find(self) -> None:
        """Find the slowest modes and the furthest route."""
        blocks = self._iterate(fresh=False)
        if not blocks or (blocks > _MOST_BLOCKS and self._sigma < _OLD_SHIFT * self._mu):
            self._invert()
        if not blocks:
            self._iterate(fresh=True)

    def _iterate(self, *, fresh: bool) -> int:
        """The number of blocks that were needed; 0 if the inverse has lost its precision.

        A fresh inverse is as precise as can be.
        """
        root = np.sqrt(self._rows)[:, None]
        constant = root / np.linalg.norm(root)

        def operator(u: np.ndarray) -> np.ndarray:
            u = root * (self._inverse @ (root * u))
            return u - constant @ (constant.T @ u)

        start = self._modes * root
        # One random vector, since a mode to which all former ones are orthogonal may become slow.
        start[:, -1] = self._rng.standard_normal(len(root))
        basis = _orthonormal(start, constant)
        images = operator(basis)
        wanted = 1e-5
        for blocks in itertools.count(1):
            sizes, weights = np.linalg.eigh(basis.T @ images)
            sizes, weights = sizes[: -_TRACKED - 1 : -1], weights[:, : -_TRACKED - 1 : -1]
            found = basis @ weights
            errors = np.linalg.norm(images @ weights - found * sizes, axis=0) / sizes[0]
            separation = 1 - sizes[1:] / sizes[0]
            room = min(_MOST_VECTORS, len(root) - 1) - basis.shape[1]
            # No other mode may turn out to be the slowest one.
            alone = np.all((errors[1:] < separation) | (errors[1:] < _EXACT))
            exact = bool(not room or (alone and errors[0] < _EXACT))
            error = errors[0] / max(separation[:1].sum(), 1e-15)
            if exact or (alone and error < wanted):
                self._modes = found[:, : self._modes.shape[1]] / root
                self._mu = self._sigma + 1 / sizes[0]
                current = fresh or self._residual() < 10 * max(_EXACT, errors[0])
                if exact and not current:
                    break
                if current and self._choose(error, exact):
                    return blocks
                wanted *= 1e-3
            block = images[:, -_TRACKED:][:, :room]
            block = _orthonormal(block, np.hstack([constant, basis]))
            basis = np.hstack([basis, block])
            images = np.hstack([images, operator(block)])
        return 0

    def _outputs(self) -> np.ndarray:
        """Where the slowest mode places outputs, up to a factor."""
        return (self._modes[:, 0] @ self._B) / self._columns

    def _residual(self) -> float:
        """How far the slowest mode is from one of the walk itself, whatever the inverse says."""
        x, y = self._modes[:, 0], self._outputs()
        image = (self._B @ y) / self._rows
        return float(np.linalg.norm(np.sqrt(self._rows) * (image - (y @ (self._columns * y)) * x)))

    def _choose(self, error: float, exact: bool) -> bool:
        """Choose the furthest route, if an error of the slowest mode cannot change the choice."""
        y = self._outputs()
        y = y / max(np.sqrt(y @ (self._columns * y)), 1e-150)
        apart = _distances(self._modes[:, 0], y, self._trained)
        if self._transposed:
            apart = apart.T
        self.furthest = _first_of_largest(apart)
        if exact:
            return True
        best = apart[self.furthest]
        return bool(np.sum(apart >= best - 20 * np.sqrt(best) * error - 4e-9) == 1)


def _distances(inputs: np.ndarray, outputs: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """Squared distances of inputs and outputs where the route between them is untrained."""
    apart = np.subtract.outer(inputs, outputs)
    apart *= apart
    apart[trained] = -np.inf
    return apart


def _first_of_largest(apart: np.ndarray) -> Route:
    # Of routes that are alike the first is chosen on any machine, whatever its rounding.
    i, j = divmod(int(np.argmax(apart >= apart.max() - _ALIKE)), apart.shape[1])
    return i, j


def _orthonormal(block: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the block and are orthogonal to others."""
    for _ in range(2):
        block = np.linalg.qr(block - others @ (others.T @ block))[0]
    return block
