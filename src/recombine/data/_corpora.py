"""Texts to learn from, in three parts, and as tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Integer

from .._errors import UserError, nearest
from ._cache import data_set, require


@dataclass(frozen=True)
class Corpus:
    """A text in three parts."""

    name: str
    train: bytes
    valid: bytes
    test: bytes


def corpus(name: str) -> Corpus:
    """The parts of a text: `wikipedia-excerpt`, `state-of-the-union`, `tiny-shakespeare`, `enwik8`
    or `wikitext-103`.

    All but WikiText-103, which comes in parts, are cut where the field cuts them: Enwik8 after 90
    and 95 million bytes, the Wikipedia excerpt after 5.5 and 5.8 million, others after 90 and 95 %.

    **Raises:** `recombine.lab.UserError` if it is not cached, naming the command that gets it.
    """
    if name not in _READERS:
        data_set(name)  # refuses unknown names
        raise UserError(f"{name} is no text: {nearest(name, _READERS)}")
    return Corpus(name, *_READERS[name](require(name)))


Parts = tuple[bytes, bytes, bytes]


def _cut(file: str, first: int | float, second: int | float) -> Callable[[Path], Parts]:
    """A reader of a file that is cut twice: at numbers of bytes, or at shares of it."""

    def read(folder: Path) -> Parts:
        whole = (folder / file).read_bytes()
        a, b = (round(p * len(whole)) if p < 1 else int(p) for p in (first, second))
        return whole[:a], whole[a:b], whole[b:]

    return read


def _wikitext(folder: Path) -> Parts:
    train, valid, test = (
        (folder / f"wiki.{part}.tokens").read_bytes() for part in ("train", "valid", "test")
    )
    return train, valid, test


_READERS: dict[str, Callable[[Path], Parts]] = {
    "wikipedia-excerpt": _cut(data_set("wikipedia-excerpt").files[0].name, 5_500_000, 5_800_000),
    "state-of-the-union": _cut("addresses.txt", 0.9, 0.95),
    "tiny-shakespeare": _cut("input.txt", 0.9, 0.95),
    "enwik8": _cut("enwik8", 90_000_000, 95_000_000),
    "wikitext-103": _wikitext,
}


@dataclass(frozen=True)
class ByteVocabulary:
    """The bytes that occur in some text, numbered in their order."""

    values: tuple[int, ...]

    @classmethod
    def of(cls, *texts: bytes) -> "ByteVocabulary":
        """The bytes that occur in any of the texts."""
        return cls(tuple(sorted(set().union(*map(set, texts)))))

    def __len__(self) -> int:
        return len(self.values)

    def encode(self, text: bytes) -> Integer[np.ndarray, " tokens"]:
        """The numbers of the bytes of a text."""
        table = np.full(256, -1, np.int16)
        table[list(self.values)] = np.arange(len(self.values))
        tokens = table[np.frombuffer(text, np.uint8)]
        if len(tokens) and tokens.min() < 0:
            strange = text[int(tokens.argmin())]
            raise UserError(
                f"byte {strange:#04x} is not in the vocabulary of {len(self)} bytes: make the "
                "vocabulary of all texts that are read with it"
            )
        return tokens.astype(np.uint8)


@dataclass(frozen=True)
class PieceVocabulary:
    """Pieces of words that SentencePiece has learned: byte-pair encoding, digits split."""

    model: bytes
    """The trained model, as SentencePiece writes it."""

    @classmethod
    def learned(cls, text: bytes, size: int = 8000) -> "PieceVocabulary":
        """Pieces learned from the lines of a text."""
        import io

        pieces, written = _sentencepiece(), io.BytesIO()
        lines = text.decode("utf-8", errors="replace").splitlines()
        try:
            pieces.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=written, vocab_size=size,
                model_type="bpe", split_digits=True, minloglevel=2,
            )  # fmt: skip
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1]
            raise UserError(f"{size} pieces cannot be learned from this text: {reason}") from None
        return cls(written.getvalue())

    def __len__(self) -> int:
        return self._processor().get_piece_size()

    def encode(self, text: bytes) -> Integer[np.ndarray, " tokens"]:
        """The numbers of the pieces of a text, of which every line is encoded by itself."""
        lines = text.decode("utf-8", errors="replace").splitlines()
        found = self._processor().encode(lines)
        return np.array([piece for line in found for piece in line], np.int32)

    def _processor(self):
        return _sentencepiece().SentencePieceProcessor(model_proto=self.model)


def _sentencepiece():
    try:
        import sentencepiece
    except ModuleNotFoundError:
        raise UserError(
            "pieces of words need SentencePiece: pip install 'recombine[text]'"
        ) from None
    return sentencepiece
