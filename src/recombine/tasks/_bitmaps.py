"""What tasks of a memory have in common: sequences of rows of bits, to be answered row by row."""

from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Int


class BitmapBatch(NamedTuple):
    """Sequences of rows of bits, and the rows that are to be written meanwhile.

    All sequences of a batch have one length; rows from there on are 0 and count for nothing.
    """

    inputs: Float[Array, "size time inputs"]
    targets: Float[Array, "size time outputs"]
    """0 where there is nothing to answer."""
    lengths: Int[Array, " size"]
    phases: Int[Array, "size time"]
    """Which part of the task a row belongs to, by its number in `BITMAP_PHASES`; 0 at the end."""
    parts: Int[Array, "size time"]
    """Which repeat, block or word a row belongs to, counted from 0; −1 for rows between them."""


BITMAP_PHASES = ("end", "write", "mark", "read", "reverse")
"""Rows at the end, to be remembered, that mark a border, to be answered, and to be answered the
other way round."""
END, WRITE, MARK, READ, REVERSE = range(len(BITMAP_PHASES))


def check_range(task: eqx.Module, name: str, least: int) -> None:
    """Refuse a range, the lowest and the highest number, that is empty or begins too low."""
    low, high = getattr(task, name)
    if low < least or high < low:
        raise ValueError(f"{name}={low} to {high} is not a range from {least} or more upwards")
