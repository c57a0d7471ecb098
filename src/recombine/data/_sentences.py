"""Data sets of sentence pairs: COGS, CFQ and PCFG SET."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .._errors import UserError, nearest
from ._cache import data_set, require


class SentencePairs(NamedTuple):
    """Inputs and outputs as texts, by the parts of a data set."""

    pairs: dict[str, list[tuple[str, str]]]
    kinds: dict[str, list[str]]
    """The kind of every pair, of parts that have several."""


def sentence_pairs(name: str) -> SentencePairs:
    """The pairs of `cogs`, `cfq-mcd1` or `pcfg-set`, from the cache.

    Parts of COGS are `train`, `dev`, `test` and `gen`, those of CFQ `train`, `dev` and `test`. PCFG
    SET has its published tests, `dev` and `test`, `productivity` and `systematicity`.

    **Raises:** `recombine.lab.UserError` if it is not cached, naming the command that gets it.
    """
    if name not in _READERS:
        data_set(name)  # refuses unknown names
        raise UserError(f"{name} has no sentence pairs: {nearest(name, _READERS)}")
    return _READERS[name](require(name))


def read_columns(file: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs and their kinds, of lines with an input, an output and a kind between tabs."""
    pairs, kinds = [], []
    for number, line in _lines(file):
        columns = line.split("\t")
        if len(columns) != 3 or not all(column.strip() for column in columns):
            raise UserError(
                f"line {number} of {file} is no pair: it must be input, tab, output, tab, kind"
            )
        source, target, kind = columns
        pairs.append((source, target))
        kinds.append(kind)
    return pairs, kinds


def read_lines(sources: Path, targets: Path) -> list[tuple[str, str]]:
    """Pairs of two files, whose lines belong together."""
    first, second = ([line for _, line in _lines(file)] for file in (sources, targets))
    if len(first) != len(second):
        raise UserError(
            f"{sources} has {len(first)} lines and {targets} {len(second)}: they must be pairs"
        )
    pairs = list(zip(first, second, strict=True))
    for number, pair in enumerate(pairs, 1):
        if not all(text.strip() for text in pair):
            raise UserError(f"line {number} of {sources} and {targets} is no pair: one is empty")
    return pairs


def cfq_pair(question: str, query: str) -> tuple[str, str]:
    """A question and a query of the original CFQ, preprocessed as those of `cfq-mcd1`.

    Punctuation of a question stands alone. In a query, `count(*)` is four tokens, tokens lose the
    prefix `ns:`, and `m.` at their beginning becomes `m_`.

    ```python
    cfq_pair("Did M1 marry M2?", "SELECT count(*) WHERE {\\nM1 ns:people.person.spouse M2\\n}")
    ```
    """
    words = re.findall(r"\w+|[^\w\s]", question)
    tokens = query.replace("count(*)", "count ( * )").split()
    tokens = [re.sub(r"^m\.", "m_", token.removeprefix("ns:")) for token in tokens]
    return " ".join(words), " ".join(tokens)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file and their numbers; there is at least one."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is no text ({error.reason} at byte {error.start})") from None
    if not lines:
        raise UserError(f"{file} is empty: it must have at least one pair")
    yield from enumerate(lines, 1)


def _cogs(folder: Path) -> SentencePairs:
    found = {part: read_columns(folder / f"{part}.tsv") for part in ("train", "dev", "test", "gen")}
    return SentencePairs(
        {part: pairs for part, (pairs, _) in found.items()},
        {part: kinds for part, (_, kinds) in found.items()},
    )


def _cfq(folder: Path) -> SentencePairs:
    files = {
        part: (folder / f"{part}_encode.txt", folder / f"{part}_decode.txt")
        for part in ("train", "dev", "test")
    }
    return SentencePairs({part: read_lines(*of_part) for part, of_part in files.items()}, {})


def _pcfg(folder: Path) -> SentencePairs:
    names = {
        "dev": "pcfgset-dev", "test": "pcfgset-test", "productivity": "productivity-test",
        "systematicity": "systematicity-test",
    }  # fmt: skip
    return SentencePairs(
        {
            part: read_lines(folder / f"{name}.src", folder / f"{name}.tgt")
            for part, name in names.items()
        },
        {},
    )


_READERS: dict[str, Callable[[Path], SentencePairs]] = {
    "cogs": _cogs,
    "cfq-mcd1": _cfq,
    "pcfg-set": _pcfg,
}
