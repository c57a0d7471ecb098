"""Modularity and scaling laws: how many samples does a network need, and what do modules change?"""

DOCUMENT = "Boopathy et al.: Breaking neural network scaling laws with modularity (2025)"
