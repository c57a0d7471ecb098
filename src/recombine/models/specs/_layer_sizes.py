"""What the parts of a layer are built from."""

from typing import NamedTuple


class LayerSizes(NamedTuple):
    """Sizes and rates that all parts of a layer share."""

    width: int
    """Column width, d_model."""
    hidden: int
    """Hidden units of the feed-forward network, d_FF."""
    heads: int
    dropout: float
