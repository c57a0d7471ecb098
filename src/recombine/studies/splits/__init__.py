"""Does the diagnosis of a split tell the truth? What it predicts, beside what networks do."""

from typing import Literal

DOCUMENT = "recombine (divergence: Keysers et al. 2020; designs: Gao et al. RSS 2024)"

TaskName = Literal["teacher", "routing", "images", "lookup"]
"""A key of `tables.TABLES`."""
NetworkName = Literal["linear", "mlp", "deep", "product", "attention"]
"""A key of `networks.NETWORKS`."""
