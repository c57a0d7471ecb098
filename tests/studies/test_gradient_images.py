"""The study of paired images: each predicate can hold and can fail; what a trial reports."""

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine.lab import Run
from recombine.lab.claims import Missing
from recombine.lab.registry import load
from recombine.studies.gradient_resistance.images import Config, trial

NAME = "gradient-resistance/images"
STEPS = np.array([0.0, 50.0, 200.0])
AS_PUBLISHED = {
    "A": {"train": (10, 85, 97), "iid": (10, 86, 97), "ood": (10, 64, 71)},
    "B": {"train": (10, 74, 95), "iid": (10, 74, 94), "ood": (10, 74, 95)},
}
"""The accuracies of the paper's figure, about."""


def metrics(config, seed):
    return {"leakage": {"A": 0.5, "B": 0.1}[config.setting] + 0.01 * (seed % 2)}


def curves(changed=None):
    """The published curves, with what `changed` says of a setting's."""

    def read(config, name):
        found = AS_PUBLISHED[config.setting] | (changed or {}).get(config.setting, {})
        found = {k: np.array(v, float) for k, v in found.items()}
        return STEPS, found["train"] - found["ood"] if name == "gap" else found[name]

    return read


@pytest.mark.parametrize("claim", [c.name for c in load(NAME).claims])
def test_every_claim_holds_on_what_the_paper_shows(claim):
    assert judged(*results(NAME, metrics, curve=curves()), claim).holds


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("the-hint-speeds-training-up", {"B": {"train": (10, 80.5, 95)}}),
        ("a-gap-with-the-hint", {"A": {"ood": (10, 64, 82.5)}}),
        ("no-gap-without", {"B": {"ood": (10, 74, 89.5)}}),
        ("no-gap-without", {"B": {"train": (10, 74, 89.5)}}),
        ("the-hint-harms-new-pairs", {"B": {"ood": (10, 74, 80.5)}}),
        ("not-memorised", {"A": {"iid": (10, 86, 91.5)}}),
    ],
)
def test_a_claim_fails_just_beyond_its_margin(claim, changed):
    assert not judged(*results(NAME, metrics, curve=curves(changed)), claim).holds


def test_leakage_on_which_seeds_disagree_is_no_difference():
    def scattered(config, seed):
        return {"leakage": 0.3 + (0.2 * (-1) ** seed if config.setting == "A" else 0.0)}

    judgement = judged(*results(NAME, scattered, curve=curves()), "answers-depend-on-the-hint")
    assert judgement.evidence["bits"]["A"] > judgement.evidence["bits"]["B"]
    assert not judgement.holds


def test_a_claim_about_a_step_that_was_not_looked_at_says_so():
    def short(config, name):
        steps, values = curves()(config, name)
        return steps[:2], values[:2]

    with pytest.raises(Missing, match="nothing was measured at step 200"):
        judged(*results(NAME, metrics, curve=short), "a-gap-with-the-hint")


@pytest.fixture(scope="module")
def runs():
    """Two repetitions with pairs in common, and what they report."""
    config = Config(steps=2, every=1, batch=4, pairs=20, partners=3, data_seed=8)
    found = []
    for seed in (7, 8):
        run = Run()
        trial(config, jax.random.key(seed), run)
        found.append(run)
    return found


def test_a_trial_reports_curves_of_all_streams_and_their_gap(runs):
    run = runs[0]
    for name in ("train", "iid", "ood", "gap", "train_loss", "iid_loss", "ood_loss"):
        np.testing.assert_array_equal(run.curves[name][0], [0, 1, 2])
    values = {name: y for name, (_, y) in run.curves.items()}
    np.testing.assert_allclose(values["gap"], values["train"] - values["ood"])
    gap = values["gap"]
    assert run.metrics["gap"] == gap[-1]
    assert run.metrics["gap_area"] == pytest.approx((gap[0] + gap[1]) / 2 + (gap[1] + gap[2]) / 2)
    assert run.metrics["window_accuracy"] == pytest.approx(values["train"][1:].mean())
    assert 0 <= run.metrics["leakage"] <= np.log2(3)
    ratio = run.metrics["sensitivity_2"] / run.metrics["sensitivity_1"]
    assert run.metrics["sensitivity_ratio"] == pytest.approx(ratio, rel=1e-5)


def test_repetitions_with_a_data_seed_differ_in_weights_only(runs):
    from recombine.studies.gradient_resistance.pairs_trial import streams, task_of

    one, other = (run.curves["train_loss"][1] for run in runs)
    assert one[0] != other[0]
    task = task_of("digits", informative=True)
    seen, tests = streams(task, 20, jax.random.split(jax.random.key(8), 3)[1])
    assert set(tests) == {"iid", "ood"}
    offset = (tests["ood"].second_labels - tests["ood"].labels) % 10
    assert offset.min() >= 2
    assert ((seen.second_labels - seen.labels) % 10).max() <= 1
