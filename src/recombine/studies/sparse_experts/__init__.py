"""Sparse feed-forward networks: what do top-K, product keys and mixtures of experts cost?"""

DOCUMENT = "Csordás: Systematic generalization in connectionist models (2023)"
