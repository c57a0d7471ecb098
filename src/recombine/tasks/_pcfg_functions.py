"""The functions of PCFG SET, and what a command is worth."""

from collections.abc import Callable

Letters = list[str]

UNARY: dict[str, Callable[[Letters], Letters]] = {
    "copy": lambda x: x,
    "reverse": lambda x: x[::-1],
    "shift": lambda x: x[1:] + x[:1],
    "echo": lambda x: x + x[-1:],
    "swap_first_last": lambda x: x if len(x) < 2 else [x[-1], *x[1:-1], x[0]],
    "repeat": lambda x: x + x,
}
"""Functions of one argument."""
BINARY: dict[str, Callable[[Letters, Letters], Letters]] = {
    "append": lambda x, y: x + y,
    "prepend": lambda x, y: y + x,
    "remove_first": lambda x, y: y,
    "remove_second": lambda x, y: x,
}
"""Functions of two arguments."""
FUNCTIONS = frozenset([*UNARY, *BINARY])


def pcfg_value(command: str) -> str:
    """The letters that a command of PCFG SET asks for (Hupkes et al., 2020).

    Functions stand before their arguments, a comma between two of them, and there are no brackets.

    ```python
    pcfg_value("echo append A1 B2 , reverse C3 D4")  # "A1 B2 D4 C3 C3"
    ```
    """
    tokens = command.split()
    value, end = _value(tokens, 0)
    if end < len(tokens):
        raise ValueError(f"{command!r} goes on after its end, with {tokens[end]!r}")
    return " ".join(value)


def _value(tokens: list[str], place: int) -> tuple[Letters, int]:
    """The value of what begins at a place, and the place after it."""
    token = tokens[place] if place < len(tokens) else ""
    if token in UNARY:
        argument, end = _value(tokens, place + 1)
        return UNARY[token](argument), end
    if token in BINARY:
        first, comma = _value(tokens, place + 1)
        if comma == len(tokens):
            raise ValueError(f"{' '.join(tokens)!r} has no second argument of {token!r}")
        second, end = _value(tokens, comma + 1)
        return BINARY[token](first, second), end
    end = place
    while end < len(tokens) and tokens[end] != "," and tokens[end] not in FUNCTIONS:
        end += 1
    if end == place:
        raise ValueError(f"{' '.join(tokens)!r} lacks an argument before token {place + 1}")
    return tokens[place:end], end
