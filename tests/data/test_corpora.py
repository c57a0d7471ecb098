"""Texts are cut where the field cuts them, and become tokens and bytes again."""

from dataclasses import replace

import numpy as np
import pytest

from recombine import data
from recombine._folders import data_folder
from recombine.data._addresses import joined
from recombine.data._sets import File
from recombine.lab import UserError


@pytest.fixture
def placed(tmp_path, monkeypatch):
    """A function that puts a stand-in for a data set into the cache."""
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))

    def place(name, **texts):
        folder = data_folder(name)
        folder.mkdir()
        one = data.DATA_SETS[name]
        for file in one.files:
            (folder / file.name).write_bytes(texts[file.name.split(".")[-2 if "wiki." in file.name
                                                                        else 0]])  # fmt: skip
        files = tuple(File(f.name, 10**9, "") for f in one.files)
        monkeypatch.setitem(data.DATA_SETS, name, replace(one, files=files))

    return place


def test_tiny_shakespeare_is_cut_by_shares(placed):
    placed("tiny-shakespeare", input=b"a" * 90 + b"b" * 5 + b"c" * 5)
    found = data.corpus("tiny-shakespeare")
    assert (found.train, found.valid, found.test) == (b"a" * 90, b"b" * 5, b"c" * 5)
    assert data.text("tiny-shakespeare") == "a" * 90 + "b" * 5 + "c" * 5


def test_enwik8_is_cut_after_90_and_95_million_bytes(placed):
    placed("enwik8", enwik8=bytes(90_000_000) + b"\x01" * 5_000_000 + b"\x02" * 7)
    found = data.corpus("enwik8")
    assert len(found.train) == 90_000_000
    assert found.valid == b"\x01" * 5_000_000
    assert found.test == b"\x02" * 7


def test_wikitext_comes_in_parts(placed):
    placed("wikitext-103", train=b" = Title = \n a <unk>\n", valid=b" b \n", test=b" c \n")
    found = data.corpus("wikitext-103")
    assert found.train.startswith(b" = Title")
    assert (found.valid, found.test) == (b" b \n", b" c \n")


def test_a_missing_corpus_names_the_command_that_gets_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    with pytest.raises(UserError, match="get it with `recombine data get enwik8`"):
        data.corpus("enwik8")


def test_what_is_no_text_is_refused():
    with pytest.raises(UserError, match="mnist is no text"):
        data.corpus("mnist")
    with pytest.raises(UserError, match="no data set 'enwik9': did you mean 'enwik8'"):
        data.corpus("enwik9")


def test_bytes_are_numbered_in_their_order():
    known = data.ByteVocabulary.of(b"banana", b"cab")
    assert len(known) == 4
    np.testing.assert_array_equal(known.encode(b"abcn"), [0, 1, 2, 3])
    assert known.encode(b"").shape == (0,)


def test_a_byte_outside_the_vocabulary_gets_one_clear_line():
    known = data.ByteVocabulary.of(b"banana")
    with pytest.raises(UserError, match="byte 0x63 is not in the vocabulary of 3 bytes"):
        known.encode(b"banc")


def test_pieces_of_words_are_learned_line_by_line():
    pytest.importorskip("sentencepiece")
    text = data.generated_text(20_000, seed=1).replace(b" a", b"\na")
    known = data.PieceVocabulary.learned(text, 120)
    tokens = known.encode(text)
    assert len(known) == 120
    assert tokens.max() < 120
    assert len(tokens) < len(text) / 2
    lines = text.splitlines()
    np.testing.assert_array_equal(tokens, np.concatenate([known.encode(line) for line in lines]))
    with pytest.raises(UserError, match="pieces cannot be learned from this text"):
        data.PieceVocabulary.learned(b"abc", 5000)


def test_pieces_need_their_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    with pytest.raises(UserError, match=r"pip install 'recombine\[text\]'"):
        data.PieceVocabulary.learned(b"abc")


def test_addresses_are_joined_in_the_order_of_their_years(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, body in (("1800_b.txt", b"second"), ("1790_a.txt", b"first")):
        (folder / name).write_bytes(body)
    joined(folder)
    assert [p.name for p in folder.iterdir()] == ["addresses.txt"]
    assert (folder / "addresses.txt").read_bytes() == b"first\nsecond"


def test_a_generated_text_has_its_size_and_its_seed():
    one = data.generated_text(5000, seed=0)
    assert len(one) == 5000
    assert one == data.generated_text(5000, seed=0) != data.generated_text(5000, seed=1)
    assert set(one) <= set(b"etaoinshrdlu ")
