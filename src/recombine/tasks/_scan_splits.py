"""Which commands of SCAN are trained, how often, and which are tested."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Int, PRNGKeyArray

from .._host_random import host_generator
from ._scan_language import SCAN_WORDS, scan_commands, scan_tokens

ScanPart = Literal["train", "iid", "test"]
Counts = Int[np.ndarray, " commands"]


@dataclass(frozen=True, eq=False)
class ScanSplit:
    """How many lines each command has in the training and test data of SCAN.

    Counts are in the order of `scan_commands`, 0 for a command that a part lacks.
    """

    train: Counts
    test: Counts
    iid: Counts
    """Commands kept from training that are like the trained ones: see `hold_out`."""

    def size(self, part: ScanPart) -> int:
        """The lines of a part."""
        return int(getattr(self, part).sum())

    def deduplicated(self) -> "ScanSplit":
        """Every training command once. Of `add_primitive_split()`: A-dedup, 13,204 lines."""
        return replace(self, train=np.minimum(self.train, 1))

    def united(self) -> "ScanSplit":
        """Every training and test command once in training; the test stays.

        Of `add_primitive_split()` it is setting B as the published code runs it: B-uniform,
        20,910 lines. The test is part of the training data.
        """
        return replace(self, train=np.minimum(self.train + self.test, 1))

    def masked(
        self,
        word: str = "jump",
        by: Sequence[str] = ("walk", "run", "look"),
        *,
        key: PRNGKeyArray,
    ) -> "ScanSplit":
        """Every occurrence of a word, in every line, replaced by one of others, drawn uniformly.

        Of `add_primitive_split()` it is setting B of Appendix B: B-masked, 14,670 lines. The test
        is part of the training data. Lines that become commands of `iid` are left out.
        """
        (hidden,), others = SCAN_WORDS.encode([word])[0][:, 0], SCAN_WORDS.encode(by)[0][:, 0]
        tokens = np.asarray(scan_tokens().inputs)
        # Every command as one number, to find it again after the exchange.
        digits = np.int64(len(SCAN_WORDS)) ** np.arange(tokens.shape[1])
        codes = tokens @ digits
        order = codes.argsort()
        rng = host_generator(key)

        def exchanged(counts: Counts) -> Counts:
            lines = tokens[_lines(counts)]
            drawn = rng.choice(others, lines.shape)
            places = np.where(lines == hidden, drawn, lines) @ digits
            found = order.take(np.searchsorted(codes, places, sorter=order), mode="clip")
            if (codes[found] != places).any():
                raise ValueError(f"{word!r} for one of {', '.join(by)} does not give a command")
            return np.where(self.iid > 0, 0, np.bincount(found, minlength=len(tokens)))

        return replace(self, train=exchanged(self.train), test=exchanged(self.test))

    def hold_out(self, commands: int, *, key: PRNGKeyArray) -> "ScanSplit":
        """Keep some of the commands with one training line from training, as the part `iid`."""
        once = np.flatnonzero((self.train == 1) & (self.test == 0))
        if not 0 <= commands < len(once):
            raise ValueError(f"cannot hold out {commands} of {len(once)} commands; use fewer")
        iid = np.zeros_like(self.iid)
        iid[host_generator(key).choice(once, commands, replace=False)] = 1
        return replace(self, train=self.train - iid, iid=self.iid + iid)


def simple_split(trained: int = 16_728, *, key: PRNGKeyArray) -> ScanSplit:
    """Some commands at random are trained, the others (by default 4,182) tested.

    The published files hold one random draw; this is another, of the same size.
    """
    commands = len(scan_commands())
    if not 0 < trained < commands:
        raise ValueError(f"{trained} of {commands} commands cannot be trained; use fewer")
    return _split(host_generator(key).permutation(commands) < trained)


def length_split(longest: int = 22) -> ScanSplit:
    """Commands of up to so many actions are trained (by default 16,990), longer ones tested."""
    actions = np.asarray(scan_tokens().output_lengths) - 1
    if not actions.min() <= longest < actions.max():
        raise ValueError(f"longest must lie in {actions.min()} to {actions.max() - 1}: {longest}")
    return _split(actions <= longest)


def length_resplit(
    longest: int = 26, *, without: Sequence[str] = (), held_out: float = 0.1, seed: int = 1234
) -> ScanSplit:
    """`length_split` with a tenth of the commands of up to `longest` actions as the part `iid`.

    With 26 there are 16,458 commands to train, 1,828 like them, and 2,624 longer ones. Which are
    held out is drawn as in the published code, of commands in another order.

    **Arguments:**

    - `longest`: the most actions of a trained command.
    - `without`: words whose commands are left out. Without `around` and `opposite`, 3,570 commands
        of up to 12 actions are left.
    - `held_out`: the share of the commands of up to `longest` actions in `iid`.
    - `seed`: the seed of the draw.
    """
    split = length_split(longest)
    hidden = SCAN_WORDS.encode(without)[0][:, 0]
    used = (~np.isin(np.asarray(scan_tokens().inputs), hidden).any(axis=1)).astype(int)
    pool = np.flatnonzero(split.train * used)
    if not len(pool) or not (split.test * used).any():
        raise ValueError(f"longest={longest} leaves no commands to train, or none to test")
    iid = np.zeros_like(split.iid)
    # As the published code rounds: of 16,990 commands it takes 1,698.
    count = int(len(pool) * (1 - (1 - held_out)))
    drawn = np.random.RandomState(seed).choice(len(pool), count, replace=False)
    iid[pool[drawn]] = 1
    return ScanSplit(split.train * used - iid, split.test * used, iid)


def add_primitive_split(primitive: str = "jump") -> ScanSplit:
    """One command is trained alone, as a tenth of all lines, and tested in combinations.

    With "jump" there are 14,670 lines of training, 1,467 of them `jump`, and 7,706 of test: the
    setting A. With "turn left" there are 21,890, 2,189 of them `turn left`, and 1,208.
    """
    commands = list(scan_commands())
    if primitive not in commands:
        raise ValueError(f"{primitive!r} is no command; use one such as 'jump' or 'turn left'")
    split = _split(np.array([primitive not in command for command in commands]))
    alone = np.array([command == primitive for command in commands])
    repetitions = round(split.size("train") / 9)
    return replace(split, train=split.train + repetitions * alone, test=split.test * ~alone)


def _split(trained: np.ndarray) -> ScanSplit:
    """Trained commands with one line each, the others tested."""
    counts = trained.astype(int)
    return ScanSplit(counts, 1 - counts, np.zeros_like(counts))


def _lines(counts: Counts) -> Int[np.ndarray, " lines"]:
    """The command of every line."""
    return np.repeat(np.arange(len(counts)), counts)
