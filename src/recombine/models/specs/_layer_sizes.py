"""Sizes from which the parts of an encoder are built."""

from typing import NamedTuple


class LayerSizes(NamedTuple):
    """Sizes and the rate of dropout that all parts of an encoder share."""

    width: int
    """Column width, d_model."""
    hidden: int
    """Hidden units of the feed-forward network, d_FF."""
    heads: int
    dropout: float
    layers: int = 1
    """Number of layers, by which some initialisations scale."""
    head_width: int | None = None
    """Numbers of a query of one head; none: heads share the width of a column."""
