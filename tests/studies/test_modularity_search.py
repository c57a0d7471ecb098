"""The studies of sample complexity: each claim can hold and can fail; a search is what it says."""

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine.lab import Diverged, Recorder
from recombine.studies.modularity_scaling import learning_rate, sample_complexity, search_trial

RATES, SAMPLES = "modularity-scaling/learning-rate", "modularity-scaling/sample-complexity"

# Learning rates


def swept(config, seed):
    best = abs(np.log10(config.learning_rate / 0.01))
    values = {}
    for eps in config.eps:
        log2_n = 9 + best - eps + 0.01 * config.layers + 0.1 * seed
        values |= {f"log2_n_{eps:g}": log2_n, f"never_{eps:g}": 0.0, f"always_{eps:g}": 0.0}
    return values


@pytest.mark.parametrize("claim", [c.name for c in learning_rate.study.claims])
def test_every_claim_on_learning_rates_holds_if_one_hundredth_is_best(claim):
    assert judged(*results(RATES, swept), claim).holds


@pytest.mark.parametrize("claim", [c.name for c in learning_rate.study.claims])
def test_every_claim_on_learning_rates_fails_if_another_is_best(claim):
    def other(config, seed):
        less = 3 if config.learning_rate == 0.1 else 0
        return {k: v - less * k.startswith("log2") for k, v in swept(config, seed).items()}

    assert judged(*results(RATES, other), claim).verdict == "fails"


def test_sweeps_have_a_line_for_every_network_and_loss():
    study, found = results(RATES, swept)
    figure = study.figures[0].draw(found)
    # Five networks and two losses over three learning rates; then three rates by two losses.
    lines = [t for t in figure.data if t.name == "one network and loss"]
    assert [int(np.isnan(t.y).sum()) for t in lines] == [10, 6, 6]


# Sample complexity


LEVEL = {"monolithic": 10, "monolithic-long": 10.5, "modular": 11, "kernel": 9}


def needed(config, seed):
    log2_n = LEVEL[config.method] + 0.3 * config.k + 0.1 * seed
    return {
        "log2_n_0.6": log2_n + (0.05 * seed if config.method == "kernel" else 0),
        "never_0.6": 0.0,
        "always_0.6": 0.0,
        "target_variance": 2.0,
    }


def trace(config, name, *, rows=((1024, 3, 10, np.inf), (4096, 1, 10, 12), (2048, 2, 11, 12),
                                 (2896, 1, 11, 11.49))):  # fmt: skip
    return np.concatenate([rows, np.full((config.evaluations - len(rows), 4), np.nan)])


def losses_by_n(config, name):
    return np.array([1024.0, 4096.0]), np.array([3.0, 1.0])


def of(values=needed, array=trace):
    return results(SAMPLES, values, curve=losses_by_n, array=array)


@pytest.mark.parametrize("claim", [c.name for c in sample_complexity.study.claims])
def test_every_claim_on_samples_holds_on_what_the_paper_says(claim):
    assert judged(*of(), claim).holds


@pytest.mark.parametrize(
    ("claim", "method", "k", "log2_n"),
    [
        ("kernel-needs-fewer-than-modular", "kernel", 3, 13),
        ("modular-needs-more-than-monolithic", "modular", 5, 9),
        ("kernel-needs-fewer-than-monolithic", "kernel", None, 13),
        ("all-grow-with-dimension", "kernel", 5, 8),
    ],
)
def test_one_method_breaks_a_claim(claim, method, k, log2_n):
    def broken(config, seed):
        here = config.method == method and config.k == (k or config.k)
        return needed(config, seed) | ({"log2_n_0.6": log2_n} if here else {})

    assert judged(*of(broken), claim).verdict == "fails"


def test_an_advantage_whose_interval_has_zero_in_it_is_none():
    def noisy(config, seed):
        spread = 4 * (-1) ** seed if config.method == "kernel" else 0
        return needed(config, seed) | {"log2_n_0.6": needed(config, seed)["log2_n_0.6"] + spread}

    found = judged(*of(noisy), "kernel-needs-fewer-than-modular")
    assert found.verdict == "undecided"
    assert len(found.evidence) == 3
    for one in found.evidence.values():
        assert one["mean"] < 0 < one["95 % interval"]["at most"]


@pytest.mark.parametrize(
    "rows",
    [
        ((1024, 3, 10, np.inf), (4096, 1, 10, 12)),
        ((1024, 3, 10, 11), (2048, 1, 10, 12), (2896, 1, 11, 11.4)),
        ((8192, 3, 13, np.inf),),
    ],
)
def test_a_search_that_stays_open_or_widens_breaks_its_claim(rows):
    found = of(array=lambda config, name: trace(config, name, rows=rows))
    assert judged(*found, "searches-end").verdict == "fails"


@pytest.mark.parametrize("figure", [f.name for f in sample_complexity.study.figures])
def test_every_figure_of_samples_is_drawn(figure):
    study, found = of()
    assert next(f for f in study.figures if f.name == figure).draw(found).data


# The trial


TINY = {"k": 2, "width": 4, "layers": 2, "steps": 10, "test_samples": 50, "largest": 6.0}


def searched(**settings):
    config = search_trial.Config(**(TINY | {"start": 5.0, "smallest": 4.0} | settings))
    recorder = Recorder()
    search_trial.trial(config, jax.random.key(0), recorder)
    return recorder


def test_a_loss_that_everything_reaches_is_always_reached():
    recorder = searched(method="monolithic", batch=16, eps=(100.0, 1e-9))
    assert recorder.metrics["always_100"] == 1
    assert recorder.metrics["never_1e-09"] == 1
    assert recorder.metrics["log2_n_1e-09"] == 6
    # Both searches begin with 32 samples, and train on them once.
    n, losses = recorder.curves["loss_by_n"]
    assert len(n) == recorder.metrics["trainings_100"] + recorder.metrics["trainings_1e-09"] - 1
    assert np.isfinite(losses).all()


def test_a_training_that_diverges_reaches_nothing(monkeypatch):
    def diverge(*args, **options):
        raise Diverged("the loss is not finite")

    monkeypatch.setattr(Recorder, "train", diverge)
    recorder = Recorder()
    config = search_trial.Config(**TINY, method="monolithic", batch=16, start=5.0, smallest=4.0)
    search_trial.trial(config, jax.random.key(0), recorder)
    assert recorder.metrics["never_0.6"] == 1
