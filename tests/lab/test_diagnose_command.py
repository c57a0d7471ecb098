"""`recombine diagnose`: a page, JSON, an HTML file, and one clear line for a mistake."""

import json

import polars
import pytest
from command_line import recombine

TRAIN = """\
colour,shape,size,label
red,disc,small,disc
red,ring,large,ring
blue,disc,large,disc
blue,star,small,star
green,ring,small,ring
green,star,large,star
gold,disc,small,disc
"""
TEST = "colour,shape,size,label\ngold,ring,small,ring\nred,star,small,star\n"


@pytest.fixture
def tables(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text(TRAIN)
    test.write_text(TEST)
    return train, test


def mistake(done):
    assert done.returncode == 2, (done.stdout, done.stderr)
    (line,) = done.stderr.splitlines()
    return line


def test_a_page_of_80_columns(tables):
    done = recombine("diagnose", *tables, "--target", "label")
    assert done.returncode == 0
    assert done.stdout.startswith("Training can support everything that the test asks for.")
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_one_json_document_and_files_of_the_page_and_the_items(tables, tmp_path):
    page, items = tmp_path / "page.html", tmp_path / "items.csv"
    done = recombine(
        "diagnose", *tables, "--target", "label", "--json", "--html", page, "--items", items
    )
    found = json.loads(done.stdout)
    assert found["columns"]["factors"] == ["colour", "shape", "size"]
    assert "<h1>" in page.read_text()
    assert polars.read_csv(items)["support"].to_list() == ["supported", "supported"]


def test_costs_and_impossible_combinations(tables, tmp_path):
    words = ["diagnose", tables[0], "--json", "--budget", "6", "--factors", "colour,shape"]
    options = ["--cost", "colour=gold:3", "--impossible", "colour=gold,shape=ring"]
    plan = json.loads(recombine(*words, *options).stdout)["table"]["additions"]
    assert 0 < plan["cost"] <= 6
    added = [(one["values"]["colour"], one["values"]["shape"]) for one in plan["combinations"]]
    assert ("gold", "ring") not in added
    rules = tmp_path / "costs.csv"
    rules.write_text("colour,shape,cost\n,star,9\n")
    plan = json.loads(recombine(*words, "--cost", rules).stdout)["table"]["additions"]
    assert all(one["values"]["shape"] != "star" for one in plan["combinations"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--factors", "colur,size"], "did you mean 'colour'"),
        (["--cost", "colour=gold"], "say what it costs"),
        (["--cost", "colour=gold:dear"], "is no number"),
        (["--impossible", "colour=gold,ring"], "is no factor=value"),
        (["--items", "items.txt"], "neither .csv nor .parquet"),
        (["--html", "/no/such/folder/page.html"], "cannot be written"),
        (["--budget", "-3"], "from 0 on"),
    ],
)
def test_a_wrong_option_is_one_line(tables, options, words):
    assert words in mistake(recombine("diagnose", *tables, *options))


def test_what_is_no_table_is_one_line(tmp_path):
    (tmp_path / "empty.csv").touch()
    assert "is empty" in mistake(recombine("diagnose", tmp_path / "empty.csv"))
    assert "cannot be read" in mistake(recombine("diagnose", tmp_path / "missing.csv"))
