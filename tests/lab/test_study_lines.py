"""`recombine studies`: every study in a line."""

import json
from pathlib import Path

import pytest
from command_line import recombine

from recombine.lab import Store, published
from recombine.lab.claims import Verdict
from recombine.lab.overview import overview, short_cost, speaks_of
from recombine.lab.registry import families, listed, load
from recombine.lab.study_lines import study_lines

STUDY = str(Path(__file__).parent / "walk_study.py")


@pytest.fixture(scope="module")
def rows():
    return overview([load(name) for name in listed()], None)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_every_study_is_one_line_that_fits_and_has_its_name_in_full(rows, width):
    lines = [line.plain for line in study_lines(rows, width, "utf-8")]
    assert max(map(len, lines)) <= width
    for row in rows:
        (line,) = (line for line in lines if line.startswith(f"{row.study.name} "))
        assert row.study.question[:8] in line
        assert row.cost in line
    heads = [line.partition("  ")[0] for line in lines if "/" not in line.partition(" ")[0]]
    assert [head for head in heads if head in families()] == families()


def test_a_wide_terminal_is_used(rows):
    (line,) = (
        line.plain
        for line in study_lines(rows, 200, "utf-8")
        if line.plain.startswith("neural-race/zero-shot ")
    )
    assert load("neural-race/zero-shot").question in line
    assert len(line) > 190


def test_verdicts_of_the_store_come_before_published_ones(tmp_path):
    study = load("neural-race/zero-shot")
    one, other = (claim.name for claim in study.claims)
    with Store.create(tmp_path) as store:
        for word, preset, overrides in (
            ("fails", "smoke", {}),
            ("fails", "laptop", {}),
            ("undecided", "laptop", {"K": 3}),
        ):
            store.write_verdicts([Verdict(study.name, one, "", word, {}, preset, overrides)])
        (row,) = overview([study], store)
        assert (row.judged, row.counts) == ("store", {"holds": 0, "fails": 1, "undecided": 0})
        (others,) = overview([load("neural-race/xor")], store)
        assert others.judged == "published"
    assert published.published_verdicts(study.name).keys() == {one, other}


def test_a_terminal_without_signs_gets_letters(rows):
    lines = [line.plain for line in study_lines(rows[:3], 80, "ascii")]
    assert any(line.endswith("4h") for line in lines)
    "".join(line for line in lines if "/" in line).encode("ascii")


@pytest.mark.parametrize(
    ("cost", "short"),
    [
        ("25 s on two cores", "25 s"),
        ("about 10 min on two cores, not yet measured as a whole", "~10 min"),
        ("a minute on two cores; not timed yet", "1 min"),
        ("none beyond that of scales, whose trials it shares", "shared"),
        ("a few minutes on two cores; not timed yet", "minutes"),
        ("hours on an accelerator; about a day per transformer on two cores", "hours"),
        ("not measured yet", ""),
    ],
)
def test_costs_are_short(cost, short):
    assert short_cost(cost) == short


def test_words_are_sought_in_name_question_and_paper():
    study = load("data-router/table-lookup")
    assert all(speaks_of(study, w) for w in ("ROUTER", "functions", "Csordás", "Table 5.1"))
    assert not speaks_of(study, "hypernetwork")
    names = [
        s["name"]
        for s in json.loads(recombine("studies", "race", "xor", "--json").stdout)["studies"]
    ]
    assert names == ["neural-race/xor"]


def test_other_programs_get_rows_with_tabs(tmp_path):
    done = recombine("studies", "neural-race", "--store", tmp_path / "none")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == [
        name for name in listed() if name.startswith("neural-race/")
    ]
    assert {len(row) for row in rows} == {11}
    assert rows[0][1] == load("neural-race/xor").question


def test_a_part_of_a_name_that_means_one_study_is_enough():
    assert (
        recombine("show", "zero-shot").stdout == recombine("show", "neural-race/zero-shot").stdout
    )
    assert "neural-race/race" in recombine("show", "race").stdout.splitlines()[0]
    assert "transformer-details/sizes" in recombine("show", "SIZES").stdout.splitlines()[0]


def test_a_part_of_several_names_lists_them():
    done = recombine("show", "images")
    assert done.returncode == 2
    assert done.stderr == (
        "recombine: 'images' may be modularity-scaling/images, gradient-resistance/images or"
        " compare/images: say which\n"
    )
