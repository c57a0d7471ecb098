"""Gradient descent and compositionality: does a step use inputs that the target does not need?"""

DOCUMENT = "Anonymous: Gradient descent resists compositionality (ICLR 2021 submission)"
