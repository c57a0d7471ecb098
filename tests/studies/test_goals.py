"""The judgement of the goal study: each predicate can hold and can fail."""

import jax
import numpy as np
import pytest
from made_up import judged, results, settings_are

from recombine._spec import spec_name
from recombine.lab import Missing
from recombine.studies.goals import support
from recombine.studies.goals.trial import Config, majority_accuracy, split_of, world_of
from recombine.studies.meta_models import (
    ANIL,
    EMBEDDING,
    HYPERNETWORKS,
    LINEAR,
    MAML,
    NONLINEAR,
    WIDTH,
)

NAME = "goals/support"
KEY = jax.random.key(0)


def good(config, seed=0):
    """What the paper says: hypernetworks lead, and lose more without compositional support."""
    modular, whole = spec_name(config.model) in HYPERNETWORKS, config.support == "compositional"
    accuracy = {(True, True): 0.9, (True, False): 0.6, (False, True): 0.7, (False, False): 0.65}
    value = accuracy[modular, whole]
    return {"ood_majority_accuracy": 0.25} | {
        f"ood_{name}": value for name in ("accuracy", "exact_path", "last_step")
    }


@pytest.mark.parametrize("claim", [c.name for c in support.study.claims])
def test_every_claim_holds_on_what_the_paper_says(claim):
    assert judged(*results(NAME, good, "paper"), claim).holds


LINEAR_WITHOUT = {"support": "non-compositional", "model": LINEAR}
MAML_WITHOUT = {"support": "non-compositional", "model": MAML}


@pytest.mark.parametrize(
    ("claim", "where", "bad"),
    [
        ("above-majority", {"model": ANIL}, {"ood_accuracy": 0.2}),
        ("interaction-inferred", {"model": NONLINEAR}, {"ood_last_step": 0.5}),
        ("hypernetworks-generalize", {"model": LINEAR}, {"ood_accuracy": 0.69}),
        ("hypernetworks-find-whole-paths", {"model": MAML}, {"ood_exact_path": 0.91}),
        ("hypernetworks-need-compositional-support", LINEAR_WITHOUT, {"ood_accuracy": 0.86}),
        ("whole-paths-need-compositional-support", MAML_WITHOUT, {"ood_exact_path": 0.3}),
        ("size-matters-little", {WIDTH: 256, EMBEDDING: 32}, {"ood_accuracy": 0.7}),
    ],
)
def test_bad_runs_of_one_condition_break_a_claim(claim, where, bad):
    def metrics(config, seed):
        return good(config) | (bad if settings_are(config, where) else {})

    assert not judged(*results(NAME, metrics, "paper"), claim).holds


def test_hypernetworks_of_other_sizes_enter_only_the_claim_about_sizes():
    def metrics(config, seed):
        of_table = config.model.width == 32 or spec_name(config.model) not in HYPERNETWORKS
        return good(config) | ({} if of_table else {"ood_accuracy": 0.0})

    assert judged(*results(NAME, metrics, "paper"), "hypernetworks-generalize").holds
    with pytest.raises(Missing, match="only preset paper"):
        judged(*results(NAME, good), "size-matters-little")


def test_the_best_learning_rate_of_a_size_counts():
    def metrics(config, seed):
        return good(config) | ({"ood_accuracy": 0.1} if config.outer_rate == 0.003 else {})

    assert judged(*results(NAME, metrics, "paper"), "size-matters-little").holds


@pytest.mark.parametrize("kind", support.SUPPORTS)
def test_a_quarter_of_the_200_goals_is_held_out(kind):
    split = split_of(Config(mazes=5, objects=5, support=kind), key=KEY)
    assert (len(split.train), len(split.held_out)) == (150, 50)
    assert split.compositional == (kind == "compositional")


def test_models_and_supports_of_one_seed_share_their_mazes():
    worlds = [world_of(Config(support=kind), key=KEY) for kind in support.SUPPORTS]
    one, other = (w.task.mazes.walls for w in worlds)
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, world_of(Config(), key=jax.random.key(1)).task.mazes.walls)


def test_the_most_frequent_action_is_counted_within_every_demonstration():
    world = world_of(Config(), key=KEY)
    query = jax.tree.map(np.asarray, world.task.sample(16, key=KEY).query)
    taken = np.zeros(world.outputs)
    for y, weight in zip(query.y, query.weight, strict=True):
        taken += np.bincount(y[weight > 0].argmax(-1), minlength=world.outputs) / weight.sum()
    found = majority_accuracy(world.task, 16, key=KEY)
    np.testing.assert_allclose(found, taken.max() / 16, rtol=1e-5)
