"""Differentiable neural computers that work: three defects of a memory, and their remedies."""

DOCUMENT = "Csordás: Systematic generalization in connectionist models (2023)"
