"""What a meta-learner is given of a task: examples to adapt to, and others to be evaluated on."""

from typing import NamedTuple

from jaxtyping import Array, Float


class Examples(NamedTuple):
    """Input-output pairs of one task, or of many along leading axes."""

    x: Float[Array, "*tasks samples inputs"]
    """Inputs, flattened."""
    y: Float[Array, "*tasks samples outputs"]
    """Targets."""
    weight: Float[Array, "*tasks samples"]
    """1 for a sample that counts, 0 for padding."""


class Episode(NamedTuple):
    """Tasks as a meta-learner meets them, and the code that it is not shown."""

    support: Examples
    """Examples to adapt to."""
    query: Examples
    """Examples to be evaluated on."""
    code: Float[Array, "*tasks layers modules"]
    """The hidden mixture of modules behind each task (layers of modules, or factors of values)."""
