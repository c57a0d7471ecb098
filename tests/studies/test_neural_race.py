"""The judgement of the neural-race studies: each predicate can hold and can fail."""

from dataclasses import replace

import numpy as np
import pytest
from made_up import judged, results

from recombine.lab.reference import references
from recombine.lab.registry import load
from recombine.studies.neural_race import digits, image_trial, xor


def zero_shot_errors(config, seed):
    untrained = {1: 210.0, 2: 90.0, 3: 4.0}.get(config.K, 0.01) + 0.01 * seed
    if config.mask == "random" and config.K == 3:
        untrained = 0.1
    return {"trained_error": 0.01, "untrained_error": untrained}


def test_forty_percent_holds_on_the_papers_pattern():
    assert judged(*results("neural-race/zero-shot", zero_shot_errors), "forty-percent").holds


@pytest.mark.parametrize(
    ("K", "change"),
    [
        (1, {"untrained_error": 50.0}),  # too good with few routes
        (5, {"untrained_error": 6.0}),  # too bad with many
        (9, {"trained_error": 0.2}),  # not learned
        (8, {"untrained_error": 3.0}),  # rises with K
    ],
)
def test_forty_percent_fails_where_the_pattern_is_broken(K, change):
    def broken(config, seed):
        return zero_shot_errors(config, seed) | (change if config.K == K else {})

    assert not judged(*results("neural-race/zero-shot", broken), "forty-percent").holds


def test_topology_matters_only_if_random_masks_do_better():
    study, found = results("neural-race/zero-shot", zero_shot_errors)
    assert judged(study, found, "topology-matters").holds

    def equal(config, seed):
        return zero_shot_errors(replace(config, mask="ring"), seed)

    assert not judged(*results("neural-race/zero-shot", equal), "topology-matters").holds


@pytest.mark.parametrize(
    ("claim", "metric", "bad"),
    [
        ("linear-network-fails", "largest_deviation_from_half", 0.01),
        ("relu-follows-theory", "theory_error", 0.03),
        ("four-cell-types", "aligned_weight", 0.9),
        ("gated-network-is-exact", "theory_error", 1e-5),
    ],
)
def test_one_bad_run_breaks_a_claim_about_every_run(claim, metric, bad):
    good = {
        "largest_deviation_from_half": 1e-9, "theory_error": 1e-9, "aligned_weight": 1.0,
        "fitted_a_0": 1e-7, "estimated_a_0": 1e-6,
    }  # fmt: skip
    assert judged(*results("neural-race/xor", lambda c, s: good), claim).holds
    broken = results("neural-race/xor", lambda c, s: good | ({metric: bad} if s == 7 else {}))
    assert not judged(*broken, claim).holds


def test_aligned_weight_is_the_part_of_the_squared_norm_near_an_input():
    x = np.array([[1.0, 1.0], [-1.0, 1.0]])
    W1 = np.array([[2.0, 2.0], [1.0, 0.0]])  # on an input, and 45 degrees from both
    assert xor.aligned_weight(W1, x) == pytest.approx(8 / 9)


def accuracies(config, seed):
    untrained = 0.9 if config.K / config.M >= 0.4 else 0.1
    if config.activation == "leaky":
        untrained = 0.9 if config.K / config.M >= 0.25 else 0.1
    if config.network == "unshared":
        untrained = 0.1
    spread = 0.001 * seed
    return {"trained_accuracy": 0.93, "untrained_accuracy": untrained + spread, "sharing": 0.5}


@pytest.mark.parametrize("claim", [c.name for c in digits.study.claims])
def test_every_claim_on_digits_can_hold(claim):
    assert judged(*results("neural-race/digits", accuracies), claim).holds


@pytest.mark.parametrize(
    ("claim", "bad"),
    [
        ("trained-routes-are-learned", {"trained_accuracy": 0.8}),
        ("forty-percent-permuted", {"untrained_accuracy": 0.5}),
        ("forty-percent-rotated", {"untrained_accuracy": 0.5}),
        ("leaky-transfers-earlier", {"untrained_accuracy": 0.5}),
        ("leaky-transfers-earlier-small-steps", {"untrained_accuracy": 0.5}),
        ("leaky-threshold", {"untrained_accuracy": 0.5}),
        ("nothing-shared-nothing-transferred", {"untrained_accuracy": 0.5}),
    ],
)
def test_every_claim_on_digits_can_fail(claim, bad):
    broken = results("neural-race/digits", lambda c, s: accuracies(c, s) | bad)
    assert not judged(*broken, claim).holds


def test_the_papers_presets_are_its_tables():
    config = image_trial.SETTINGS_OF_TABLES
    table = {r.metric: r.value for r in references("neural-race") if r.artifact == "table-1"}
    assert config["width"] == table["hidden dimension"]
    assert config["batch"] == table["batch size (per task)"]
    assert config["steps"] == table["number of epochs"] * 60_000 / config["batch"]
    assert config["learning_rate"] == table["learning rate"]
    assert config["momentum"] == table["momentum"]
    gains = {r.value for r in references("neural-race") if r.metric == "gain ratio for weights"}
    paper = load("neural-race/digits-gain").presets["paper"].conditions
    assert {c["gain"] for c in paper} == gains
    for name, settings in image_trial.TABLES.items():
        counts = {
            r.value
            for r in references("neural-race")
            if r.task == name and r.artifact in ("table-2", "table-3", "table-5")
        }
        assert counts in ({settings["M"]}, set())


def test_published_constants_are_the_defaults():
    rows = {
        (r.artifact, r.metric): r.value for r in references("neural-race") if r.artifact in
        ("figure-3", "figure-4", "figure-5", "official-notebook-fig6")
    }  # fmt: skip
    x = load("neural-race/xor").config()
    assert (x.hidden, x.tau, x.sigma_0) == (
        rows["figure-3", "hidden units N_h"], rows["figure-3", "tau"], rows["figure-3", "sigma_0"]
    )  # fmt: skip
    routing = load("neural-race/routing").config()
    assert (routing.M, routing.K) == (7, 4)
    assert routing.learning_rate == rows["figure-4", "learning rate lambda"]
    assert routing.sigma_0 == rows["figure-4", "sigma_0"]
    assert routing.width == rows["figure-4", "N_h"]
    shot = load("neural-race/zero-shot").config()
    assert (shot.M, shot.learning_rate) == (10, rows["figure-5", "learning rate numerator"])
    init = load("neural-race/initialization")
    assert init.config().learning_rate == rows["official-notebook-fig6", "learning rate numerator"]
    assert init.presets["paper"].settings["epochs"] == rows["official-notebook-fig6", "epochs"]
