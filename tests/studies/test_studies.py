"""What must be true of every registered study. A new study inherits all of it."""

from collections import Counter
from dataclasses import replace

import pytest

from recombine.lab import Store, UserError
from recombine.lab.claims import Missing
from recombine.lab.registry import load, select
from recombine.lab.run import collect, execute, plan, verdicts
from recombine.lab.study import PRESETS
from recombine.studies import STUDIES


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """A store in which every study has been run at preset smoke."""
    plans = plan(select([]), "smoke")
    with Store.create(tmp_path_factory.mktemp("smoke")) as store:
        execute(plans, store)
        yield store, {p.study.name: p for p in plans}


@pytest.mark.parametrize("name", STUDIES)
def test_every_trial_of_the_smoke_preset_finishes(name, smoke):
    store, plans = smoke
    assert store.failures(name, plans[name].settings) == []
    results = collect(plans[name].study, plans[name].settings, store)
    assert len(results.records) == len(plans[name].trials)
    assert all(r.metrics for r in results.records)


@pytest.mark.parametrize("name", STUDIES)
def test_figures_and_claims_find_what_trials_record(name, smoke):
    """Each gives an answer or misses conditions; none stumbles over what trials really report."""
    store, plans = smoke
    study = plans[name].study
    results = collect(study, plans[name].settings, store)
    for figure in study.figures:
        answer(figure.draw, results)
    assert {v.verdict for v in verdicts(study, results)} == {"undecided"}, "smoke judges nothing"
    judged = verdicts(study, as_laptop(results, max(c.seeds for c in study.claims)))
    assert [v for v in judged if "could not be judged" in v.evidence.get("reason", "")] == []


def answer(ask, results):
    """What is asked of results, if they have it."""
    try:
        return ask(results)
    except Missing:
        return None


def as_laptop(results, seeds):
    """Results of one seed as if they were of preset laptop and of several."""
    records = (replace(record, seed=seed) for seed in range(seeds) for record in results.records)
    return replace(results, preset="laptop", records=tuple(records))


def test_the_report_has_a_page_for_every_study(smoke, tmp_path):
    from recombine.lab.report import write_report

    index = write_report(smoke[0], tmp_path / "report")
    text = index.read_text()
    for name in STUDIES:
        assert name in text
    for kind in ("", ".source", ".docs"):
        for name in STUDIES:
            assert (index.parent / f"studies/{name}{kind}.html").exists()


def twice(names):
    """The names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_described_in_full(name):
    study = load(name)
    assert study.name == name
    assert study.question.endswith("?")
    assert study.source.document
    assert study.source.where
    assert study.claims
    assert study.figures
    assert twice(claim.name for claim in study.claims) == []
    assert twice(figure.name for figure in study.figures) == []
    assert twice(number.quantity for number in study.beside) == []
    assert all(setting.meaning for setting in study.settings()), "every setting has a docstring"
    assert all(study.presets[p].cost for p in PRESETS), "every preset says what it costs"


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_judges_claims_on_enough_seeds(name):
    study = load(name)
    assert study.presets["laptop"].seeds >= max(3, *(c.seeds for c in study.claims))


INTERVALS = [
    name
    for name in STUDIES
    if getattr(load(name).config, "every", None)  # of 0, the study chooses the interval itself
]


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_that_do_not_fill_the_training_are_refused_before_anything_runs(name):
    with pytest.raises(UserError, match="every=0 is less than 1"):
        load(name).trials("smoke", overrides={"every": 0})
    with pytest.raises(UserError, match="is not a multiple of every=999983"):
        load(name).trials("smoke", overrides={"every": 999983})
