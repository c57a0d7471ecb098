"""The image studies: each predicate can hold and can fail, and the trial does what it says."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine.lab.claims import Missing
from recombine.studies.modularity_scaling import combinations as combinations_study
from recombine.studies.modularity_scaling import images_trial, projections
from recombine.studies.modularity_scaling.images_trial import Config

FAMILY = "modularity-scaling"
LEVEL = {"monolithic": 0, "modular": 1, "kernel": 2, "oracle": 3}


def images(config, seed):
    """What the paper shows: every method loses with k, the better the less."""
    lost = {"monolithic": 5, "modular": 2, "kernel": 1, "oracle": 0.5}[config.method]
    return {"accuracy": 0.95 - 0.01 * lost * config.k + 0.001 * (seed % 2)}


def combinations(config, seed):
    accuracy = 0.9 + 0.01 * LEVEL[config.method] + 0.001 * (seed % 2)
    return {"accuracy": accuracy, "trained_accuracy": accuracy + 0.005}


def noise(config, seed):
    level = LEVEL[config.method]
    if config.noise >= 3:
        level = min(level, 1)
    accuracy = {0: 90, 1: 80, 3: 50, 10: 17, 30: 11}[config.noise]
    return {"accuracy": 0.01 * (accuracy + level) + 0.001 * (seed % 2)}


def looks(config, seed):
    found = (config.method, config.sampling) == ("kernel", "per_module_slot")
    share = 0.6 if found else 0.26
    return {
        "accuracy": 0.9 + 0.01 * LEVEL[config.method] + 0.001 * (seed % 2),
        "initial_share": share,
        "initial_lowest_share": share,
        "initial_assigned": 1.0 if found else 0.25,
        "share": 0.6,
        "kept": 1.0 if found else 0.5,
    }


AS_PUBLISHED = {
    "images": images, "combinations": combinations, "noise": noise, "projections": looks,
}  # fmt: skip


def claims():
    from recombine.lab.registry import load

    return [(name, c.name) for name in AS_PUBLISHED for c in load(f"{FAMILY}/{name}").claims]


@pytest.mark.parametrize(("name", "claim"), claims())
def test_every_claim_holds_on_what_the_paper_says(name, claim):
    assert judged(*results(f"{FAMILY}/{name}", AS_PUBLISHED[name]), claim).holds


RULE = {"method": "kernel", "sampling": "per_module_slot"}


@pytest.mark.parametrize(
    ("name", "claim", "where", "bad"),
    [
        ("images", "modules-help", {"k": 4, "method": "modular"}, {"accuracy": 0.76}),
        ("images", "modules-help", {"k": 8, "method": "modular"}, {"accuracy": 0.6}),
        ("images", "modular-above-monolithic", {"k": 6, "method": "modular"}, {"accuracy": 0.6}),
        ("images", "ours-above-modular", {"k": 8, "method": "kernel"}, {"accuracy": 0.79}),
        ("images", "gap-to-monolithic-widens", {"k": 4, "method": "monolithic"},
         {"accuracy": 0.2}),
        ("images", "gap-of-ours-widens", {"k": 8, "method": "kernel"}, {"accuracy": 0.6}),
        ("combinations", "new-combinations-cost-little", {"method": "modular"},
         {"trained_accuracy": 0.94}),
        ("combinations", "modular-above-monolithic", {"method": "monolithic"}, {"accuracy": 0.915}),
        ("combinations", "ours-above-modular", {"method": "kernel"}, {"accuracy": 0.905}),
        ("noise", "noise-costs-accuracy", {"noise": 1.0, "method": "kernel"}, {"accuracy": 0.95}),
        ("noise", "monolithic-fails-at-ten", {"noise": 10.0}, {"accuracy": 0.21}),
        ("noise", "chance-at-thirty", {"noise": 30.0, "method": "modular"}, {"accuracy": 0.16}),
        ("noise", "monolithic-is-lowest", {"noise": 3.0, "method": "kernel"}, {"accuracy": 0.49}),
        ("noise", "ours-above-modular-with-little-noise", {"noise": 1.0, "method": "kernel"},
         {"accuracy": 0.805}),
        ("noise", "advantage-vanishes-with-noise", {"noise": 10.0, "method": "kernel"},
         {"accuracy": 0.195}),
        ("projections", "random-projections-see-all-images", {"method": "modular"},
         {"initial_share": 0.35}),
        ("projections", "rule-finds-images", RULE, {"initial_share": 0.39}),
        ("projections", "rule-finds-images", RULE, {"initial_assigned": 0.9}),
        ("projections", "training-keeps-images", RULE, {"kept": 0.9}),
        ("projections", "training-concentrates-random-projections", {"method": "modular"},
         {"share": 0.4}),
        ("projections", "nothing-to-choose-by", {"sampling": "global_random"},
         {"initial_share": 0.4}),
        ("projections", "ours-above-modular", RULE, {"accuracy": 0.9}),
    ],
)  # fmt: skip
def test_a_bad_condition_breaks_a_claim(name, claim, where, bad):
    def broken(config, seed):
        here = all(getattr(config, k) == v for k, v in where.items())
        return AS_PUBLISHED[name](config, seed) | (bad if here else {})

    assert judged(*results(f"{FAMILY}/{name}", broken), claim).verdict == "fails"


def test_a_difference_of_which_seeds_disagree_is_not_an_advantage():
    def scattered(config, seed):
        up = 3.0 * (-1) ** seed if config.method == "kernel" else 0.0
        return {"accuracy": combinations(config, 0)["accuracy"] + up, "trained_accuracy": 0.9}

    judgement = judged(*results(f"{FAMILY}/combinations", scattered), "ours-above-modular")
    (evidence,) = judgement.evidence.values()
    assert evidence["mean"] > 0
    assert evidence["n"] == 5
    assert judgement.verdict == "undecided"


def test_published_accuracies_are_shares_of_1():
    ours = combinations_study.published("kernel")
    assert (ours.value, ours.uncertainty) == pytest.approx((0.4990, 0.0015))
    assert ours.metric == "test_accuracy"


def test_a_claim_about_inputs_that_were_not_run_says_so():
    study, found = results(f"{FAMILY}/images", images)
    with pytest.raises(Missing, match="k=8"):
        judged(study, replace(found, records=found.where(k=4).records), "modules-help")


@pytest.mark.parametrize("k", [3, 4])
def test_modules_take_turns_in_what_they_are_fitted_to(k):
    config = Config(k=k, modules=7)
    slot = images_trial.columns(config, 10).reshape(7, k, 10)
    for module in range(7):
        assert slot[module, module % k].all()
        assert slot[module].sum() == 10
    single = images_trial.columns(replace(config, sampling="per_module_column"), 10)
    np.testing.assert_array_equal(single.sum(axis=1), 1)
    assert (single & slot.reshape(7, -1)).sum() == 7
    assert len({row.argmax() for row in single}) == 7
    assert images_trial.columns(replace(config, sampling="global_random"), 10).all()


def test_blind_modules_see_one_image_with_weights_of_the_same_norm():
    config = Config(k=3, modules=4)
    U = jax.random.normal(jax.random.key(0), (6, 4, 5))
    blind = np.asarray(images_trial.blind(config, U)).reshape(3, 2, 4, 5)
    for module in range(4):
        energy = np.square(blind[:, :, module]).sum(axis=(1, 2))
        assert energy[module % 3] > 0
        np.testing.assert_allclose(np.delete(energy, module % 3), 0)
        np.testing.assert_allclose(energy.sum(), np.square(U[:, module]).sum(), rtol=1e-5)


def test_observations_come_about_ten_times():
    assert [images_trial.tenth(n) for n in (100, 7812, 10, 7, 1)] == [10, 651, 1, 1, 1]


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="inputs=64 is less than a batch of 128"):
        Config(inputs=64)
    with pytest.raises(ValueError, match="modules=1 is less than 2"):
        Config(modules=1)


def test_images_of_a_map_stand_in_a_row():
    row = projections.side_by_side(np.arange(12.0).reshape(3, 2, 2))
    np.testing.assert_array_equal(row[0], [0, 1, np.nan, 4, 5, np.nan, 8, 9])
