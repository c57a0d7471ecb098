"""How well sequences are written, from what a network has really written."""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Bool, Int


class WrittenRight(NamedTuple):
    """Which outputs are right."""

    whole: Bool[np.ndarray, " size"]
    """All symbols and the length."""
    prefix: Bool[np.ndarray, " size"]
    """All symbols up to the shorter of both lengths, which is at least 1."""


def written_right(
    written: Int[ArrayLike, "size steps"], outputs: Int[ArrayLike, "size places"]
) -> WrittenRight:
    """Compare what a network has written with the true outputs; 0 ends both, and fills them up.

    With `EncoderDecoder.greedy_to_length`, `whole` is oracle-length accuracy.

    ```python
    written_right(np.array([[1, 2, 0], [1, 0, 0]]), np.array([[1, 2, 0], [1, 2, 0]]))
    # whole: [True, False], prefix: [True, True]
    ```
    """
    rows = np.asarray(written), np.asarray(outputs)
    width = max(row.shape[1] for row in rows)
    mine, true = (np.pad(row, ((0, 0), (0, width - row.shape[1]))) for row in rows)
    lengths = [np.where((x == 0).any(axis=1), (x == 0).argmax(axis=1), width) for x in (mine, true)]
    shorter = np.minimum(*lengths)
    same = (mine == true) | (np.arange(width) >= shorter[:, None])
    whole = same.all(axis=1) & (lengths[0] == lengths[1])
    return WrittenRight(whole, same.all(axis=1) & (shorter > 0))
