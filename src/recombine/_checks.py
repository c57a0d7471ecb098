"""Checks that settings of networks, rules and studies share."""

from typing import Any


def check_counts(settings: Any, *names: str) -> None:
    """Refuse settings of these names that are less than 1; None, where it may be, is no number.

    For a config's `__post_init__`: `check_counts(self, "layers", "batch")`.
    """
    for name in names:
        count = getattr(settings, name)
        if count is not None and count < 1:
            raise ValueError(f"{name}={count} is less than 1")
