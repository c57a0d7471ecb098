"""The language of SCAN: its commands, and what they mean."""

from functools import cache
from itertools import product

from ._sequences import SequenceBatch, Vocabulary

SCAN_WORDS = Vocabulary((
    "after", "and", "around", "jump", "left", "look", "opposite", "right", "run", "thrice", "turn",
    "twice", "walk",
))  # fmt: skip
"""The words of SCAN's commands."""
SCAN_ACTIONS = Vocabulary(("I_JUMP", "I_LOOK", "I_RUN", "I_TURN_LEFT", "I_TURN_RIGHT", "I_WALK"))
"""What SCAN's commands ask for."""

Meanings = dict[str, tuple[str, ...]]


def _movements() -> Meanings:
    """A verb alone or with a direction: V of the grammar, 34 of them."""
    moves: Meanings = {}
    # "turn" asks for nothing but the turns of its direction.
    verbs = {verb: (f"I_{verb.upper()}",) for verb in ("walk", "look", "run", "jump")}
    for verb, act in (verbs | {"turn": ()}).items():
        if act:
            moves[verb] = act
        for side in ("left", "right"):
            turn = (f"I_TURN_{side.upper()}",)
            moves[f"{verb} {side}"] = turn + act
            moves[f"{verb} opposite {side}"] = turn + turn + act
            moves[f"{verb} around {side}"] = (turn + act) * 4
    return moves


@cache
def scan_commands() -> dict[str, str]:
    """All 20,910 commands of SCAN, and the actions that each asks for.

    A command is a movement, perhaps twice or thrice, or two of these joined by "and" or "after";
    of `x after y`, y comes first.

    ```python
    scan_commands()["jump left after walk twice"]  # "I_WALK I_WALK I_TURN_LEFT I_JUMP"
    ```
    """
    repeated: Meanings = {}
    for movement, actions in _movements().items():
        for times, how_often in enumerate(("", " twice", " thrice"), 1):
            repeated[movement + how_often] = actions * times
    commands = dict(repeated)
    for (x, first), (y, second) in product(repeated.items(), repeated.items()):
        commands[f"{x} and {y}"] = first + second
        commands[f"{x} after {y}"] = second + first
    return {command: " ".join(actions) for command, actions in commands.items()}


@cache
def scan_tokens() -> SequenceBatch:
    """The commands and actions of `scan_commands` as numbers, in its order, in NumPy arrays.

    Commands have up to 9 words and rows of 10 numbers, actions up to 48 and rows of 49.
    """
    commands = scan_commands()
    inputs, input_lengths = SCAN_WORDS.encode(list(commands))
    outputs, output_lengths = SCAN_ACTIONS.encode(list(commands.values()))
    tokens = inputs, input_lengths, outputs, output_lengths
    for array in tokens:
        array.flags.writeable = False  # all callers share them
    return SequenceBatch(*tokens)  # type: ignore[arg-type]
