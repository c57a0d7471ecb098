"""What can go wrong in a trial or through a mistake of the user's."""

from .._errors import UserError as UserError
from .._errors import nearest as nearest


class Diverged(Exception):
    """A trial's numbers are no longer finite."""


class Missing(Exception):
    """The results that a claim or figure needs are missing."""
