"""Pairs of token sequences: words as numbers, sentences as padded rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int


class SequenceBatch(NamedTuple):
    """Input sequences and the output sequences that belong to them.

    Tokens are numbers from 1 on. A row is filled up with 0, which is the end symbol too, and every
    row has at least one; lengths count one end symbol.
    """

    inputs: Int[Array, "size positions"]
    input_lengths: Int[Array, " size"]
    outputs: Int[Array, "size steps"]
    output_lengths: Int[Array, " size"]


@dataclass(frozen=True)
class Vocabulary:
    """Words, numbered from 1 on; 0 ends a sentence and fills it up.

    ```python
    Vocabulary(("jump", "twice")).encode(["jump twice", "jump"])  # [[1, 2, 0], [1, 0, 0]], [3, 2]
    ```
    """

    words: tuple[str, ...]

    def __len__(self) -> int:
        """The words, and the end symbol."""
        return len(self.words) + 1

    def encode(
        self, sentences: Sequence[str], width: int | None = None
    ) -> tuple[Int[np.ndarray, "sentences width"], Int[np.ndarray, " sentences"]]:
        """Sentences as rows of numbers, and their lengths with one end symbol.

        **Arguments:**

        - `sentences`: words with spaces between them.
        - `width`: the length of the rows; by default the longest sentence and an end symbol.
        """
        number = {word: i for i, word in enumerate(self.words, 1)}
        try:
            rows = [[number[word] for word in sentence.split()] for sentence in sentences]
        except KeyError as error:
            word = error.args[0]
            raise ValueError(f"the vocabulary lacks {word!r}; {self.nearest(word)}") from None
        lengths = np.fromiter(map(len, rows), np.int32, len(rows)) + np.int32(1)
        longest = int(lengths.max(initial=1))
        width = longest if width is None else width
        if width < longest:
            raise ValueError(
                f"a sentence of {longest - 1} words needs a width of {longest}, not {width}"
            )
        tokens = np.zeros((len(rows), width), np.int32)
        tokens[np.arange(width) < lengths[:, None] - 1] = [i for row in rows for i in row]
        return tokens, lengths

    def nearest(self, word: str) -> str:
        """What may have been meant by a word that is unknown, to end a message."""
        return f"its nearest is {''.join(get_close_matches(word, self.words, 1, 0))!r}"

    def decode(self, tokens: Int[Array | np.ndarray, "sentences width"]) -> list[str]:
        """The sentences of rows of numbers, each up to its first end symbol."""
        ends = (np.append(row, 0).argmin() for row in np.asarray(tokens))
        rows = zip(np.asarray(tokens), ends, strict=True)
        return [" ".join(self.words[i - 1] for i in row[:end]) for row, end in rows]
