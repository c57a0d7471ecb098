"""The study of paired images: each predicate can hold and can fail; what a trial reports."""

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine.lab import Recorder
from recombine.lab.claims import Missing
from recombine.lab.registry import load
from recombine.studies.gradient_resistance import images, pairs_trial

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
        found = {k: np.array(v, float) / 100 for k, v in found.items()}
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
    assert judged(*results(NAME, metrics, curve=curves(changed)), claim).verdict == "fails"


def test_leakage_on_which_seeds_disagree_is_no_difference():
    def scattered(config, seed):
        return {"leakage": 0.3 + (0.05 + 0.2 * (-1) ** seed if config.setting == "A" else 0.0)}

    judgement = judged(*results(NAME, scattered, curve=curves()), "answers-depend-on-the-hint")
    (evidence,) = judgement.evidence.values()
    assert evidence["mean"] > 0
    assert judgement.verdict == "undecided"


def test_less_leakage_with_the_hint_refutes_its_claim():
    def reversed_(config, seed):
        return {"leakage": {"A": 0.1, "B": 0.5}[config.setting] + 0.01 * (seed % 2)}

    judgement = judged(*results(NAME, reversed_, curve=curves()), "answers-depend-on-the-hint")
    assert judgement.verdict == "fails"


def test_a_claim_about_a_step_that_was_not_looked_at_says_so():
    def short(config, name):
        steps, values = curves()(config, name)
        return steps[:2], values[:2]

    with pytest.raises(Missing, match="no point at 200"):
        judged(*results(NAME, metrics, curve=short), "a-gap-with-the-hint")


def test_learning_is_reported_on_all_streams_with_its_gap_and_its_speed():
    recorder = Recorder()
    train, iid, ood = (
        np.array([0.1, 0.5, 0.7, 0.9]),
        np.full(4, 0.6),
        np.array([0.1, 0.3, 0.3, 0.5]),
    )
    seen = {"step": np.array([0, 25, 50, 100]), "accuracy": train, "iid_accuracy": iid}
    seen |= {"ood_accuracy": ood, "loss": train, "iid_loss": iid, "ood_loss": ood}
    pairs_trial.report_learning(seen, recorder)
    np.testing.assert_allclose(recorder.curves["gap"][1], [0, 0.2, 0.4, 0.4])
    np.testing.assert_allclose(recorder.curves["iid"][1], 0.6)
    np.testing.assert_array_equal(recorder.curves["train_loss"][1], train)
    assert recorder.metrics == pytest.approx(
        {
            "train": 0.9, "iid": 0.6, "ood": 0.5, "gap": 0.4,
            "gap_area": 0.1 * 25 + 0.3 * 25 + 0.4 * 50,
            "window_accuracy": 0.6, "steps_to_0.5": 25, "steps_to_0.8": 100,
        }
    )  # fmt: skip


def test_a_level_that_is_never_reached_has_no_step():
    recorder = Recorder()
    low = np.array([0.1, 0.6])
    names = ("accuracy", "iid_accuracy", "ood_accuracy", "loss", "iid_loss", "ood_loss")
    pairs_trial.report_learning({"step": np.array([0, 5])} | dict.fromkeys(names, low), recorder)
    assert recorder.metrics["steps_to_0.5"] == 5
    assert "steps_to_0.8" not in recorder.metrics


def test_repetitions_with_a_data_seed_have_their_pairs_in_common(monkeypatch):
    class Enough(Exception):
        pass

    def stop(task, pairs, key):
        raise Enough(np.asarray(jax.random.key_data(key)).tolist())

    def pair_key(seed, **settings):
        with pytest.raises(Enough) as found:
            images.trial(images.Config(**settings), jax.random.key(seed), Recorder())
        return found.value.args

    monkeypatch.setattr(images, "streams", stop)
    assert pair_key(7, data_seed=8) == pair_key(8, data_seed=8)
    assert pair_key(7) != pair_key(8)


def test_digits_have_half_the_published_learning_rate_unless_one_is_given():
    assert pairs_trial.rate_of("digits", None) == 5e-4
    assert pairs_trial.rate_of("mnist", None) == 1e-3
    assert pairs_trial.rate_of("digits", 0.01) == 0.01
