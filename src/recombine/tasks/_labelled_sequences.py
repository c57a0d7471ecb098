"""Sequences of tokens, each with one label: what a sequence classifier reads."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int


class LabelledSequences(eqx.Module):
    """Sequences of tokens, filled up with 0, and one class per sequence.

    ```python
    pair = LabelledSequences([[1, 3, 2], [3, 0, 0]], [3, 1], [0, 1], ("", "(", ")", "x"), 2)
    pair.text(0)  # "( x )"
    pair.framed().text(1)  # "B x E"
    ```
    """

    tokens: Int[Array, "items length"] = eqx.field(converter=jnp.asarray)
    lengths: Int[Array, " items"] = eqx.field(converter=jnp.asarray)
    """The number of tokens in each sequence, without padding."""
    labels: Int[Array, " items"] = eqx.field(converter=jnp.asarray)
    vocabulary: tuple[str, ...] = eqx.field(static=True)
    """The word for each token; the first is padding."""
    classes: int = eqx.field(static=True)

    def __len__(self) -> int:
        """The number of sequences."""
        return len(self.labels)

    def __getitem__(self, places: Any) -> "LabelledSequences":
        """The sequences at these places: a slice or an array of places or booleans."""
        return self._with(self.tokens[places], self.lengths[places], self.labels[places])

    def take(self, places: Int[Array, " chosen"]) -> "LabelledSequences":
        """The sequences at these places; can be compiled."""
        return self[places]

    def text(self, place: int) -> str:
        """One sequence in words."""
        tokens = np.asarray(self.tokens)[place, : np.asarray(self.lengths)[place]]
        return " ".join(self.vocabulary[token] for token in tokens)

    def framed(self, begin: bool = True, end: bool = True) -> "LabelledSequences":
        """The same sequences after a token `B` and before a token `E`, or one of the two."""
        tokens, lengths, vocabulary = self.tokens, self.lengths, self.vocabulary
        if begin:
            tokens = jnp.pad(tokens, ((0, 0), (1, 0)), constant_values=len(vocabulary))
            lengths, vocabulary = lengths + 1, (*vocabulary, "B")
        if end:
            tokens = jnp.pad(tokens, ((0, 0), (0, 1)))
            after = jnp.arange(tokens.shape[1]) == lengths[:, None]
            tokens = jnp.where(after, len(vocabulary), tokens)
            lengths, vocabulary = lengths + 1, (*vocabulary, "E")
        return LabelledSequences(tokens, lengths, self.labels, vocabulary, self.classes)

    def sized(self, length: int) -> "LabelledSequences":
        """The same sequences in rows of `length` tokens; only padding may be cut."""
        missing = length - self.tokens.shape[1]
        if missing < 0:
            longest = int(self.lengths.max())
            if length < longest:
                raise ValueError(f"a sequence of {longest} tokens needs {longest} places: {length}")
            return self._with(self.tokens[:, :length], self.lengths, self.labels)
        return self._with(jnp.pad(self.tokens, ((0, 0), (0, missing))), self.lengths, self.labels)

    def of_lengths(self, shortest: int, longest: int) -> "LabelledSequences":
        """The sequences of `shortest` to `longest` tokens, in rows of `longest`.

        Cannot be compiled.
        """
        # On the host: every number of sequences would be a program of its own.
        tokens, lengths, labels = map(np.asarray, (self.tokens, self.lengths, self.labels))
        chosen = (shortest <= lengths) & (lengths <= longest)
        return self._with(
            jnp.asarray(_sized(tokens[chosen], longest)),
            jnp.asarray(lengths[chosen]),
            jnp.asarray(labels[chosen]),
        )

    def buckets(self, count: int) -> "tuple[LabelledSequences, ...]":
        """The sequences by length, in at most `count` sets of different widths.

        Which lengths share a set is chosen so that all sets together have the least padding. A
        batch comes from one set, which is drawn in proportion to its size. Cannot be compiled.
        """
        ends = least_padding(np.bincount(np.asarray(self.lengths)), count)
        return tuple(self.of_lengths(start + 1, end) for start, end in pairwise([-1, *ends]))

    def _with(
        self,
        tokens: Int[Array, "chosen places"],
        lengths: Int[Array, " chosen"],
        labels: Int[Array, " chosen"],
    ) -> "LabelledSequences":
        return LabelledSequences(tokens, lengths, labels, self.vocabulary, self.classes)


def joined(parts: Sequence[LabelledSequences]) -> LabelledSequences:
    """The sequences of several sets of one vocabulary as one set, as wide as the widest."""
    first, *_ = parts
    if any((part.vocabulary, part.classes) != (first.vocabulary, first.classes) for part in parts):
        raise ValueError("only sets of one vocabulary and as many classes can be joined")
    width = max(part.tokens.shape[1] for part in parts)
    tokens = np.concatenate([_sized(np.asarray(part.tokens), width) for part in parts])
    lengths = np.concatenate([part.lengths for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    return first._with(jnp.asarray(tokens), jnp.asarray(lengths), jnp.asarray(labels))


def _sized(tokens: np.ndarray, length: int) -> np.ndarray:
    """Rows filled up or cut to `length` tokens."""
    return np.pad(tokens, ((0, 0), (0, max(length - tokens.shape[1], 0))))[:, :length]


def least_padding(counts: Int[ArrayLike, " longest"], buckets: int) -> list[int]:
    """The longest length of each bucket, with the least padding: a dynamic programme."""
    counts = np.asarray(counts)
    if buckets < 1:
        raise ValueError(f"there must be at least one bucket, not {buckets}")
    present = np.flatnonzero(counts)
    # At i, the fewest tokens, padding included, of all sequences of the first i lengths.
    cost = np.where(np.arange(len(present) + 1) == 0, 0.0, np.inf)
    below, widths = np.append(0, counts[present].cumsum()), np.append(0, present)
    choices = []
    for _ in range(min(buckets, len(present))):
        # Entry [i, j]: one bucket more, of lengths i to j - 1.
        more = cost[:, None] + (below[None] - below[:, None]) * widths[None]
        more[np.tril_indices(len(more))] = np.inf
        choices.append(more.argmin(axis=0))
        cost = more.min(axis=0)
    ends, end = [], len(present)
    for choice in reversed(choices):
        ends.append(int(present[end - 1]))
        end = choice[end]
    return ends[::-1]
