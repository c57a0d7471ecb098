"""Data sets of sentence pairs: how files are read, and what is refused in one line."""

import pytest

from recombine import data
from recombine.data._sentences import cfq_pair, read_columns, read_lines
from recombine.lab import UserError


def written(folder, name, text):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_columns_are_input_output_and_kind(tmp_path):
    file = written(
        tmp_path, "train.tsv", "A rose .\trose ( x _ 1 )\tin_distribution\nEmma\tEmma\tprimitive\n"
    )
    pairs, kinds = read_columns(file)
    assert pairs == [("A rose .", "rose ( x _ 1 )"), ("Emma", "Emma")]
    assert kinds == ["in_distribution", "primitive"]


def test_lines_of_two_files_are_pairs(tmp_path):
    one, other = (
        written(tmp_path, "a.src", "copy A\nrepeat B"),
        written(tmp_path, "a.tgt", "A\nB B\n"),
    )
    assert read_lines(one, other) == [("copy A", "A"), ("repeat B", "B B")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good\tpair\tkind\nno pair\n", "line 2 of .*train.tsv is no pair"),
        ("good\t \tkind\n", "line 1 of .*train.tsv is no pair"),
        ("", "train.tsv is empty: it must have at least one pair"),
        (b"\xff\xfe\t\x00", "train.tsv is no text"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_line(tmp_path, text, message):
    file = written(tmp_path, "train.tsv", text)
    with pytest.raises(UserError, match=message) as error:
        read_columns(file)
    assert "\n" not in str(error.value)


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    one, two = written(tmp_path, "a", "x\ny\n"), written(tmp_path, "b", "x\n")
    with pytest.raises(UserError, match=r"a has 2 lines and .*b 1: they must be pairs"):
        read_lines(one, two)
    with pytest.raises(UserError, match=r"line 2 of .* is no pair: one is empty"):
        read_lines(one, written(tmp_path, "c", "x\n \n"))


def test_a_query_is_preprocessed_as_in_the_published_files():
    question, query = cfq_pair(
        "Did M0's founder marry M1, and was M0 a film?",
        "SELECT count(*) WHERE {\nM0 ns:people.person.spouse_s/ns:people.marriage.spouse M1 .\n"
        "?x0 ns:people.person.gender ns:m.05zppz\n}",
    )
    assert question == "Did M0 ' s founder marry M1 , and was M0 a film ?"
    assert query == (
        "SELECT count ( * ) WHERE { M0 people.person.spouse_s/ns:people.marriage.spouse M1 . "
        "?x0 people.person.gender m_05zppz }"
    )


def test_data_sets_without_pairs_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    with pytest.raises(UserError, match="mnist has no sentence pairs"):
        data.sentence_pairs("mnist")
    with pytest.raises(UserError, match="no data set 'cog'"):
        data.sentence_pairs("cog")
    with pytest.raises(UserError, match="get it with `recombine data get cogs`"):
        data.sentence_pairs("cogs")
