"""The report: its pages, its figures and their data, and the folder that it goes to."""

import csv
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from recombine.lab import UserError, figures
from recombine.lab.outcome import Outcome, Settings
from recombine.lab.registry import load
from recombine.lab.report import _build, _folder, _plotly, _text, write_report
from recombine.lab.store import Store
from recombine.lab.stored_files import write_arrays

STUDY = '''
from dataclasses import dataclass

from said import Says

from recombine.lab import Beside, Claim, Figure, Preset, Reference, Source, Study, mean
from recombine.lab import figures, grid

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@dataclass(frozen=True)
class Config:
    K: int = 2
    """How many `routes` are trained."""
    rate: float = 0.1
    """The learning rate."""


def draw_loss(results):
    figure = figures.panels("Loss", x="epoch", y="loss")
    for i, K in enumerate(results.values("K")):
        figures.add_seeds(figure, *results.curve("loss", K=K), f"K = {K}", color=i)
    figures.add_curve(figure, [0, 1], [0, 1], HOSTILE)
    return figure


def draw_similarity(results):
    return figures.heatmaps(results.array("similarity", K=1), framed=[True] * 3)


def paper(value, uncertainty=None):
    kind = "SD" if uncertainty else ""
    return Reference("figure-5c", "", "", "", "error", value, uncertainty, kind, "1", "read off")


def crash(results):
    raise ZeroDivisionError("no trial <b>at all</b>")


PRESET = Preset(3, grid(K=(1, 2)), cost="1 s on two cores")
study = Study(
    name="family/NAME",
    title="A study of <b>tests</b>",
    source=Source("Author, Title, https://example.org/paper", "Figure 5"),
    question="Does `it` work?",
    config=Config,
    trial=lambda config, key, run: None,
    presets={"smoke": PRESET, "laptop": PRESET, "paper": PRESET},
    claims=[
        Claim("good", "The error is small.", "Section 4",
              Says(evidence={"by_K": {str(K): {"mean": 0.5 + K} for K in (1, 2)}})),
        Claim("bad", "The error is negative.", "Section 5", Says("fails", {"bound": 0})),
        Claim("ugly", HOSTILE, "Section 6", Says(), seeds=99),
        Claim("crash", "The claim crashes.", "Section 7", mean(crash) > 0),
    ],
    figures=[
        Figure("loss", "Learning", "All seeds of `K`.", draw_loss),
        Figure("similarity", "Similarity", "Large matrices.", draw_similarity),
        Figure("missing", "Waiting", "Not yet.", lambda r: r.metric("nothing")),
        Figure("crash", "Crashing", "Never.", crash),
    ],
    beside=[
        Beside("not measured", paper(1.5e-7), lambda r: r.metric("nothing")),
        Beside("error, K = 1", paper(2.5, 0.25), lambda r: r.metric("error", K=1)),
    ],
    notes="""# What differs

We train for *longer*: `1000` epochs.

<script>alert(3)</script> ![picture](http://example.org/picture.png)
""",
)
'''  # fmt: skip

PROVENANCE = {"versions": {"recombine": "0.1.0", "jax": "0.10"}, "commit": "abc123", "cores": 2}


def outcome(store, trial, **changes):
    epochs, speed = np.arange(20), trial.config["rate"] / 0.1
    results = {
        "status": "done",
        "reason": "",
        "metrics": {"error": trial.config["K"] + 0.5 * trial.seed},
        "curves": {"loss": (epochs, np.exp(-epochs / 3 * speed) + np.pi * trial.seed)},
        "arrays": write_arrays(store.folder, trial.id, {"similarity": np.eye(3)}),
        "steps": 20,
        "seconds": 2.0,
        "compile_seconds": 0.5,
        "provenance": PROVENANCE,
    }
    return Outcome(**(results | changes))


def fill(store, reference, preset="laptop", failing=(), **overrides):
    """Record a run of every trial as though it had been carried out."""
    study = load(str(reference))
    settings = Settings(preset, overrides)
    run = store.begin_run(study.name, str(reference), settings, [0, 1, 2], workers=2)
    for trial in study.trials(preset, overrides=overrides):
        failed = {"status": "diverged", "reason": "the loss is <nan>", "metrics": {}, "curves": {}}
        changes = failed if (trial.config["K"], trial.seed) in failing else {}
        store.write(trial, outcome(store, trial, **changes))
    store.end_run(run, 12.0)
    return study


def study_file(folder, name):
    path = folder / f"report_{name}.py"
    path.write_text(STUDY.replace("NAME", name))
    return path


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "store") as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A report of one study that went well, one with failures, and one that is gone."""
    folder = tmp_path_factory.mktemp("site")
    with Store.create(folder / "store") as store:
        fill(store, study_file(folder, "first"))
        fill(store, study_file(folder, "second"), failing={(2, 0), (2, 1), (2, 2)}, rate=0.5)
        gone = study_file(folder, "gone")
        fill(store, gone)
        gone.unlink()
        load.cache_clear()
        index = write_report(store, folder / "out")
    assert index == folder / "out" / "index.html"
    return index.parent


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.text, self.scripts = [], "", []
        self._inside = ""
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = ""
        if tag in ("td", "th", "dt", "dd", "li", "p"):
            self.text += " "

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    def documents(self):
        """The JSON that the page carries."""
        kinds = [a.get("type") for tag, a in self.tags if tag == "script"]
        pairs = zip(kinds, self.scripts, strict=True)
        return [json.loads(text) for kind, text in pairs if kind == "application/json"]


def page(site, name):
    return Page(site / f"studies/family/{name}.html")


# Pages


def test_the_overview_counts_studies_and_verdicts(site):
    text = Page(site / "index.html").text
    # The second study has failed trials, so none of its claims is decided.
    assert "2 studies, 8 claims: 1 holds, 1 fails, 6 undecided." in text
    assert "Does it work?" in text
    assert "✓ 1 holds" in text
    assert "preset laptop, rate=0.5" in text
    assert "3 trials, 3 unfinished" in text


def test_the_overview_lists_studies_that_have_not_been_run_with_their_commands(site):
    text = Page(site / "index.html").text
    assert "neural-race/xor not run" in text
    assert "recombine run neural-race/xor" in text
    assert "0 of 9 studies run" in text


def test_the_overview_links_to_every_page(site):
    hrefs = [a.get("href") for tag, a in Page(site / "index.html").tags if tag == "a"]
    for name in ("first", "second"):
        assert f"studies/family/{name}.html" in hrefs


def test_the_overview_names_studies_whose_code_is_gone(site):
    text = Page(site / "index.html").text
    assert "In the store, but not shown" in text
    assert "report_gone.py" in text


def test_a_page_shows_claims_with_verdict_place_and_evidence(site):
    text = page(site, "first").text
    assert "✓ holds The error is small. Section 4" in text
    assert "by K mean 1 1.5 2 2.5" in text
    assert "✕ fails The error is negative. Section 5" in text
    assert "a condition has 3 of the 99 seeds that are needed" in text
    assert "could not be judged: ZeroDivisionError: no trial <b>at all</b>" in text


def test_a_page_puts_our_numbers_beside_the_papers(site):
    text = page(site, "first").text
    # K = 1 with seeds 0, 1, 2: errors 1, 1.5, 2; t(2) = 4.3027, so 1.5 -+ 4.3027 * .5 / sqrt(3).
    assert "error, K = 1 2.5 ± 0.25 (SD) 1.5 ± 1.2 −1.0 yes 3 figure 5c1 " in text
    assert "not measured 1.5e-07 – – – 0 figure 5c1 " in text
    assert text.index("error, K = 1 2.5") < text.index("not measured 1.5e-07")
    assert text.count("read off") == 1  # a remark on several numbers is made once, below them


def test_a_page_shows_configuration_cost_and_provenance(site):
    text = page(site, "first").text
    assert "K 1; 2 2 How many routes are trained." in text
    assert "finished trials 6" in text
    assert "9 s of running and 3 s of compiling, summed over trials" in text
    assert "2 workers, 12 s" in text
    assert "expected 1 s on two cores" in text
    assert "jax 0.10, recombine 0.1.0" in text
    assert "abc123" in text


def test_a_page_shows_failed_trials_and_changed_settings(site):
    text = page(site, "second").text
    assert "3 trials were not finished." in text
    assert "K = 2 0 diverged the loss is <nan>" in text
    assert "1 of 2 conditions has no finished trial yet." in text
    assert "Run with changed settings: rate = 0.5." in text
    assert "rate 0.5 (set by the user) 0.1" in text


def test_statements_of_a_claim_are_rows_of_one_table():
    told = {
        "seeds": 3,
        "a > 0": {"mean": 1.5, "95 % interval": {"at least": 0.5}, "n": 3, "verdict": "holds"},
        "b in [0, 1]": {
            "value": 0.9, "95 % interval": [0.5, 1.25], "n": 3, "verdict": "undecided",
            "seeds needed": 9,
        },
        "c < 1, every seed": {"largest": 0.25, "n": 3, "verdict": "holds"},
    }  # fmt: skip
    found = _text.evidence(_text.statements(told))
    assert found.header == ["found", "interval", "n", "", "seeds needed"]
    assert found.rows == [
        ("a > 0", ["1.5", "at least 0.5", "3", "holds", ""]),
        ("b in [0, 1]", ["0.9", "0.5 to 1.25", "3", "undecided", "9"]),
        ("c < 1, every seed", ["0.25", "", "3", "holds", ""]),
    ]
    with_more = _text.evidence(_text.statements(told | {"IID": 0.5}))
    assert [name for name, _ in with_more.pairs] == ["IID", "statements"]


def test_notes_are_rendered_below_the_pages_own_headings(site):
    source = page(site, "first").source
    assert "<h3>What differs</h3>" in source
    assert "<em>longer</em>" in source
    assert "<code>1000</code>" in source


def test_pages_have_one_heading_of_the_first_rank_a_title_and_a_language(site):
    for path in site.rglob("*.html"):
        tags = Page(path).tags
        assert [tag for tag, _ in tags].count("h1") == 1
        assert ("html", {"lang": "en"}) in tags
        assert "title" in {tag for tag, _ in tags}


def test_links_within_the_site_lead_somewhere(site):
    for path in site.rglob("*.html"):
        found = Page(path)
        ids = {a["id"] for _, a in found.tags if "id" in a}
        for tag, attributes in found.tags:
            address = attributes.get("href") or attributes.get("src") or ""
            if address.startswith("#"):
                assert address[1:] in ids
            elif address and not address.startswith(("https://", "http://", "data:,")):
                assert (path.parent / address.partition("?")[0]).exists(), (tag, address)


# Safety


def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*.html"):
        for tag, attributes in Page(path).tags:
            if tag != "a":
                addresses = [attributes.get(k) or "" for k in ("src", "href", "data", "action")]
                assert not any(re.match(r"(https?:)?//", a) for a in addresses), (tag, addresses)
    for name in _build.ASSETS:
        content = (site / "assets" / name).read_text()
        assert "http" not in content
        assert "@import" not in content
        assert "url(" not in content


def test_figures_have_no_button_that_sends_them_away(site):
    script = (site / "assets/study.js").read_text()
    assert 'modeBarButtons: [["zoom2d", "pan2d", "resetScale2d"]]' in script


def test_hostile_text_stays_text(site):
    for path in site.rglob("*.html"):
        found = Page(path)
        assert "img" not in {tag for tag, _ in found.tags}
        assert not any("alert(" in s for s in found.scripts if not s.startswith("{"))
        assert not any(key.startswith("on") for _, a in found.tags for key in a)
    text = page(site, "first").text
    assert "</script><script>alert(1)</script><img src=x onerror=alert(2)>" in text
    assert "A study of <b>tests</b>" in text
    assert "<script>alert(3)</script>" in text


def test_hostile_names_of_series_survive_inside_the_figures_json(site):
    found = page(site, "first")
    names = [t.get("name") for d in found.documents() if "data" in d for t in d["data"]]
    assert "</script><script>alert(1)</script><img src=x onerror=alert(2)>" in names
    assert found.source.count("</script>") == found.source.count("<script")


def test_hostile_study_names_make_harmless_paths(store, tmp_path):
    path = study_file(tmp_path, "harmless")
    path.write_text(path.read_text().replace("family/harmless", "..x../..<y>"))
    fill(store, path)
    write_report(store, tmp_path / "out")
    pages = sorted(p.name for p in (tmp_path / "out/studies").rglob("*.html"))
    assert pages == ["y.html", "y.source.html"]


def test_names_that_would_share_a_path_get_one_each(store, tmp_path):
    fill(store, study_file(tmp_path, "a b"))
    fill(store, study_file(tmp_path, "a-b"))
    write_report(store, tmp_path / "out")
    pages = sorted(p.name for p in (tmp_path / "out/studies/family").iterdir())
    assert pages == ["a-b-2.html", "a-b-2.source.html", "a-b.html", "a-b.source.html"]


# Figures and data


def test_figures_are_in_the_page_as_json(site):
    loss, similarity, dark = page(site, "first").documents()
    assert [t["type"] for t in loss["data"]] == ["scatter"] * 5
    assert [t["type"] for t in similarity["data"]] == ["heatmap"] * 3
    assert dark[figures.PALETTE[0]] != figures.PALETTE[0]


def test_figures_that_cannot_be_drawn_leave_a_note(site):
    text = page(site, "first").text
    assert "Waiting # Not drawn yet: 0 of 6 trials report 'nothing'. Not yet." in text
    assert "Could not be drawn: ZeroDivisionError: no trial <b>at all</b>." in text


def test_a_figures_data_can_be_had_in_full(site):
    with open(site / "data/family/first/laptop/loss.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["panel", "series", "kind", "line", "x", "y"]
    second = [r for r in rows if (r["series"], r["kind"], r["line"]) == ("K = 2", "seeds", "2")]
    epochs = np.arange(20)
    np.testing.assert_array_equal([float(r["x"]) for r in second], epochs)
    np.testing.assert_array_equal([float(r["y"]) for r in second], np.exp(-epochs / 3) + np.pi)
    links = [a for tag, a in page(site, "first").tags if tag == "a" and "download" in a]
    assert "../../data/family/first/laptop/loss.csv" in [a["href"] for a in links]


def test_heat_maps_are_tables_of_cells(site):
    with open(site / "data/family/first/laptop/similarity.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 27
    assert sum(float(r["value"]) for r in rows) == 9
    assert rows[-1]["row"] == rows[-1]["column"] == "2"


def test_tiles_are_tables_of_their_own_cells():
    arrays = np.arange(90.0).reshape(9, 5, 2)
    rows = list(csv.DictReader(_plotly.to_csv(figures.heatmaps(arrays)).splitlines()))
    values = [float(r["value"]) for r in rows if r["panel"] == "4"]
    np.testing.assert_array_equal(values, arrays[3].ravel())


def test_intervals_are_in_the_table():
    figure = figures.panels("", x="", y="")
    figures.add_points(figure, [1, 2], [[1.0, 3.0], [2.0, 2.0]], "a")
    rows = list(csv.DictReader(_plotly.to_csv(figure).splitlines()))
    (first, second) = [r for r in rows if r["kind"] == "mean"]
    assert float(first["low"]) + float(first["high"]) == pytest.approx(4)
    assert second["low"] == second["high"] == "2.0"


def test_a_drawing_without_numbers_has_no_table():
    assert _plotly.to_csv(figures.graph({"x": (0, ""), "y": (1, "")}, [("x", "y", "")])) == ""


def test_all_verdicts_and_numbers_are_in_one_document(site):
    document = json.loads((site / "data.json").read_text())
    assert [c["verdict"] for c in document["claims"][:3]] == ["holds", "fails", "undecided"]
    first, second = document["studies"]
    assert first["study"] == "family/first"
    assert first["numbers"][0]["ours"]["mean"] == 1.5
    assert first["numbers"][0]["paper"]["value"] == 2.5
    assert first["numbers"][1]["ours"] is None
    assert (second["trials"], second["failed"], second["overrides"]) == (3, 3, {"rate": 0.5})


def test_numbers_in_figures_have_five_digits_and_few_bytes():
    steps, ys = np.arange(200.0), np.random.default_rng(0).lognormal(sigma=20, size=200)
    ys[7] = np.nan
    figure = figures.panels("", x="", y="")
    figures.add_curve(figure, steps, ys, "a")
    (trace,) = json.loads(_plotly.to_json(figure))["data"]
    assert (trace["x"]["dtype"], trace["y"]["dtype"]) == ("i2", "f4")
    np.testing.assert_array_equal(_plotly._decode(trace["x"]), steps)
    np.testing.assert_allclose(_plotly._decode(trace["y"]), ys, rtol=6e-5)
    assert float(f"{_plotly._decode(trace['y'])[0]:.8g}") == float(f"{ys[0]:.5g}")


def test_numbers_beyond_32_bits_keep_their_range():
    for values in ([1e300, 1.5], [1e-300, 1.5], [5e-324, 1.5]):
        rounded = _plotly._smallest(np.array(values))
        assert rounded.dtype == np.float64
        np.testing.assert_allclose(rounded, values, rtol=6e-5)


def test_a_figure_of_plotlys_own_gets_the_look_of_the_others():
    import plotly.graph_objects as go

    document = json.loads(_plotly.to_json(go.Figure(go.Bar(x=["a"], y=[1.5]))))
    assert document["layout"]["template"]["layout"]["colorway"] == list(figures.PALETTE)


# The folder


def test_a_folder_of_anything_else_is_refused_and_left_alone(store, tmp_path):
    fill(store, study_file(tmp_path, "refused"))
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="neither empty nor a report"):
        write_report(store, out)
    assert [p.name for p in out.iterdir()] == ["thesis.tex"]


def test_a_file_is_refused(store, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError, match="is a file"):
        write_report(store, tmp_path / "out")


def test_a_folder_that_cannot_be_made_is_a_users_mistake(store, tmp_path):
    fill(store, study_file(tmp_path, "unwritable"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_report(store, tmp_path / "file" / "out")


def test_the_folders_above_are_made(store, tmp_path):
    fill(store, study_file(tmp_path, "above"))
    index = write_report(store, tmp_path / "a/b/out")
    assert index.exists()
    assert [p.name for p in (tmp_path / "a/b").iterdir()] == ["out"]


def test_an_empty_store_is_refused(store, tmp_path):
    with pytest.raises(UserError, match="run a study first"):
        write_report(store, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_earlier_report_is_replaced_and_strangers_in_its_folder_stay(store, tmp_path):
    fill(store, study_file(tmp_path, "again"))
    out = tmp_path / "out"
    write_report(store, out)
    (out / "studies/family/old.html").write_text("stale")
    (out / ".git").mkdir()
    write_report(store, out)
    assert not (out / "studies/family/old.html").exists()
    assert (out / ".git").is_dir()
    assert (out / "index.html").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "report_again.py", "store"]


def test_a_report_that_fails_leaves_the_earlier_one(store, tmp_path, monkeypatch):
    fill(store, study_file(tmp_path, "failing"))
    out = tmp_path / "out"
    write_report(store, out)
    before = (out / "index.html").read_bytes()

    def fail(*arguments):
        raise RuntimeError

    monkeypatch.setattr(_build, "_document", fail)
    with pytest.raises(RuntimeError):
        write_report(store, out)
    assert (out / "index.html").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "report_failing.py", "store"]


WRITE_AND_DIE = """
import os, shutil, sys
from pathlib import Path
from recombine.lab.report import _folder

out, left, move = Path(sys.argv[1]), int(sys.argv[2]), shutil.move

def move_or_die(*words):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
    move(*words)

shutil.move = move_or_die
_folder.refuse_foreign(out)
with _folder.replacing(out) as new:
    for entry in _folder.ENTRIES:
        (new / entry).write_text("killed")
"""


def test_a_report_that_was_killed_is_mended_by_the_next_and_leaves_nothing(tmp_path):
    place, out = tmp_path, tmp_path / "out"
    (place / ".out-mine").mkdir()
    for moment in range(11):  # five entries come, and from the second time on five go before
        done = subprocess.run(
            [sys.executable, "-c", WRITE_AND_DIE, out, str(moment)], check=False, timeout=60
        )
        assert done.returncode == (-9 if moment < (10 if moment else 5) else 0)
        assert len(list(place.iterdir())) == (3 if done.returncode else 2)
        _folder.refuse_foreign(out)
        with _folder.replacing(out) as new:
            for entry in _folder.ENTRIES:
                (new / entry).write_text("next")
        assert sorted(p.name for p in place.iterdir()) == [".out-mine", "out"]
        assert all((out / entry).read_text() == "next" for entry in _folder.ENTRIES)


def test_the_staging_folder_of_a_report_that_is_being_made_is_left_alone(tmp_path):
    with _folder.replacing(tmp_path / "out") as first, _folder.replacing(tmp_path / "out") as other:
        (first / "index.html").write_text("first")
        (other / "index.html").write_text("second")
    assert (tmp_path / "out" / "index.html").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_studies_that_cannot_be_shown_are_told(store, tmp_path):
    store.begin_run("family/gone", "family/gone", Settings("laptop", {}), [0], 1)
    told = []
    write_report(store, tmp_path / "out", lambda *words: told.append(words))
    assert told == [("family/gone", "this version of recombine has no such study")]


def test_the_smoke_preset_is_announced(store, tmp_path):
    fill(store, study_file(tmp_path, "smoke"), preset="smoke")
    write_report(store, tmp_path / "out")
    text = Page(tmp_path / "out/studies/family/smoke.html").text
    assert "Preset smoke shows that the mechanics run" in text
    assert "? 4 undecided" in text


def test_a_study_of_which_nothing_is_finished_has_a_page(store, tmp_path):
    study = load(str(study_file(tmp_path, "nothing")))
    reference = str(tmp_path / "report_nothing.py")
    store.begin_run(study.name, reference, Settings("laptop", {}), [0], workers=1)
    write_report(store, tmp_path / "out")
    text = Page(tmp_path / "out/studies/family/nothing.html").text
    assert "2 of 2 conditions have no finished trial yet." in text
    assert "interrupted" in text
    assert "No trial has been recorded." in text


# Text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-0.5, "−0.5"),
        (0.0123456, "0.0123456"),
        (244.0, "244"),
        (12345.6, "12345.6"),
        (100.0, "100"),
        (1.25e-7, "1.25×10⁻⁷"),
        (-3e8, "−3×10⁸"),
        (float("inf"), "∞"),
        (float("nan"), "not a number"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, text):
    assert _text.number(value) == text


def test_evidence_is_laid_out_by_its_form():
    records = _text.evidence([{"a": 1, "b": True}, {"a": 2, "b": None}])
    assert records.header == ["a", "b"]
    assert records.rows == [("", ["1", "yes"]), ("", ["2", "–"])]
    ranges = _text.evidence({"150": {"mean": 77.0, "range": [71.0, 83.5]}})
    assert ranges.rows == [("150", ["77", "71, 83.5"])]
    matrix = _text.evidence([[1.0, 2.0], [3.0, 4.0]])
    assert matrix.rows == [("", ["1", "2"]), ("", ["3", "4"])]
    pairs = dict(_text.evidence({"all_seeds": [0.5, 2.0], "inner": {"x": {"y": [1, 2, 3]}}}).pairs)
    assert pairs["all seeds"].text == "0.5, 2"
    assert dict(dict(pairs["inner"].pairs)["x"].pairs)["y"].text == "1, 2, 3"


def test_web_addresses_become_links_and_nothing_else_does():
    html = _text.linked("<b> (https://example.org/a?b&c).")
    assert html == (
        '&lt;b&gt; (<a href="https://example.org/a?b&amp;c">https://example.org/a?b&amp;c</a>).'
    )


def test_the_parts_of_the_report_are_in_the_package():
    folder = Path(_build.__file__).parent
    assert {p.name for p in (folder / "assets").iterdir()} == set(_build.ASSETS)
