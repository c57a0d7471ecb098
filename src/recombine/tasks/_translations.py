"""Sets of sentence pairs: what a network from sequences to sequences learns and is tested on."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from ._labelled_sequences import least_padding
from ._sequences import SequenceBatch, Vocabulary

Pairs = Sequence[tuple[str, str]]
"""Inputs and outputs, as texts."""
Tokenizer = Callable[[str], list[str]]

_WORD = re.compile(r"\w+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """A text as words and single punctuation characters.

    ```python
    words_of("x _ 1 ) AND roll.")  # ["x", "_", "1", ")", "AND", "roll", "."]
    ```
    """
    return _WORD.findall(text)


def spaced(text: str) -> list[str]:
    """A text whose tokens have spaces between them."""
    return text.split()


def characters_of(text: str) -> list[str]:
    """A text as its characters."""
    return list(text)


@dataclass(frozen=True, eq=False)
class Translations:
    """Pairs of sentences in named parts, `train` among them, as numbers.

    ```python
    pairs = {"train": [("jump", "JUMP"), ("run", "RUN")], "test": [("jump run", "JUMP RUN")]}
    found = Translations.of(pairs, spaced)
    found.size("test"), found.text("test", 0)  # 1, ("jump run", "JUMP RUN")
    ```
    """

    words: Vocabulary
    """The tokens of inputs."""
    symbols: Vocabulary
    """The tokens of outputs."""
    parts: Mapping[str, SequenceBatch]
    """The pairs of every part."""
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The kind of every pair, of parts that have several."""

    @classmethod
    def of(
        cls,
        pairs: Mapping[str, Pairs],
        tokenizer: Tokenizer = words_of,
        *,
        shared: bool = False,
        words: Vocabulary | None = None,
        symbols: Vocabulary | None = None,
        kinds: Mapping[str, Sequence[str]] | None = None,
    ) -> "Translations":
        """Pairs of texts as numbers.

        **Arguments:**

        - `pairs`: the texts of every part.
        - `tokenizer`: a text as its tokens.
        - `shared`: whether inputs and outputs have one vocabulary.
        - `words`, `symbols`: their vocabularies; by default the sorted tokens of all parts.
        - `kinds`: the kind of every pair, of parts that have several.
        """
        tokens = {}
        for part, found in pairs.items():
            if not len(found):
                raise ValueError(f"the part {part!r} has no pairs; there must be at least one")
            tokens[part] = [(tokenizer(source), tokenizer(target)) for source, target in found]
            for line, pair in enumerate(tokens[part], 1):
                if not all(pair):
                    side = "output" if pair[0] else "input"
                    raise ValueError(f"pair {line} of the part {part!r} has an empty {side}")
        everything = [pair for part in tokens.values() for pair in part]
        seen = [{token for pair in everything for token in pair[side]} for side in (0, 1)]
        seen = [seen[0] | seen[1]] * 2 if shared else seen
        words, symbols = (
            Vocabulary(tuple(sorted(found))) if given is None else given
            for given, found in zip((words, symbols), seen, strict=True)
        )
        parts = {}
        for part, numbered in tokens.items():
            columns: Any = (
                *_numbered(part, "input", [pair[0] for pair in numbered], words),
                *_numbered(part, "output", [pair[1] for pair in numbered], symbols),
            )
            parts[part] = SequenceBatch(*columns)
        named = {part: tuple(of_part) for part, of_part in (kinds or {}).items()}
        for part, of_part in named.items():
            if len(of_part) != len(tokens[part]):
                raise ValueError(
                    f"{len(of_part)} kinds of the {len(tokens[part])} pairs of {part!r}"
                )
        return cls(words, symbols, parts, named)

    def size(self, part: str) -> int:
        """The number of pairs of a part."""
        return len(self.part(part).inputs)

    def part(self, name: str) -> SequenceBatch:
        """The pairs of a part."""
        if name not in self.parts:
            raise ValueError(f"there is no part {name!r}, only {', '.join(self.parts)}")
        return self.parts[name]

    def text(self, part: str, place: int) -> tuple[str, str]:
        """One pair, with spaces between tokens."""
        pairs = self.part(part)
        (source,) = self.words.decode(np.asarray(pairs.inputs)[place][None])
        (target,) = self.symbols.decode(np.asarray(pairs.outputs)[place][None])
        return source, target

    def longest(self, part: str) -> tuple[int, int]:
        """The most tokens of an input and of an output of a part."""
        pairs = self.part(part)
        return int(pairs.input_lengths.max()) - 1, int(pairs.output_lengths.max()) - 1


def _numbered(
    part: str, side: str, sentences: list[list[str]], vocabulary: Vocabulary
) -> tuple[Int[np.ndarray, "pairs width"], Int[np.ndarray, " pairs"]]:
    """Sentences as rows of numbers, and their lengths with one end symbol."""
    number = {word: i for i, word in enumerate(vocabulary.words, 1)}
    lengths = np.array([len(tokens) + 1 for tokens in sentences], np.int32)
    rows = np.zeros((len(sentences), lengths.max()), np.int32)
    for line, (row, tokens) in enumerate(zip(rows, sentences, strict=True), 1):
        try:
            row[: len(tokens)] = [number[token] for token in tokens]
        except KeyError as error:
            unknown = error.args[0]
            raise ValueError(
                f"{side} {line} of the part {part!r} has the unknown word {unknown!r}: "
                f"{vocabulary.nearest(unknown)}"
            ) from None
    return rows, lengths


def trimmed(
    pairs: SequenceBatch, places: Sequence[int] | np.ndarray | None = None
) -> SequenceBatch:
    """Pairs, all or those at some places, in rows as short as the longest of them.

    Cannot be compiled.
    """
    columns = [np.asarray(column) for column in pairs]
    if places is not None:
        chosen = np.asarray(places, int)
        columns = [column[chosen] for column in columns]
    inputs, input_lengths, outputs, output_lengths = columns
    return SequenceBatch(*map(jnp.asarray, (
        inputs[:, : input_lengths.max()], input_lengths,
        outputs[:, : output_lengths.max()], output_lengths,
    )))  # fmt: skip


def length_buckets(pairs: SequenceBatch, count: int) -> tuple[SequenceBatch, ...]:
    """Pairs by the length of their outputs, in at most `count` sets of different widths.

    Which lengths share a set is chosen so that all sets together have the least padding of
    outputs. Sets are batches of fixed shapes for `recombine.learning.Mixture`. Cannot be compiled.
    """
    lengths = np.asarray(pairs.output_lengths)
    ends = least_padding(np.bincount(lengths), count)
    places = (
        np.flatnonzero((start < lengths) & (lengths <= end)) for start, end in pairwise([0, *ends])
    )
    return tuple(trimmed(pairs, chosen) for chosen in places)


def first_pairs(pairs: SequenceBatch, count: int) -> SequenceBatch:
    """At most `count` pairs, at equal distances."""
    size = len(pairs.inputs)
    return trimmed(pairs, np.arange(size)[:: -(-size // count)])


def joined_pairs(first: SequenceBatch, *others: SequenceBatch) -> SequenceBatch:
    """Several sets of pairs as one, in rows as wide as the widest."""
    sets = (first, *others)

    def rows(name: str) -> np.ndarray:
        columns = [np.asarray(getattr(one, name)) for one in sets]
        width = max(column.shape[1] for column in columns)
        return np.concatenate([np.pad(c, ((0, 0), (0, width - c.shape[1]))) for c in columns])

    def lengths(name: str) -> np.ndarray:
        return np.concatenate([np.asarray(getattr(one, name)) for one in sets])

    columns = rows("inputs"), lengths("input_lengths"), rows("outputs"), lengths("output_lengths")
    return SequenceBatch(*map(jnp.asarray, columns))
