"""The judgement of the counterexamples: each predicate can hold and can fail."""

import numpy as np
import pytest
from made_up import judged, results

from recombine import theory
from recombine.studies.identification import counterexamples

NAME = "identification/counterexamples"
KNOWN = {
    "ood_loss_111": 0.0648, "ood_loss_at_z_111": 0.0688, "ood_loss_101": 0.0885,
    "ood_loss_at_z_101": 0.125, "ood_loss_11": 0.2532, "ood_loss_at_z_11": 0.2667,
}  # fmt: skip
FAILING = ("wider", "disconnected", "figure-a1-a", "unseen", "memoriser")


def good(example):
    fraction = 0.01 if example in FAILING else 1e-30
    return KNOWN | {
        "train_loss": 1e-30,
        "least_ood_fraction": fraction,
        "largest_ood_fraction": fraction,
        "assumptions_broken": 1.0,
        "identified": float(example not in FAILING),
    }


@pytest.mark.parametrize("claim", [c.name for c in counterexamples.study.claims])
def test_every_claim_holds_on_what_the_paper_says(claim):
    assert judged(*results(NAME, lambda config, seed: good(config.example)), claim).holds


@pytest.mark.parametrize(
    ("claim", "example", "bad"),
    [
        ("training-tasks-are-fitted", "memoriser", {"train_loss": 1e-9}),
        ("wider-student-fails", "wider", {"ood_loss_111": 0.06}),
        ("wider-student-fails", "wider", {"ood_loss_at_z_101": 0.14}),
        ("disconnected-tasks-fail", "disconnected", {"ood_loss_11": 0.28}),
        ("one-order-of-neurons-generalizes", "figure-a1-a", {"least_ood_fraction": 1e-4}),
        ("one-order-of-neurons-generalizes", "figure-a1-b", {"largest_ood_fraction": 1e-6}),
        ("unseen-module-is-arbitrary", "unseen", {"least_ood_fraction": 1e-5}),
        ("unseen-module-is-arbitrary", "unseen-guessed", {"largest_ood_fraction": 0.1}),
        ("memoriser-fails-unless-consistent", "memoriser", {"least_ood_fraction": 0.0}),
        ("memoriser-fails-unless-consistent", "memoriser-consistent",
         {"largest_ood_fraction": 0.1}),
        ("one-assumption-each", "unseen", {"assumptions_broken": 2.0}),
    ],
)  # fmt: skip
def test_one_bad_run_breaks_a_claim(claim, example, bad):
    def broken(config, seed):
        here = (config.example, seed) == (example, 3)
        return good(config.example) | (bad if here else {})

    assert not judged(*results(NAME, broken), claim).holds


def test_held_neurons_are_those_of_the_teacher():
    found = counterexamples.held_neurons(theory.figure_a1(consistent=False))
    np.testing.assert_array_equal(found, [[2, 1, 3], [3, 3, 1], [1, 2, 2]])


def test_every_example_has_a_name_to_draw_and_a_way_to_build_it():
    assert set(counterexamples.EXAMPLES) == set(counterexamples.BUILD)
