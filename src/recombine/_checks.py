"""A check that parts of learning share."""

from typing import Any


def check_counts(settings: Any, *names: str) -> None:
    """Refuse settings of these names that are less than 1; None, where it may be, is no number.

    Configs and specs have ranges instead: see `recombine._ranges`.
    """
    for name in names:
        count = getattr(settings, name)
        if count is not None and count < 1:
            raise ValueError(f"{name}={count} is less than 1")


def check_chosen(chosen: int, experts: int) -> None:
    """Refuse more experts per token than there are."""
    if chosen > experts:
        raise ValueError(f"chosen={chosen} is more than there are experts; experts={experts}")
