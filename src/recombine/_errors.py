"""What can go wrong through no fault of the program."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A mistake of the user's: one line that names it and the remedy. The CLI exits with code 2."""


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint for a misspelt `word`, ready to end a message: the closest of `words`, or all."""
    words = list(words)
    small = {w.lower(): w for w in reversed(words)}
    close = get_close_matches(word.lower(), small, n=1, cutoff=0.5)
    if close:
        return f"did you mean {small[close[0]]!r}?"
    return f"there are {', '.join(words)}" if words else "there are none"
