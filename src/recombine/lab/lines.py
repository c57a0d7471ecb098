"""Messages between an engine and its workers: JSON, one document per line."""

import json
from typing import Any


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The message that `line` holds; an empty one if it holds none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


class Lines:
    """Puts lines together from pieces that arrive. The cost is linear in the bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes."""
        first, *others = data.split(b"\n")
        self._pieces.append(first)
        if not others:
            return []
        *lines, rest = (b"".join(self._pieces), *others)
        self._pieces = [rest]
        return lines
