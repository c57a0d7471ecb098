"""Points of a plane, labelled by the half they lie in; one quadrant is never trained."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._task import AbstractTask


class QuadrantBatch(NamedTuple):
    """Points (X_1, X_2), and the components (Y_1, Y_2) behind them."""

    x: Float[Array, "size 2"]
    labels: Int[Array, "size 2"]
    """Y_k = 1 where X_k is positive, 0 elsewhere."""

    @property
    def targets(self) -> Float[Array, "size 2"]:
        """The labels as ±1; the first column is what is to be predicted."""
        return 2 * self.labels.astype(self.x.dtype) - 1


class QuadrantToy(AbstractTask):
    """Predict Y_1 from (X_1, X_2), of which X_1 decides it alone (Section 6).

    (Y_1, Y_2) is (0, 0), (0, 1) or (1, 0) in training, equally often, and (1, 1) in tests.
    X_k has the sign of Y_k, and a size that is uniform on [margin, margin + reach]:

        Y = (0, 1)  x = (-2.1, 4.7)   trained, target -1
        Y = (1, 0)  x = (0.9, -3.3)   trained, target +1
        Y = (1, 1)  x = (1.4, 2.2)    held out, target +1

    By default as the paper's figures were made: ±5 with a margin of 0.3. `paper_coordinates` has
    X_k = Y_k − U[0, 1], as the paper's text.

    **Arguments:**

    - `reach`, `margin`: the range and the lower end of the sizes.
    - `informative`: if false, X_2 of training points is uniform on the whole range, whatever Y_1
        (setting B): it tells nothing of the target, and no quadrant is left out.
        Y_2 is the sign of X_2 there, too.
    """

    # Arrays, so that both kinds of coordinates share one compilation.
    reach: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=5.0)
    margin: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.3)
    informative: bool = eqx.field(static=True, default=True)

    @classmethod
    def paper_coordinates(cls, *, informative: bool = True) -> "QuadrantToy":
        """X_k = Y_k − U[0, 1]: sizes up to 1, without a margin."""
        return cls(jnp.ones(()), jnp.zeros(()), informative)

    def sample(self, size: int, *, key: PRNGKeyArray) -> QuadrantBatch:
        """Draw `size` training points."""
        of_combination, of_size = jax.random.split(key)
        combination = jax.random.randint(of_combination, (size,), 0, 3)
        labels = jnp.array([[0, 0], [0, 1], [1, 0]])[combination]
        fractions = jax.random.uniform(of_size, (size, 2))
        points = self._points(labels, fractions)
        if self.informative:
            return points
        x = jnp.stack(
            [points.x[:, 0], (self.reach + self.margin) * (1 - 2 * fractions[:, 1])], axis=1
        )
        return QuadrantBatch(x, jnp.where(x > 0, 1, 0))

    def sample_held_out(self, size: int, *, key: PRNGKeyArray) -> QuadrantBatch:
        """Draw `size` points of the held-out combination (1, 1)."""
        return self._points(jnp.ones((size, 2), int), jax.random.uniform(key, (size, 2)))

    def held_out_grid(self, side: int) -> QuadrantBatch:
        """`side`² points that cover the held-out quadrant evenly: the middles of equal squares.

        The fraction of them that is predicted positive is the share of the quadrant that is.
        """
        middles = (jnp.arange(side) + 0.5) / side
        fractions = jnp.stack(jnp.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
        return self._points(jnp.ones((side**2, 2), int), fractions)

    def _points(
        self, labels: Int[Array, "size 2"], fractions: Float[Array, "size 2"]
    ) -> QuadrantBatch:
        """Points whose sizes are these fractions of the reach."""
        # 1 − U lies in (0, 1]: a point on the border would have no sign.
        sizes = self.margin + self.reach * (1 - fractions)
        return QuadrantBatch(jnp.where(labels == 1, sizes, -sizes), labels)
