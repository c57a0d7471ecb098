"""Counts and times in words, and words that can be written."""

from collections.abc import Mapping


def count(n: int, word: str) -> str:
    """`3 trials`, `1 trial`."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def duration(seconds: float) -> str:
    """`0.42` as `0.42 s`, `75` as `75 s`, `4000` as `1 h 6 min`."""
    if seconds < 10:
        return f"{float(f'{seconds:.2g}'):g} s"
    if round(seconds) < 120:
        return f"{round(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def shortened(text: str, width: int, mark: str = "…") -> str:
    """`text` in at most `width` characters; what is left out is marked."""
    if len(text) <= width:
        return text
    return text[: max(width - len(mark), 0)].rstrip(" ,;:") + mark if width > len(mark) else ""


def verdict_counts(counts: Mapping[str, int]) -> dict[str, str]:
    """How many verdicts there are of each kind that there is: `22 hold`, `1 fails`."""
    many = {"holds": "hold", "fails": "fail", "undecided": "undecided"}
    return {
        word: f"{counts[word]} {word if counts[word] == 1 else plural}"
        for word, plural in many.items()
        if counts.get(word)
    }


def printable(text: str) -> str:
    """`text`, with an escape for what no file and no database takes: half a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode()
