"""Models of the meta-learning studies are specs, also one that no paper knows."""

from pathlib import Path

import numpy as np
import pytest
from made_up import results

from recombine.lab import Missing, Store
from recombine.lab.registry import load, select
from recombine.lab.run import collect, execute, plan, verdicts
from recombine.studies.meta_models import HYPERNETWORKS, MODELS, title_of

OWN = f"{Path(__file__).with_name('own_meta_model.py')}:OwnMetaModel"
SHOWN = "own_meta_model.py:OwnMetaModel"
FAMILIES = ("hyperteacher", "preferences", "goals")
STUDIES = [name for name in select([]) if name.partition("/")[0] in FAMILIES]
RATES = ("outer_rate", "inner_rate", "inner_steps", "clip", "weight_decay")


def measured(config, seed):
    names = [f"{s}_{m}" for s in ("test", "ood") for m in ("loss", "accuracy")]
    names += [f"ood_{k}_accuracy" for k in (2, 4, 8)]
    names += ["ood_exact_path", "ood_last_step", "ood_majority_accuracy", "ood_mean_loss"]
    return dict.fromkeys(names, 0.5)


def curves(config, name):
    return np.arange(3.0), np.full(3, 0.95)


def tried(function, found):
    """What a claim or a figure makes of results, or None where results are missing."""
    try:
        return function(found)
    except Missing:
        return None


@pytest.mark.parametrize("name", STUDIES)
def test_a_model_of_ones_own_breaks_no_claim_and_no_figure(name):
    study, found = results(name, measured, curve=curves, overrides={"model": OWN})
    assert found.values("model") == [SHOWN]
    for claim in study.claims:
        tried(claim.check.judge, found)
    for figure in study.figures:
        tried(figure.draw, found)


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("hyperteacher/support", "accuracy"),
        ("hyperteacher/support", "training"),
        ("hyperteacher/modules", "accuracy"),
        ("hyperteacher/modules", "beyond-K"),
        ("hyperteacher/sample-complexity", "tasks"),
        ("hyperteacher/sample-complexity", "curves"),
        ("preferences/support", "loss"),
        ("preferences/support", "training"),
        ("preferences/connected", "loss"),
        ("goals/support", "accuracy"),
        ("goals/support", "training"),
    ],
)
def test_a_model_of_ones_own_is_shown_beside_those_of_the_paper(name, figure):
    study, found = results(
        name, measured, curve=curves, overrides={"model": [HYPERNETWORKS[0], OWN]}
    )
    (drawn,) = (f.draw(found) for f in study.figures if f.name == figure)
    text = drawn.to_json()
    assert SHOWN in text
    assert title_of(SHOWN) == SHOWN


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_a_model_of_ones_own_learns_as_the_linear_hypernetwork(family, preset):
    (own, *_), (linear, *_) = (
        load(f"{family}/support").trials(preset, overrides={"model": model})
        for model in (OWN, HYPERNETWORKS[0])
    )
    assert [own.config[rate] for rate in RATES] == [linear.config[rate] for rate in RATES]


def test_a_model_of_ones_own_is_trained_and_not_decoded(tmp_path):
    (planned,) = plan(["goals/support"], "smoke", assignments=[f"model={MODELS[0]},{OWN}"])
    with Store.create(tmp_path) as store:
        execute([planned], store)
        found = collect(planned.study, planned.settings, store)
        assert store.failures("goals/support", planned.settings) == []
        assert {v.verdict for v in verdicts(planned.study, found)} == {"undecided"}
    decoded = {r.config["model"]["spec"]: "decodability" in r.metrics for r in found.records}
    assert decoded == {MODELS[0]: True, OWN: False}
