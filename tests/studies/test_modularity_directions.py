"""The judgements of the studies of directions: each claim can hold and can fail."""

import numpy as np
import pytest
from made_up import judged, results

from recombine.lab import Diverged, Missing, Recorder
from recombine.lab.registry import load
from recombine.studies.modularity_scaling import gap, sine_trial
from recombine.studies.modularity_scaling.sine_trial import Config, distinct, scheduled_steps

LOSSES = {
    "monolithic": 2.5,
    "monolithic-long": 2.6,
    "modular": 0.8,
    "kernel": 0.5,
    "kernel-fixed": 0.9,
    "random-fixed": 1.5,
    "pursuit": 0.15,
    "true": 0.1,
}


def spread(seed):
    """Targets differ far more than methods on one target do."""
    return 0.001 * seed


def sine(config, seed):
    loss = LOSSES[config.method]
    if config.method == "true" and config.k == 2:
        loss = 0.7
    if config.modules:
        loss = 1 / config.modules
    kernel = config.method in ("kernel", "kernel-fixed")
    pursued = config.method == "pursuit"
    return {
        "test_loss": loss + spread(seed),
        "target_variance": 2.5,
        "similarity_at_start": 0.99 if pursued else 0.85 if kernel else 0.67,
        "similarity": (0.99 if kernel else 0.75) + spread(seed),
        "distance_at_start": 0.3 if kernel else 0.9,
        "distance": 0.3,
    }


STUDIES = ("directions", "nonlinear", "ablations")
CLAIMS = [(s, c.name) for s in STUDIES for c in load(f"modularity-scaling/{s}").claims]


@pytest.mark.parametrize(("study", "claim"), CLAIMS)
def test_every_claim_holds_on_what_the_paper_says(study, claim):
    assert judged(*results(f"modularity-scaling/{study}", sine), claim).holds


@pytest.mark.parametrize(
    ("study", "claim", "method", "bad"),
    [
        ("directions", "kernel-directions-are-closer", "kernel", {"similarity_at_start": 0.74}),
        ("directions", "they-stay-closer", "kernel", {"similarity": 0.7}),
        ("directions", "training-widens-the-gap", "kernel", {"similarity": 0.8}),
        ("directions", "the-rule-finds-more-than-training", "modular", {"similarity": 0.9}),
        ("directions", "monolithic-is-worse", "monolithic-long", {"test_loss": 1.1}),
        ("directions", "true-directions-are-better", "true", {"test_loss": 0.3}),
        ("directions", "kernel-directions-lower-the-loss", "kernel", {"test_loss": 0.9}),
        ("directions", "pursuit-finds-the-directions", "pursuit", {"similarity_at_start": 0.9}),
        ("directions", "pursuit-halves-the-way", "pursuit", {"test_loss": 0.3}),
        ("nonlinear", "modules-help", "monolithic", {"test_loss": 1.1}),
        ("nonlinear", "kernel-centres-lower-the-loss", "kernel", {"test_loss": 0.9}),
        ("nonlinear", "the-rule-finds-centres", "kernel", {"distance_at_start": 0.5}),
        ("ablations", "fixed-directions-are-worse", "kernel-fixed", {"test_loss": 0.4}),
        ("ablations", "true-directions-win-in-high-dimensions", "true", {"test_loss": 0.6}),
        ("ablations", "trained-directions-win-in-low-dimensions", "true", {"test_loss": 0.4}),
        ("ablations", "kernel-directions-lower-the-loss", "kernel", {"test_loss": 0.9}),
        ("ablations", "more-modules-help", "kernel", {"test_loss": 0.5}),
    ],
)
def test_every_claim_can_fail(study, claim, method, bad):
    def broken(config, seed):
        return sine(config, seed) | (bad if config.method == method else {})

    assert judged(*results(f"modularity-scaling/{study}", broken), claim).verdict == "fails"


def test_a_difference_that_changes_sign_between_targets_is_none():
    def mixed(config, seed):
        sign = 1 if seed % 2 else -1
        shift = 0.3 * sign if config.method == "kernel" else 0.0
        return sine(config, seed) | {"test_loss": 0.8 + shift}

    for study, claim in (
        ("directions", "kernel-directions-lower-the-loss"),
        ("nonlinear", "kernel-centres-lower-the-loss"),
    ):
        judgement = judged(*results(f"modularity-scaling/{study}", mixed), claim)
        assert judgement.verdict == "undecided"
        (found,) = judgement.evidence.values()
        assert found["n"] == 10
        assert found["95 % interval"]["at most"] > 0


SLOPES = {"true": -0.1, "random": 1.5, "kernel": 1.2, "evidence": 0.8, "joint": 0.9}
GAP_LOSSES = {"random": 0.5, "kernel": 0.4, "evidence": 0.2, "joint": 0.3}


def searched(slope=SLOPES.get, at_bound=lambda config: False):
    def values(config, seed):
        n = 6 + (slope(config.variant) or 0.0) * config.k + spread(seed) * config.k
        bounds = {"never_0.6": 0.0, "always_0.6": float(at_bound(config))}
        return {"log2_n_0.6": n, "target_variance": 2.0} | bounds

    return values


def losses(values=GAP_LOSSES):
    def curve(config, name):
        return np.array([512.0, 1024.0]), np.array([2.0, 2 * values.get(config.variant, 0.5)])

    return curve


@pytest.mark.parametrize("claim", [c.name for c in gap.study.claims])
def test_every_claim_on_the_gap_holds_if_it_is_optimisation(claim):
    assert judged(*results("modularity-scaling/gap", searched(), curve=losses()), claim).holds


@pytest.mark.parametrize(
    ("claim", "slope", "loss"),
    [
        ("true-directions-grow-least", {"true": 1.5, "random": 1.5}, GAP_LOSSES),
        ("true-directions-do-not-grow", {"true": 2.0, "random": 2.5}, GAP_LOSSES),
        ("kernel-lowers-the-loss", SLOPES, {"kernel": 0.6, "random": 0.5}),
        ("evidence-lowers-the-loss", SLOPES, {"evidence": 0.6, "random": 0.5}),
        ("joint-lowers-the-loss", SLOPES, {"joint": 0.6, "random": 0.5}),
    ],
)
def test_every_claim_on_the_gap_can_fail(claim, slope, loss):
    made = results("modularity-scaling/gap", searched(slope.get), curve=losses(loss))
    assert judged(*made, claim).verdict == "fails"


def test_slopes_are_those_of_a_line():
    _, found = results("modularity-scaling/gap", searched(), curve=losses())
    expected = 1.5 + spread(np.arange(6))
    np.testing.assert_allclose(gap.growth("random").quantity(found), expected, rtol=1e-6)


def test_a_slope_of_zero_says_nothing_if_searches_ended_at_a_bound():
    values = searched(at_bound=lambda config: config.variant == "true" and config.k == 2)
    with pytest.raises(Missing, match="6 searches with true directions ended at a bound"):
        judged(*results("modularity-scaling/gap", values), "true-directions-do-not-grow")
    growing = searched({"true": 2.0}.get, at_bound=lambda config: True)
    found = judged(*results("modularity-scaling/gap", growing), "true-directions-do-not-grow")
    assert found.verdict == "fails"


def test_a_slope_whose_interval_reaches_zero_is_undecided():
    def unsure(config, seed):
        return searched()(config, seed) | {"log2_n_0.6": 6 + 0.5 * (-1) ** seed * config.k}

    found = judged(*results("modularity-scaling/gap", unsure), "true-directions-do-not-grow")
    assert found.verdict == "undecided"


def test_variants_say_what_they_are():
    evidence = gap.resolved(gap.Config(variant="evidence"))
    assert (evidence.method, evidence.kernel_rule, evidence.kernel_batch) == (
        "kernel",
        "determinant",
        256,
    )
    longer = gap.resolved(gap.Config(variant="random-longer"))
    assert longer.task_steps == 2 * gap.resolved(gap.Config(variant="random")).task_steps
    assert set(gap.TITLES) == set(gap.VARIANTS)


def test_the_schedule_is_the_papers():
    assert [scheduled_steps(m) for m in (2, 6, 7, 8, 9, 10)] == [1000, 1000, 700, 700, 500, 200]
    assert Config(steps=0, k=7).task_steps == 700
    assert Config(steps=0, k=7, method="monolithic-long").task_steps == 10_000


def test_starts_that_end_alike_count_once():
    u = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(distinct(u, 2, np.array([5, 6, 7])), [5, 7])
    np.testing.assert_array_equal(distinct(u, 3, np.array([5, 6, 7])), [5, 7, 6])


def test_methods_share_target_data_and_modules():
    import jax

    keys = sine_trial.streams(jax.random.key(3))
    given = [
        sine_trial.problem(Config(method=m, k=2, n=40, test_samples=10), keys)
        for m in ("monolithic", "true")
    ]
    for a, b in zip(*map(jax.tree.leaves, given), strict=True):
        np.testing.assert_array_equal(a, b)
    config = Config(method="modular", k=2, n=40, test_samples=10)
    random, _ = sine_trial.network_of(config, given[0], keys, Recorder())
    true, trainable = sine_trial.network_of(
        Config(method="true", k=2, n=40, test_samples=10), given[0], keys, Recorder()
    )
    assert not trainable.u
    assert all(trainable.weights)
    np.testing.assert_array_equal(true.u, np.tile(given[0].target.u, (2, 1)))
    for a, b in zip(random.weights, true.weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_kernel_batch_larger_than_the_training_set_is_refused():
    with pytest.raises(ValueError, match="kernel_batch=128 needs as many samples; n is 64"):
        Config(method="kernel", n=64)


SMALL = {"k": 2, "n": 128, "width": 4, "layers": 2, "steps": 2, "test_samples": 10}


def test_a_kernel_that_is_not_positive_definite_ends_the_trial_with_a_remedy():
    import jax

    config = Config("kernel", **SMALL, projection="distance", jitter=0.0, kernel_steps=10)
    with pytest.raises(Diverged, match="not positive definite with a jitter of 0: raise it"):
        sine_trial.trial(config, jax.random.key(0), Recorder())


def test_projections_that_run_away_are_reported_with_a_remedy():
    import jax

    config = Config(
        "kernel", **SMALL, projection="distance", kernel_optimiser="sgd", kernel_mean=False,
        kernel_rate=10.0, jitter=0.01, kernel_steps=20,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="times as long: lower the learning rate"):
        sine_trial.trial(config, jax.random.key(0), Recorder())
