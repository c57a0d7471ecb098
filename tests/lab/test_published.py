import json

import numpy as np
import pytest
from made_up import results

from recombine.lab import Store, published
from recombine.lab.registry import load
from recombine.lab.run import execute, plan

STUDY = "neural-race/zero-shot"


def errors(config, seed):
    few = config.K / config.M < 0.4
    return {"trained_error": 0.01, "untrained_error": (90.0 if few else 0.1) + seed / 7}


def loss(config, name):
    return np.arange(0, 50, 10.0), np.linspace(config.K, 0, 5)


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """Made-up results of a study, as the package would have them."""
    study, found = results(STUDY, errors, curve=loss)
    published._write(study, found, [{"python": "3.11"}, {"python": "3.12"}], tmp_path)
    monkeypatch.setattr(published, "folder", lambda: tmp_path)
    return study, found


def test_what_is_read_is_what_was_written(shipped):
    study, found = shipped
    assert published.names() == [STUDY]
    again = published.published(STUDY)
    assert again.provenance == {"python": ["3.11", "3.12"]}
    assert len(again.results.records) == len(found.records)
    for K in (1, 7):
        ours = again.results.metric("untrained_error", mask="ring", K=K)
        np.testing.assert_allclose(ours, found.metric("untrained_error", mask="ring", K=K))
    # Curves are kept if a figure, a claim or a comparison reads them, and no others.
    x, y = again.results.curve("untrained_error", mask="ring", K=3)
    np.testing.assert_array_equal(x, loss(study.config(), "")[0])
    np.testing.assert_allclose(y, found.curve("untrained_error", mask="ring", K=3)[1], rtol=1e-6)
    with pytest.raises(KeyError, match="was not published"):
        again.results.curve("loss")


def test_claims_are_judged_on_published_results_as_on_those_of_a_store(shipped):
    study, found = shipped
    judged = published.judged(study)
    assert [v.claim for v in judged] == [c.name for c in study.claims]
    assert [v.verdict for v in judged] == [v.verdict for v in published.published(STUDY).verdicts]
    for claim, one in zip(study.claims, judged, strict=True):
        assert one.verdict == claim.check.judge(found).verdict
    assert published.judged(load("neural-race/xor")) == []


def test_results_are_of_the_present_code_until_it_changes(shipped, monkeypatch):
    assert published.published(STUDY).is_current
    path = published.folder() / f"{STUDY}.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"code": "another"}))
    assert not published.published(STUDY).is_current


def test_numbers_beside_the_papers_are_known(shipped):
    (number,) = published.published_numbers(shipped[0]).values()
    assert number.mean == pytest.approx(0.4)


def test_a_store_without_whole_results_publishes_nothing(tmp_path):
    with Store.create(tmp_path / "store") as store:
        execute(plan(["neural-race/sharing-schemes"], "smoke"), store)
        to = tmp_path / "out"
        assert list(published.publish(store, to, ["neural-race/sharing-schemes"])) == []
    assert not to.exists()


# What the package ships.


@pytest.mark.parametrize("name", published.names())
def test_verdicts_that_are_shipped_are_those_of_the_shipped_results(name):
    found = published.published(name)
    study = load(name)
    again = published.judged(study)
    assert [(v.claim, v.verdict) for v in found.verdicts] == [(v.claim, v.verdict) for v in again]
    assert [v.statement for v in found.verdicts] == [c.statement for c in study.claims]
    seeds = study.preset("laptop").seeds
    assert found.results.seeds == list(range(seeds))
    assert len(found.results.records) == seeds * len(study.cases("laptop"))


def test_what_is_shipped_is_small():
    sizes = {path: path.stat().st_size for path in published.folder().rglob("*.*")}
    assert sum(sizes.values()) < 8e6
    assert max(sizes.values()) < 3e6
