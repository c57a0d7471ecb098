"""`diagnose` gives right answers on splits whose truth is known, and names what is odd."""

import json
from collections import Counter
from itertools import product

import jax
import numpy as np
import polars
import pytest
from designs import diagonal, l_shape, stair

import recombine
from recombine import splits, tasks

COLOURS = ("red", "blue", "green", "gold")
SHAPES = ("disc", "ring", "star")
SIZES = ("small", "large")
EVERY = list(product(COLOURS, SHAPES, SIZES))
NAMES = ("colour", "shape", "size")


def records(items):
    return [dict(zip(NAMES, item, strict=True)) for item in items]


def diagnose(train, test=None, **options):
    return splits.diagnose(train, test, **options)


def table_of(train, test=None, **options):
    found = diagnose(train, test, **options).table
    assert found is not None
    return found


# Splits whose truth is known


def scan_text(counts):
    lines = [
        command
        for command, count in zip(tasks.scan_commands().items(), counts.tolist(), strict=True)
        for _ in range(count)
    ]
    return {"IN": [command for command, _ in lines], "OUT": [actions for _, actions in lines]}


@pytest.fixture(scope="module")
def add_jump():
    split = tasks.add_primitive_split("jump")
    return diagnose(scan_text(split.train), scan_text(split.test), target="OUT")


def test_scan_add_jump_asks_for_a_known_word_in_company_that_training_lacks(add_jump):
    (text,) = add_jump.texts
    assert text.new_tokens == ()
    assert text.new_pair_share == 1
    assert [(t.token, t.trained, t.asked) for t in text.thin] == [("jump", 1, 7706)]
    assert all("jump" in pair[:2] for pair in text.missing)
    assert text.longer_share == add_jump.target_text.longer_share == 0
    assert text.divergence.atoms < 0.1 < 0.3 < text.divergence.compounds
    assert text.mean_difficulty > 0.5
    assert "'jump' is in 1 trained item only" in add_jump.verdict


def test_scan_length_asks_for_longer_targets_and_for_no_new_pair(add_jump):
    split = tasks.length_split()
    report = diagnose(scan_text(split.train), scan_text(split.test), target="OUT")
    (text,) = report.texts
    assert text.new_pair_share == 0
    assert text.divergence.compounds < 0.1
    assert report.target_text.longer_share == 1
    assert (report.target_text.longest_trained, report.target_text.longest_tested) == (22, 48)
    assert 0.1 < text.mean_difficulty < add_jump.texts[0].mean_difficulty
    assert "100% of the tested targets are longer than any trained one" in report.verdict


def test_a_random_split_of_scan_hardly_asks_for_recombination():
    split = tasks.simple_split(key=jax.random.key(0))
    report = diagnose(scan_text(split.train), scan_text(split.test), target="OUT")
    (text,) = report.texts
    assert text.new_pair_share == 0
    assert text.divergence.compounds < 0.01
    assert text.mean_difficulty < 0.01
    assert "about as often as tested" in report.verdict


@pytest.mark.parametrize("variant", ["alternating", "repeating"])
def test_ctlpp_asks_for_pairs_of_functions_that_training_never_has(variant):
    task = getattr(tasks.TableLookupPatterns, variant)(4, 8, longest=4)
    parts = task.sets(train=None, iid=200, ood=200)
    texts = {name: [part.text(n) for n in range(len(part))] for name, part in parts.items()}
    (held_out,) = diagnose(texts["train"], texts["ood"]).texts
    assert held_out.new_tokens == ()
    assert held_out.new_pair_share == 1
    functions = sorted({word for text in texts["ood"] for word in text.split() if word.isalpha()})
    assert len(functions) == 8
    for first, second, _ in held_out.missing:
        one_group = (functions.index(first) < 4) == (functions.index(second) < 4)
        assert one_group == (variant == "alternating")
    assert len(held_out.missing) == 2 * 4 * 4
    assert held_out.divergence.atoms < 0.1 < 0.5 < held_out.divergence.compounds
    (same,) = diagnose(texts["train"], texts["iid"]).texts
    assert same.new_pair_share == 0
    assert same.divergence.compounds < 0.1
    assert same.mean_difficulty < 0.1 < held_out.mean_difficulty


def test_an_iid_sample_asks_for_no_recombination():
    rng = np.random.default_rng(0)
    rows = rng.integers(4, size=(3000, 3))
    report = diagnose(rows[:2500], rows[2500:])
    table = report.table
    assert table.kind_counts["trained"] == len(table.items)
    assert table.divergence[0].compounds < 0.02
    assert report.verdict.startswith("Every tested combination is trained")


def test_test_rows_in_training_are_counted():
    train, test = records(EVERY[:18]), records(EVERY[14:])
    report = diagnose(train, test)
    assert report.table.repeated_rows == report.identical_rows == 4
    labelled = [row | {"label": "x"} for row in train], [row | {"label": "y"} for row in test]
    report = diagnose(*labelled, target="label")
    assert (report.table.repeated_rows, report.identical_rows) == (4, 0)


def test_the_designs_of_gao_et_al_are_told_apart():
    tables = [table_of(design) for design in (diagonal(), l_shape(), stair())]
    assert [t.support.open_effects for t in tables] == [8, 0, 0]
    assert [len(t.split.trained) for t in tables] == [5, 13, 13]
    assert [t.supported_share for t in tables] == [0, 1, 1]
    assert tables[0].mean_difficulty > tables[1].mean_difficulty > tables[2].mean_difficulty
    assert [t.plan.needed for t in tables] == [8, 0, 0]


def test_the_factors_of_a_held_out_value_are_named():
    train = [item for item in EVERY if item[0] != "gold" or item[1:] == ("disc", "small")]
    test = [item for item in EVERY if item not in train]
    table = table_of(records(train), records(test))
    assert table.supported_share == 1
    (thin,) = table.thin
    assert (thin.factor, thin.value, thin.trained, thin.asked) == ("colour", "gold", 1, 5)
    none = table_of(records([i for i in EVERY if i[0] != "gold"]), records(test))
    assert none.unseen == (("colour", "gold"),)
    assert none.kind_counts["new value"] == 5
    assert none.mean_difficulty > table.mean_difficulty


def test_a_shortcut_is_what_training_tells_and_the_test_does_not():
    rng = np.random.default_rng(0)

    def rows(n, confounded):
        shape, free = rng.integers(3, size=n), rng.integers(3, size=n)
        colour = shape if confounded else rng.integers(3, size=n)
        return {"shape": shape, "colour": colour, "size": free, "label": shape}

    report = diagnose(rows(900, True), rows(300, False), target="label")
    of_label = {one.first: one for one in report.table.target_information}
    assert of_label["colour"].is_shortcut
    assert of_label["colour"].train == pytest.approx(np.log2(3), abs=0.02)
    assert of_label["colour"].test == pytest.approx(0, abs=0.02)
    assert not of_label["shape"].is_shortcut
    assert not of_label["size"].is_shortcut
    between = [one for one in report.table.information if one.is_shortcut]
    assert [{one.first, one.second} for one in between] == [{"shape", "colour"}]


def test_trees_have_pairs_of_slots_and_labels():
    train = ["(and (jump) (walk))", "(and (walk) (walk))", "(twice (walk))"]
    report = diagnose({"tree": train}, {"tree": ["(twice (jump))"]}, trees=["tree"])
    (text,) = report.texts
    assert text.missing == (("twice 1", "jump", 1),)
    assert text.kind_counts["supported"] == 1


# The report


def test_a_report_is_printed_in_80_columns_and_as_json_and_as_a_page():
    report = recombine.diagnose(records(EVERY[:15]), records(EVERY[15:]), budget=2)
    text = str(report)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(report.verdict[:40])
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert found["table"]["support"]["items"] == report.table.kind_counts
    assert sum(item["rows"] for item in found["table"]["difficulty"]["items"]) == 9
    page = report.html()
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "colour x shape" in page
    assert "<svg" in page
    assert report.verdict in page


def test_a_page_shows_values_as_text():
    train = [("<b>", "x"), ("<b>", "y"), ("&", "x")]
    page = diagnose(train, [("&", "y")]).html()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_items_have_their_support_and_difficulty():
    frame = diagnose(records(EVERY[:15]), records(EVERY[14:])).items()
    assert frame.columns == [*NAMES, "rows", "support", "difficulty"]
    assert frame["support"][0] == "trained"
    assert Counter(frame["support"])["trained"] == 1
    texts = diagnose(["a b", "b a"], ["a a", "a b"]).items()
    assert texts.columns == ["text", "rows", "support", "difficulty"]


def test_without_a_test_all_other_combinations_are_judged():
    report = diagnose(records([item for n, item in enumerate(EVERY) if n % 5 < 3]))
    assert report.table.asked_are == "all other combinations"
    assert len(report.table.items) == 9
    many = diagnose(np.random.default_rng(0).integers(30, size=(500, 5)))
    assert many.table.asked_are == "a sample of the other combinations"


# Tables as people have them


@pytest.fixture
def forms(tmp_path):
    rows = records(EVERY[:15])
    frame = polars.DataFrame(rows)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    (tmp_path / "t.json").write_text(json.dumps(rows))
    files = [tmp_path / f"t.{end}" for end in ("csv", "tsv", "parquet", "jsonl", "json")]
    columns = {name: [row[name] for row in rows] for name in NAMES}
    return [rows, frame, columns, *files, str(files[0]), splits.FactorTable.of(rows)]


def test_the_answer_does_not_depend_on_the_form_of_the_table(forms):
    expected = diagnose(forms[0], records(EVERY[15:])).to_dict()
    for form in forms[1:]:
        found = diagnose(form, records(EVERY[15:])).to_dict()
        assert found["table"] == expected["table"]


class PandasLike:
    """What a data frame of pandas offers: named columns with `to_list`."""

    def __init__(self, columns):
        self.columns, self._columns = list(columns), columns

    def __getitem__(self, name):
        return polars.Series(self._columns[name], strict=False)


def test_a_frame_of_pandas_is_read_with_its_missing_values():
    frame = PandasLike({"a": ["x", "y", None, "x"], "b": ["u", "v", "u", "v"]})
    report = diagnose(frame)
    assert report.table.split.factors == ("a", "b")
    assert any("'a' has no value in 1 of 4 rows" in w for w in report.warnings)


def test_columns_that_are_of_no_use_are_left_out_and_named():
    rng = np.random.default_rng(0)
    train = {
        "id": [f"n{n}" for n in range(60)],
        "colour": rng.choice(COLOURS, 60).tolist(),
        "shape": rng.choice(SHAPES, 60).tolist(),
        "light": ["day"] * 60,
        "weight": rng.normal(size=60).round(6).tolist(),
        "camera": rng.choice(["a", "b"], 60).tolist(),
    }
    train["shape"][3] = None
    test = {name: column[:9] for name, column in train.items() if name != "camera"}
    test["place"] = ["x"] * 9
    report = diagnose(train, test)
    assert report.columns.factors == ("colour", "shape")
    told = "\n".join(report.warnings)
    for words in (
        "'id' has 60 values in 60 rows",
        "'light' is constant (day)",
        "'weight' has 60 values in 60 rows",
        "'camera' is in training only",
        "'place' is in the test only",
        "'shape' has no value in 1 of 60 rows of training",
    ):
        assert words in told
    named = diagnose(train, test, factors=["id", "colour"])
    assert any("'id' has 60 values" in warning for warning in named.warnings)


def test_a_measurement_is_no_factor_and_a_target_in_tenths():
    rng = np.random.default_rng(0)
    train = {
        "a": rng.integers(3, size=200),
        "b": rng.integers(3, size=200),
        "x": np.repeat(rng.normal(size=100), 2),
    }
    report = diagnose(train)
    assert report.columns.factors == ("a", "b")
    assert any("'x' is a measurement" in warning for warning in report.warnings)
    target = diagnose(train | {"x": train["a"] + 0.01 * rng.normal(size=200)}, target="x")
    assert target.table.target_information[0].first == "a"
    assert target.table.target_information[0].train > 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "has no rows"),
        ("t.csv", b"\x89PNG\x00\x00", "does not hold text"),
        ("t.png", b"x", "is no table: its name ends in"),
        ("t.parquet", b"nothing", "cannot be read"),
        ("t.json", b"{", "is no JSON"),
        ("t.json", b"{}", "no list of records"),
        ("t.jsonl", b"not json", "cannot be read"),
        ("t.csv", b"a\n1\n2\n", "two factors or more"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=words) as error:
        diagnose(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"factors": ["colur", "size"]}, "did you mean 'colour'"),
        ({"target": "labl"}, "no column 'labl'"),
        ({"factors": ["colour", "colour"]}, "two uses"),
        ({"factors": ["colour"]}, "two factors or more"),
        ({"ngrams": 1}, "two tokens or more"),
        ({"budget": -1}, "from 0 on"),
        ({"impossible": [{"colour": "pink"}]}, "never 'pink'"),
    ],
)
def test_a_wrong_option_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        diagnose(records(EVERY[:9]), **options)


def test_tables_without_a_common_column_are_refused():
    with pytest.raises(ValueError, match="share no column"):
        diagnose({"a": [1, 2], "b": [1, 2]}, {"c": [1], "d": [2]})


def test_equal_values_of_different_types_are_the_same():
    table = table_of({"a": ["1", "2", "1"], "b": ["1", "1", "2"]}, {"a": [2], "b": [2]})
    assert table.unseen == ()
    assert table.kind_counts["supported"] == 1
