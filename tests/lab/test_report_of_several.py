"""The report of one study at several presets and settings, and of published results."""

import csv
import json

import numpy as np
import pytest
from test_report import STUDY, Page, fill, study_file

from recombine.lab import UserError, figures, published
from recombine.lab.outcome import Settings
from recombine.lab.papers import papers, papers_of
from recombine.lab.registry import listed, load
from recombine.lab.report import _command, _measured, _plotly, _reading, write_report
from recombine.lab.results import Record, Results
from recombine.lab.store import Store


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A report of one study at three settings, and of another without figures."""
    folder = tmp_path_factory.mktemp("several")
    with Store.create(folder / "store") as store:
        reference = study_file(folder, "many")
        fill(store, reference, preset="smoke")
        fill(store, reference, rate=0.5)
        fill(store, reference)
        plain = folder / "report_plain.py"
        text = STUDY.replace("NAME", "plain")
        start, end = text.index("    figures=["), text.index("    beside=[")
        plain.write_text(text[:start] + text[end:])
        fill(store, plain)
        return write_report(store, folder / "out").parent


def test_presets_and_settings_share_a_page_and_those_of_the_laptop_come_first(site):
    found = Page(site / "studies/family/many.html")
    boxes = [a for tag, a in found.tags if tag == "input"]
    assert [a["value"] for a in boxes] == ["laptop", "laptop-rate-0-5", "smoke"]
    assert ["checked" in a for a in boxes] == [True, False, False]
    shown = {a["data-sheet"]: "hidden" in a for _, a in found.tags if "data-sheet" in a}
    assert shown == {"laptop": False, "laptop-rate-0-5": True, "smoke": True}


def test_every_figure_is_there_at_every_setting(site):
    found = Page(site / "studies/family/many.html")
    of = [a["data-of"] for tag, a in found.tags if "data-of" in a]
    assert of == ["laptop", "laptop-rate-0-5", "smoke"] * 2
    for key in ("laptop", "laptop-rate-0-5", "smoke"):
        assert (site / f"data/family/many/{key}/loss.csv").exists()


def test_the_overview_has_one_card_and_counts_claims_once(site):
    found = Page(site / "index.html")
    assert "2 studies, 8 claims: 2 hold, 2 fail, 4 undecided." in found.text
    verdicts = [a for tag, a in found.tags if tag == "li" and "data-verdicts" in a]
    presets = [a["data-preset"] for a in verdicts]
    assert presets == ["laptop", "laptop", "smoke", "laptop"]
    assert verdicts[2]["data-verdicts"].split() == ["undecided"]


def test_pages_ask_while_claims_are_undecided(site):
    found = Page(site / "studies/family/many.html")
    assert "Does it work?" in found.source.partition("<h1>")[2].partition("</h1>")[0].replace(
        "<code>", "").replace("</code>", "")  # fmt: skip


def test_a_page_has_the_command_that_made_it(site):
    text = Page(site / "studies/family/many.html").text
    assert "recombine run report_many.py --preset smoke" in text
    assert "recombine run report_many.py --set rate=0.5" in text


def results_of(seeds, **condition):
    records = tuple(
        Record(str(i), condition, condition, seed, {"error": float(i)}, 1, 0, None, None)
        for i, seed in enumerate(seeds)
    )
    return Results("neural-race/xor", "laptop", {}, records)


@pytest.mark.parametrize(
    ("seeds", "lines"),
    [
        (range(10), ["recombine run neural-race/xor"]),
        (range(4), ["recombine run neural-race/xor --seeds 4"]),
        (range(1000, 1010), ["recombine run neural-race/xor --seed-offset 1000"]),
        ((0, 1, 7), ["recombine run neural-race/xor --seeds 2",
                     "recombine run neural-race/xor --seeds 1 --seed-offset 7"]),
        ((), ["recombine run neural-race/xor"]),
    ],
)  # fmt: skip
def test_commands_name_the_seeds_that_differ_from_the_presets(seeds, lines):
    study = load("neural-race/xor")
    made = _command.command(study, study.name, Settings("laptop", {}), results_of(seeds))
    assert made.splitlines() == lines


def test_a_study_without_figures_gets_one_of_its_metrics(site):
    found = Page(site / "studies/family/plain.html")
    assert "The study draws no figure of its own." in found.text
    (figure,) = [d for d in found.documents() if "data" in d]
    means = [t for t in figure["data"] if t["meta"]["kind"] == "mean"]
    np.testing.assert_array_equal(_plotly._decode(means[0]["x"]), [1, 2])
    assert "Bars: 95 % interval of the mean" in found.text


def test_everything_measured_is_in_a_table_and_a_file(site):
    text = Page(site / "studies/family/many.html").text
    # Three settings stand side by side: errors 1, 1.5, 2 of K = 1.
    assert "K=1 error 1.5 ± 1.2 1.5 ± 1.2 1.5 ± 1.2" in text
    with open(site / "data/family/many/laptop/metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {"condition": "K=1", "seed": "0", "metric": "error", "value": "1.0"}
    assert len(rows) == 6


def test_metrics_without_a_numeric_setting_are_drawn_over_conditions():
    one, other = results_of(range(2), model="a"), results_of(range(2), model="b")
    both = Results("x/y", "laptop", {}, one.records + other.records)
    drawn = _measured.measured_figure(load("neural-race/xor")).draw(both)
    means = [t for t in drawn.data if t.meta["kind"] == "mean"]
    assert list(means[0].x) == ["model=a", "model=b"]


def test_figures_say_what_their_bars_and_bands_are():
    figure = figures.panels("", x="x", y="accuracy")
    assert _plotly.explained(figure) == ""
    figures.add_band(figure, [0, 1], [[0, 1], [1, 2]], "a")
    assert _plotly.explained(figure).startswith("Band: one standard deviation")
    figures.add_points(figure, [0, 1], [[0, 1], [1, 2]], "b")
    assert "Bars: 95 % interval" in _plotly.explained(figure)


def test_indices_of_symbols_are_subscripts_and_names_of_settings_stay():
    figure = figures.panels("X_1 against M_hat", x="w_2 / w_1", y="trained_error")
    figures.add_points(figure, ["drop X_3", "x_y_z"], [[1.0], [2.0]], "a")
    text = _plotly.to_json(figure).replace("\\u003c", "<").replace("\\u003e", ">")
    for there in ("X<sub>1</sub> against M<sub>hat</sub>", "w<sub>2</sub> / w<sub>1</sub>"):
        assert there in text
    assert "drop X<sub>3</sub>" in text
    assert "trained_error" in text
    assert "x_y_z" in text


# Published results


def test_published_results_make_a_report_without_a_store(tmp_path, monkeypatch):
    names = ["neural-race/xor", "memory/subspace"]
    monkeypatch.setattr("recombine.lab.report._build.published_names", lambda: names)
    index = write_report(None, tmp_path / "out", published=True)
    found = Page(tmp_path / "out/studies/neural-race/xor.html")
    assert "These results come with the package." in found.text
    assert index.exists()
    document = json.loads((tmp_path / "out/data.json").read_text())
    assert [s["study"] for s in document["studies"]] == names
    assert all(s["published"] for s in document["studies"])
    counts = published.published("neural-race/xor").verdicts
    assert len(document["claims"]) >= len(counts)


def test_the_docs_are_linked_where_there_are_some(tmp_path, monkeypatch):
    monkeypatch.setattr("recombine.lab.report._build.published_names", lambda: ["memory/subspace"])
    write_report(None, tmp_path / "out", published=True, docs="../studies")
    found = Page(tmp_path / "out/studies/memory/subspace.html")
    links = [a.get("href") for tag, a in found.tags if tag == "a"]
    assert "../../../studies/memory/subspace.html" in links


def test_nothing_at_all_is_a_users_mistake(tmp_path, monkeypatch):
    monkeypatch.setattr("recombine.lab.report._build.published_names", list)
    with pytest.raises(UserError, match="run a study first"):
        write_report(None, tmp_path / "out", published=True)


# Papers, sources, docs


def test_every_study_names_a_work_that_is_known():
    for name in listed():
        study = load(name)
        assert papers_of(study) or study.source.document.startswith("recombine"), name


def test_works_have_what_a_bibliography_needs():
    keys = [paper.key for paper in papers()]
    assert len(keys) == len(set(keys)) > 4
    for paper in papers():
        assert {"title", "author", "year"} <= set(paper.fields), paper.key
        assert paper.address.startswith("https://")
        assert "families" not in paper.bibtex
        assert paper.bibtex.startswith(f"@{paper.kind}{{{paper.key},\n")


def test_a_page_cites_its_work(tmp_path):
    (race,) = papers_of(load("neural-race/race"))
    assert race.address == "https://arxiv.org/abs/2207.10430"
    assert "author = {Saxe, Andrew M. and" in race.bibtex


def test_the_source_file_of_a_study_is_found():
    file = _reading.source_file("neural-race/zero-shot")
    assert file.name == "recombine/studies/neural_race/zero_shot.py"
    assert any(line.startswith("study = Study(") for line in file.lines)
    assert _reading.source_file("gone.py") is None


def test_pages_of_the_docs_keep_words_and_lose_what_only_the_docs_have():
    html = str(_reading.docs_page("neural-race/routing"))
    assert "W1<sub>i</sub>" in html
    for gone in ("<!--", "](", "][", "<img", "routing-loss.png"):
        assert gone not in html
    assert _reading.docs_page("neural-race/none") is None
