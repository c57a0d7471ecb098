"""How often a classifier answers with what it should ignore."""

from jaxtyping import Array, Float, Int


def shortcut_rate(
    predictions: Int[Array, " samples"], second_labels: Int[Array, " samples"], classes: int
) -> Float[Array, ""]:
    """The share of answers that are Y₂ or Y₂ − 1 (mod `classes`).

    In training Y₂ is Y or Y + 1, so that these are the two answers which Y₂ alone suggests. On
    combinations with Y₂ from Y + 2 to Y + 9 both are wrong, and of errors made at random 2 in
    `classes` − 1 are of this kind.

    **Arguments:**

    - `predictions`: the answers.
    - `second_labels`: Y₂.
    - `classes`: the number of classes, counted from 0.
    """
    return ((second_labels - predictions) % classes <= 1).mean()
