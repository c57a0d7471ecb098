"""PCFG SET: nested edits of strings, by a generator of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ._pcfg_functions import BINARY, FUNCTIONS, UNARY, pcfg_value
from ._pcfg_trees import Tree, draw_size, draw_tree, published_sizes
from ._sequences import Vocabulary
from ._translations import Translations, spaced

PCFGSplit = Literal["iid", "productivity", "systematicity"]

HELD_OUT_PAIRS = frozenset({
    ("swap_first_last", "repeat"), ("append", "remove_second"), ("repeat", "remove_second"),
    ("append", "swap_first_last"),
})  # fmt: skip
"""Functions that are never next to each other in training, in the split `systematicity`."""


@dataclass(frozen=True)
class PCFGSet:
    """Apply nested functions to strings: `echo append A1 B2 , reverse C3 D4` (Hupkes et al., 2020).

    Trees are as deep and as large as those of the published set, functions are all equally likely,
    strings have 2 to 5 letters, and no string occurs twice.

    ```python
    found = PCFGSet().pairs("productivity", train=1000, iid=100, ood=100)
    found["ood"][0]  # a command of 9 functions or more, and its value
    ```
    """

    letters: int = 26
    """Letters of the alphabet."""
    indices: int = 20
    """Numbers that a letter is combined with: with 26 letters, there are 520 symbols."""
    functions: tuple[str, ...] = (*UNARY, *BINARY)
    """The functions that occur."""
    trained: int = 8
    """The most functions in training, in the split `productivity`."""
    longest: int = 25
    """The most functions of any command."""

    def __post_init__(self):
        if unknown := [name for name in self.functions if name not in FUNCTIONS]:
            raise ValueError(f"unknown functions: {', '.join(unknown)}")
        if not set(self.functions) & set(UNARY):
            raise ValueError("there must be a function of one argument, such as reverse")
        if not 1 <= self.trained < self.longest <= 25:
            raise ValueError(
                f"trained={self.trained} and longest={self.longest}: functions are at most 25, and "
                "some tests have more than are trained"
            )
        if not 1 <= self.letters <= 26 or self.indices < 1:
            raise ValueError(f"letters={self.letters} or indices={self.indices} is out of range")

    def vocabulary(self) -> Vocabulary:
        """All symbols, functions and the comma: with the published synonyms of four functions,
        which no command has, they are the 535 of Table C.7."""
        synonyms = "append2", "remove_first2", "repeat2", "reverse2"
        whole = (self.letters, self.indices) == (26, 20)
        return Vocabulary(tuple(sorted([
            *self.symbols(), *self.functions, ",", *(synonyms if whole else ()),
        ])))  # fmt: skip

    def symbols(self) -> list[str]:
        """The symbols that strings are made of."""
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: self.letters]
        return [f"{letter}{index}" for letter in alphabet for index in range(1, self.indices + 1)]

    def pairs(
        self, split: PCFGSplit = "iid", *, train: int, iid: int, ood: int, seed: int = 0
    ) -> dict[str, list[tuple[str, str]]]:
        """Different commands and their values: `train`, `iid` and `ood`.

        In `productivity`, commands of `ood` have more than `trained` functions. In
        `systematicity`, each has two functions next to each other that never are in training. In
        `iid` nothing sets them apart, and there is no `ood` if it is to have 0 commands.

        **Arguments:**

        - `train`, `iid`, `ood`: how many commands they have.
        - `seed`: the seed of the commands.
        """
        rng = np.random.default_rng(seed)
        wanted = {"train": train, "iid": iid, "ood": ood}
        parts: dict[str, list[tuple[str, str]]] = {name: [] for name in wanted if wanted[name]}
        seen: set[str] = set()
        for attempt, commands in enumerate(self._commands(rng)):
            for command in commands:
                apart = self._is_apart(command, split)
                name = "ood" if apart else "train"
                if split == "iid":
                    name = next((n for n in parts if len(parts[n]) < wanted[n]), "train")
                elif not apart and len(parts["train"]) >= train:
                    name = "iid"
                if name in parts and len(parts[name]) < wanted[name] and command not in seen:
                    seen.add(command)
                    parts[name].append((command, pcfg_value(command)))
            if all(len(found) == wanted[name] for name, found in parts.items()):
                return parts
            if attempt > 20 + sum(wanted.values()) // 10:
                raise ValueError(f"there are not enough commands for the split {split!r}")
        raise AssertionError  # commands never end

    def translations(
        self, split: PCFGSplit = "iid", *, train: int, iid: int, ood: int, seed: int = 0
    ) -> Translations:
        """`pairs` as numbers, in one vocabulary."""
        found = self.pairs(split, train=train, iid=iid, ood=ood, seed=seed)
        vocabulary = self.vocabulary()
        return Translations.of(found, spaced, words=vocabulary, symbols=vocabulary)

    def _is_apart(self, command: str, split: PCFGSplit) -> bool:
        tokens = command.split()
        if split == "systematicity":
            return any(pair in HELD_OUT_PAIRS for pair in pairwise(tokens))
        functions = sum(token in FUNCTIONS for token in tokens)
        return split == "productivity" and functions > self.trained

    def _commands(self, rng: np.random.Generator) -> Iterator[list[str]]:
        """Batches of commands, without end."""
        sizes = published_sizes(self.longest)
        cells, shares = list(sizes), np.array(list(sizes.values()))
        unary = [name for name in self.functions if name in UNARY]
        binary = [name for name in self.functions if name in BINARY]
        symbols, used = self.symbols(), set[tuple[int, ...]]()

        def string() -> str:
            for _ in range(100):
                places = tuple(rng.integers(len(symbols), size=rng.integers(2, 6)).tolist())
                if places not in used:
                    break
            used.add(places)  # of a small alphabet strings come again
            return " ".join(symbols[place] for place in places)

        def written(tree: Tree) -> str:
            if not tree:
                return string()
            names = unary if len(tree) == 1 else binary
            return f"{names[rng.integers(len(names))]} {' , '.join(map(written, tree))}"

        while True:
            drawn = rng.choice(len(cells), 500, p=shares)
            drawn_cells = (cells[place] for place in drawn)
            trees = [draw_size(depth, functions, rng) for depth, functions in drawn_cells]
            if not binary:
                trees = [size for size in trees if size.binary == 0]
            yield [written(draw_tree(size, rng)) for size in trees]
