"""Whether masks may be concluded from: the control mask must leave the network able."""

from typing import NamedTuple

from .._errors import UserError

LEAST = 0.95
"""The share of its accuracy that a network must have left under the mask of its whole task."""


class Gate(NamedTuple):
    """Whether conclusions may be drawn from masks, and if not, why."""

    valid: bool
    reason: str
    """Empty if they may."""
    kept: float
    """The share of its accuracy that the network has under the control mask."""

    def check(self) -> None:
        """Raise `UserError` with the reason if no conclusion may be drawn."""
        if not self.valid:
            raise UserError(f"no conclusion: {self.reason}")


def module_gate(
    unmasked: float, control: float, *, least: float = LEAST, perfect: float = LEAST
) -> Gate:
    """Whether masks of a network may be concluded from.

    **Arguments:**

    - `unmasked`: accuracy of the network without a mask, on what is analysed.
    - `control`: accuracy under a mask that was learned on its whole task.
    - `least`: the least share of the first that the second must be.
    - `perfect`: the least accuracy without a mask.
    """
    kept = control / unmasked if unmasked > 0 else 0.0
    if unmasked < perfect:
        reason = (
            f"the network without a mask is right on {unmasked:.1%} of what is analysed, and must "
            f"be on {perfect:.0%}; train it for longer"
        )
    elif kept < least:
        reason = (
            f"the mask of the whole task leaves {kept:.1%} of the accuracy, and must leave "
            f"{least:.0%}; use a smaller beta or more steps (choose_beta finds one)"
        )
    else:
        reason = ""
    return Gate(not reason, reason, kept)
