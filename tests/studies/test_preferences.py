"""The preference studies: their supports, their baseline, and claims that can hold and fail."""

import equinox as eqx
import jax
import numpy as np
import pytest
from made_up import judged, results, settings_are

from recombine._spec import spec_name
from recombine.studies.meta_models import (
    ANIL,
    EMBEDDING,
    HYPERNETWORKS,
    LINEAR,
    MAML,
    NONLINEAR,
    WIDTH,
)
from recombine.studies.preferences.trial import Config, mean_loss, split_of, world_of


def with_loss(losses):
    """Metrics of a trial in which `losses(config)` is the loss on held-out combinations."""
    others = {"test_loss": 0.1, "ood_mean_loss": 1.0}
    return lambda config, seed: {"ood_loss": losses(config)} | others


def verdicts(name, losses):
    study, found = results(name, with_loss(losses))
    return {claim.name: judged(study, found, claim.name).holds for claim in study.claims}


def as_in_figure_4c(config):
    if spec_name(config.model) not in HYPERNETWORKS:
        return 0.3
    return 0.2 if config.support == "compositional" else 0.4


def as_in_figures_4b_and_a8(config):
    return 0.3 if config.support == "disconnected" else 0.2


def test_the_claims_about_compositional_support_hold_on_the_papers_pattern():
    assert all(verdicts("preferences/support", as_in_figure_4c).values())


@pytest.mark.parametrize(
    ("claim", "where", "loss"),
    [
        ("better-than-the-mean", (ANIL, "compositional"), 1.1),
        ("hypernetworks-generalize", (NONLINEAR, "compositional"), 0.31),
        ("hypernetworks-generalize", (MAML, "compositional"), 0.19),
        ("hypernetworks-need-compositional-support", (LINEAR, "non-compositional"), 0.25),
    ],
)
def test_a_claim_about_compositional_support_fails_where_the_pattern_is_broken(claim, where, loss):
    def broken(config):
        here = (spec_name(config.model), config.support) == where
        return loss if here else as_in_figure_4c(config)

    assert not verdicts("preferences/support", broken)[claim]


def test_the_claims_about_connectedness_and_size_hold_on_the_papers_pattern():
    assert all(verdicts("preferences/connected", as_in_figures_4b_and_a8).values())


@pytest.mark.parametrize(
    ("claim", "where", "loss"),
    [
        ("disconnecting-hurts", {"support": "connected", "model": NONLINEAR}, 0.35),
        ("size-does-not-hurt", {WIDTH: 64, "model": LINEAR}, 0.25),
        ("size-does-not-hurt", {EMBEDDING: 32, "model": NONLINEAR}, 0.25),
    ],
)
def test_a_claim_about_connectedness_or_size_fails_where_the_pattern_is_broken(claim, where, loss):
    def broken(config):
        return loss if settings_are(config, where) else as_in_figures_4b_and_a8(config)

    assert not verdicts("preferences/connected", broken)[claim]


@pytest.mark.parametrize("name", ["preferences/support", "preferences/connected"])
def test_every_figure_can_be_drawn_from_laptop_results(name):
    study, found = results(name, with_loss(lambda config: 0.2))
    assert all(figure.draw(found).data for figure in study.figures)


@pytest.mark.parametrize(
    ("support", "K", "trained", "held_out"),
    [
        ("compositional", 3, 69, 23),
        ("non-compositional", 3, 63, 29),
        ("connected", 2, 24, 10),
        ("disconnected", 2, 20, 10),
    ],
)
def test_a_support_has_as_many_combinations_as_in_the_paper(support, K, trained, held_out):
    split = split_of(Config(support=support, K=K), key=jax.random.key(0))
    assert (len(split.train), len(split.held_out)) == (trained, held_out)
    assert split.compositional == (support != "non-compositional")
    assert split.connected == (support != "disconnected")


def test_no_constant_prediction_has_a_lower_loss_than_the_mean():
    config = Config(shots=1, queries=4, layout=("..", ".."), objects=1, horizon=3)
    task = world_of(config, key=jax.random.key(0)).held_out["ood"]
    key = jax.random.key(1)
    query = eqx.filter_jit(task.sample)(32, key=key).query
    by_task = [
        np.asarray(y)[np.asarray(weight) > 0]
        for y, weight in zip(query.y, query.weight, strict=True)
    ]

    def loss(constant):
        return np.mean([0.5 * ((y - constant) ** 2).sum(-1).mean() for y in by_task])

    mean = np.mean([y.mean(0) for y in by_task], axis=0)
    found = eqx.filter_jit(mean_loss)(task, 32, key=key)
    assert float(found) == pytest.approx(loss(mean), rel=1e-5)
    for action in np.eye(5):
        assert loss(mean) < min(loss(mean + 0.01 * action), loss(mean - 0.01 * action))
