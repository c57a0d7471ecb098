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


def check_rates(settings: Any, *names: str) -> None:
    """Refuse rates of dropout of these names that are not in [0, 1); None is no rate."""
    for name in names:
        rate = getattr(settings, name)
        if rate is not None and not 0 <= rate < 1:
            raise ValueError(f"{name}={rate:g} is not at least 0 and less than 1")


def check_chosen(chosen: int, experts: int) -> None:
    """Refuse more experts per token than there are."""
    if chosen > experts:
        raise ValueError(f"chosen={chosen} is more than there are experts; experts={experts}")
