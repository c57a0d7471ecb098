"""Does every output component depend on its own input component, and on nothing else?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import ArrayLike, Float

from ._information import conditional_mutual_information


@dataclass(frozen=True)
class IndependenceReport:
    """What the components of an output depend on, in bits.

    Input components are drawn independently of each other, so that a component which goes with
    another one in training is not taken for a cause.
    """

    dependence: Float[np.ndarray, "outputs inputs"]
    """I(Y_i; X_j | all other X) at `[i, j]`. Compositional: 0 for j ≠ i."""
    coupling: Float[np.ndarray, " outputs"]
    """I(Y_i; all other Y | X): what outputs tell of each other that the input does not."""
    tolerance: float
    """Bits up to which something counts as nothing."""

    @property
    def holds(self) -> bool:
        """Whether P(Y_i | X_1 ... X_K, all other Y) = P(Y_i | X_i) for every i (Section 3)."""
        return not self.leaks and bool(np.all(self.coupling <= self.tolerance))

    @property
    def leaks(self) -> tuple[tuple[int, int], ...]:
        """The pairs (i, j), i ≠ j, for which output i depends on input j; from 0."""
        return tuple(
            (int(i), int(j)) for i, j in np.argwhere(self.dependence > self.tolerance) if i != j
        )

    def __str__(self) -> str:
        if self.holds:
            return "Every output depends on its own input only."
        lines = ["Not every output depends on its own input only:"]
        lines += [
            f"  output {i} depends on input {j} ({_bits(self.dependence[i, j])})"
            for i, j in self.leaks
        ]
        lines += [
            f"  output {i} depends on the other outputs ({_bits(bits)})"
            for i, bits in enumerate(self.coupling)
            if bits > self.tolerance
        ]
        return "\n".join(lines)


def _bits(number: float) -> str:
    text = f"{number:.3g}"
    return "1 bit" if text == "1" else f"{text} bits"


def conditional_independence(
    table: Float[ArrayLike, "..."], *, tolerance: float = 1e-9
) -> IndependenceReport:
    """Check the property that makes a table P(Y_1 ... Y_K | X_1 ... X_K) compositional (Section 3).

    P(Y_i | X_1 ... X_K, all other Y) = P(Y_i | X_i) for every i. Then the probability of outputs is
    the product of P(Y_i | X_i), known for every combination from its components.

    ```python
    >>> swap = np.eye(4).reshape(2, 2, 2, 2).swapaxes(2, 3)
    >>> print(conditional_independence(swap))
    Not every output depends on its own input only:
      output 0 depends on input 1 (1 bit)
      output 1 depends on input 0 (1 bit)
    ```

    **Arguments:**

    - `table`: `[x_1, ..., x_K, y_1, ..., y_K]`; the first K axes are inputs, and for each
        combination of these the others sum to 1.
    - `tolerance`: bits up to which a dependence counts as none.
    """
    table = np.asarray(table, float)
    K, odd = divmod(table.ndim, 2)
    if odd or not K:
        raise ValueError(
            f"{table.ndim} axes are not those of K inputs and K outputs; give 2 K axes"
        )
    sums = table.reshape(*table.shape[:K], -1).sum(axis=-1)
    if table.min() < 0 or not np.allclose(sums, 1, atol=1e-6):
        raise ValueError(
            "outputs need probabilities that sum to 1 for every combination of inputs; divide by"
            f" their sums, which go from {sums.min():g} to {sums.max():g}"
        )
    inputs, outputs = set(range(K)), set(range(K, 2 * K))
    dependence = [
        [conditional_mutual_information(table, y, x, tuple(inputs - {x})) for x in range(K)]
        for y in range(K, 2 * K)
    ]
    coupling = [
        conditional_mutual_information(table, y, tuple(outputs - {y}), tuple(inputs))
        for y in range(K, 2 * K)
    ]
    return IndependenceReport(np.array(dependence), np.array(coupling), tolerance)
