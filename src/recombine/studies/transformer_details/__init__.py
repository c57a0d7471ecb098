"""Details that decide whether transformers generalize: positions, layers, stopping, scales."""

DOCUMENT = "Csordás: Systematic generalization in connectionist models (2023)"
