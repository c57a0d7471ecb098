"""Modules inside trained networks: which weights a function needs, found by learned masks."""

DOCUMENT = "Csordás: Systematic generalization in connectionist models (2023)"
