"""Accuracies as shares of 1: trials on images and commands report them in percent."""

import numpy as np

from recombine.lab import Quantity, Results, curve, per_seed


def accuracy_curve(results: Results, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The steps, and an accuracy or a gap between two of them: `[seeds, steps]`."""
    steps, percent = results.curve(name)
    return steps, percent / 100


def accuracy_at(name: str, step: int, setting: str) -> Quantity:
    """An accuracy, or a gap between two of them, at a step of training in a setting."""
    percent = curve(name, step, setting=setting)
    return per_seed(percent / 100, f"{name} at step {step} in {setting}")
