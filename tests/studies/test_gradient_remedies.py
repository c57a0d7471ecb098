"""The study of remedies: each claim can hold and can fail, and each remedy does what it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine import learning, tasks
from recombine.lab.registry import load
from recombine.studies.gradient_resistance import pairs_remedies
from recombine.studies.gradient_resistance.remedies import Config

NAME = "gradient-resistance/remedies"
KEY = jax.random.key(0)
# Training, new combinations, leakage.
FOUND = {
    "images": {
        "none": (98, 81, 0.5), "penalty": (97, 92, 0.1), "drop": (97, 92, 0.2),
        "noise": (96, 87, 0.3), "shuffle": (95, 94, 0.05), "either": (96, 90, 0.2),
        "entropy": (95, 73, 0.7), "order": (97, 87, 0.3), "reversed": (96, 94, 0.05),
        "modular": (98, 84, 0.4),
    },
    "toy": {
        "none": (100, 75, 0.2), "penalty": (100, 90, 0.1), "drop": (100, 90, 0.1),
        "noise": (100, 100, 0.01), "entropy": (100, 92, 0.1), "order": (100, 80, 0.2),
        "modular": (100, 100, 0.01),
    },
}  # fmt: skip


def found(changed=None):
    def values(config, seed):
        where = config.task, config.remedy
        train, ood, leakage = (changed or {}).get(where, FOUND[config.task][config.remedy])
        return {"train": train, "ood": ood + 0.1 * (seed % 2), "leakage": leakage}

    return values


@pytest.mark.parametrize("claim", [c.name for c in load(NAME).claims])
def test_every_claim_holds_on_what_was_found(claim):
    assert judged(*results(NAME, found()), claim).holds


@pytest.mark.parametrize(
    ("claim", "where", "bad"),
    [
        ("named-remedies-work", ("images", "drop"), (97, 85.5, 0.2)),
        ("named-remedies-work", ("images", "penalty"), (97, 92, 0.26)),
        ("named-remedies-work", ("images", "shuffle"), (94.5, 94, 0.05)),
        ("dropping-either-works-too", ("images", "either"), (96, 90, 0.26)),
        ("other-blind-remedies-leave-a-gap", ("images", "modular"), (98, 88.5, 0.4)),
        ("other-blind-remedies-leave-a-gap", ("images", "entropy"), (82, 73, 0.7)),
        ("the-last-stage-decides", ("images", "reversed"), (96, 87, 0.05)),
        ("entropy-harms-with-images", ("images", "entropy"), (95, 81, 0.7)),
        ("modules-cure-the-toy-only", ("toy", "modular"), (100, 98, 0.01)),
        ("modules-cure-the-toy-only", ("images", "modular"), (98, 84, 0.24)),
        ("noise-cures-the-toy", ("toy", "noise"), (100, 98, 0.01)),
        ("noise-cures-the-toy", ("toy", "noise"), (98, 100, 0.01)),
    ],
)
def test_a_remedy_that_does_otherwise_breaks_a_claim(claim, where, bad):
    assert not judged(*results(NAME, found({where: bad})), claim).holds


def test_a_remedy_that_the_toy_does_not_have_is_refused():
    with pytest.raises(ValueError, match="the toy has no remedy 'shuffle'"):
        Config(task="toy", remedy="shuffle")


SIZE = 400
disturb = jax.jit(pairs_remedies._disturbed)


def disturbed(**strengths):
    """The two images of pairs of constant images, which tell their pair, and their labels."""
    number = jnp.arange(1.0, SIZE + 1)
    x = jnp.broadcast_to(number[:, None, None, None], (SIZE, 2, 4, 1))
    labels = jnp.arange(SIZE) % 10
    strengths = dict.fromkeys(pairs_remedies.DISTURBANCES, 0.0) | strengths
    after = disturb(tasks.PairBatch(x, labels, labels), KEY, **strengths)
    np.testing.assert_array_equal(after.labels, labels)
    return number, np.asarray(after.x[:, :, :2]), np.asarray(after.x[:, :, 2:])


def test_without_strength_a_batch_stays_as_it_is():
    number, first, second = disturbed()
    np.testing.assert_array_equal(first[:, 0, 0, 0], number)
    np.testing.assert_array_equal(second, first)


def test_dropping_blanks_the_second_image_of_the_share_asked_for():
    number, first, second = disturbed(drop=0.8)
    np.testing.assert_array_equal(first[:, 1, 1, 0], number)
    assert set(np.unique(second[:, 0, 0, 0] / number)) == {0, 1}
    assert np.mean(second == 0) == pytest.approx(0.8, abs=0.08)


def test_dropping_either_blanks_one_image_of_a_pair_never_both():
    _, first, second = disturbed(either=0.8)
    gone = np.stack([first[:, 0, 0, 0] == 0, second[:, 0, 0, 0] == 0])
    assert not gone.all(axis=0).any()
    assert gone.mean(axis=1) == pytest.approx(0.4, abs=0.1)


def test_noise_has_the_deviation_asked_for_and_spares_the_first_image():
    number, first, second = disturbed(noise=0.5)
    np.testing.assert_array_equal(first[:, 0, 0, 0], number)
    noise = second - np.asarray(number)[:, None, None, None]
    assert noise.std() == pytest.approx(0.5, abs=0.05)


def test_shuffled_second_images_are_those_of_other_pairs():
    number, first, second = disturbed(shuffle=1.0)
    np.testing.assert_array_equal(first[:, 0, 0, 0], number)
    assert sorted(second[:, 0, 0, 0]) == list(range(1, SIZE + 1))
    assert not (second == first).any()
    _, first, second = disturbed(shuffle=0.8)
    assert np.mean(second[:, 0, 0, 0] != first[:, 0, 0, 0]) == pytest.approx(0.8, abs=0.08)


def linear(x):
    """Scores of which one weighs the first image and one the second."""
    return jnp.stack([3 * x[:, :, :1].sum((1, 2, 3)), 2 * x[:, :, 1:].sum((1, 2, 3))], axis=1)


def test_the_penalty_estimates_the_squared_derivative_by_the_second_image():
    x = jnp.ones((4000, 1, 2, 1))
    labels = jnp.zeros(4000, int)
    batch = tasks.PairBatch(x, labels, labels)
    with_it, without = (
        jax.jit(pairs_remedies._with_slope, static_argnums=1)(s, linear, batch, KEY)
        for s in (0.5, 0.0)
    )
    # ∂Ŷ/∂X_2 is (0, 2), its square 4.
    assert with_it - without == pytest.approx(0.5 * 4, rel=0.1)
    assert without == pytest.approx(float(learning.categorical_hinge(linear(x), labels)))


def test_modules_see_one_image_each_and_add_their_scores():
    def first(x):
        return x[:, :, :, 0].sum(axis=1)

    x = jnp.arange(16.0).reshape(1, 2, 8, 1)
    ours = pairs_remedies._sum(first, lambda x: 10 * first(x), x)
    np.testing.assert_array_equal(ours, [[8 + 160, 10 + 180, 12 + 200, 14 + 220]])


def test_orders_are_stages_of_the_share_asked_for():
    assert pairs_remedies._stages("order", 0.25) == [(False, 0.25), (True, 0.75)]
    assert pairs_remedies._stages("reversed", 0.25) == [(True, 0.25), (False, 0.75)]
    assert pairs_remedies._stages("drop", 0.25) == [(True, 1.0)]
