"""The study of remedies: each claim can hold and can fail, and each remedy does what it says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine import data, learning, tasks
from recombine.lab.registry import load
from recombine.studies.gradient_resistance import pairs_remedies, toy_remedies
from recombine.studies.gradient_resistance.remedies import IN_IMAGES, IN_TOY, Config
from recombine.studies.gradient_resistance.remedy_parts import REMEDIES

NAME = "gradient-resistance/remedies"
KEY = jax.random.key(0)
# Training and new combinations in percent, leakage.
FOUND = {
    "images": {
        "none": (98, 81, 0.5), "penalty": (97, 92, 0.1), "drop": (97, 92, 0.2),
        "noise": (96, 87, 0.3), "shuffle": (95.5, 94, 0.05), "either": (96, 90, 0.2),
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
        ood = (ood + 0.1 * (seed % 2)) / 100
        return {"train": train / 100, "ood": ood, "leakage": leakage}

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
    assert judged(*results(NAME, found({where: bad})), claim).verdict == "fails"


def test_a_remedy_that_the_toy_does_not_have_is_refused():
    with pytest.raises(ValueError, match="the toy has no remedy 'shuffle'"):
        Config(task="toy", remedy="shuffle")


@pytest.fixture(scope="module")
def at():
    """Pairs of small images, and what remedies are made of."""
    images = data.template_mixtures(key=KEY, shape=(8, 4), train=40, test=20)
    task, random = (tasks.PairedImages(images, informative=i) for i in (True, False))
    return pairs_remedies.pair_situation(task, random, 8, 6, KEY)


def test_every_remedy_of_both_tasks_is_made_of_parts_and_has_a_strength():
    assert set(IN_IMAGES) == set(REMEDIES) == set(pairs_remedies.PAIR_STRENGTHS)
    assert set(IN_TOY) == set(toy_remedies.STRENGTHS) < set(REMEDIES)


@pytest.mark.parametrize("remedy", ["drop", "noise", "shuffle"])
def test_what_is_done_to_batches_spares_the_first_image(at, remedy):
    batch = at.informative(jnp.asarray(0), KEY)
    after = REMEDIES[remedy].prepare(0.9, at)(batch, KEY)
    (first, second), (first_after, second_after) = (
        np.split(np.asarray(b.x), 2, axis=2) for b in (batch, after)
    )
    np.testing.assert_array_equal(first, first_after)
    assert not np.array_equal(second, second_after)


def test_dropping_either_drops_both_images_in_turn(at):
    batch = at.informative(jnp.asarray(0), KEY)
    gone = set()
    for key in jax.random.split(KEY, 5):
        x = np.asarray(REMEDIES["either"].prepare(1.0, at)(batch, key).x)
        gone |= {
            half for half in (0, 1) for pair in np.split(x, 2, axis=2)[half] if (pair == 0).all()
        }
    assert gone == {0, 1}


def test_orders_are_stages_of_the_share_asked_for(at):
    drawn = [
        [REMEDIES[name].batches(0.25, at)(jnp.asarray(t), KEY).second_labels for t in (1, 2)]
        for name in ("order", "reversed")
    ]
    informative, random = (
        b(jnp.asarray(0), KEY).second_labels for b in (at.informative, at.uninformative)
    )
    assert not np.array_equal(informative, random)
    for (early, late), expected in zip(
        drawn, ((random, informative), (informative, random)), strict=True
    ):
        np.testing.assert_array_equal(early, expected[0])
        np.testing.assert_array_equal(late, expected[1])


def test_the_last_hidden_layer_divides_the_network(at):
    network, batch = at.network(), at.informative(jnp.asarray(0), KEY)
    encode, decode = at.halves(network)
    np.testing.assert_allclose(decode(encode(batch.x)), network(batch.x), rtol=1e-5)


def test_without_strength_objectives_are_the_loss(at):
    network, batch = at.network(), at.informative(jnp.asarray(0), KEY)
    loss = float(learning.categorical_hinge(network(batch.x), batch.labels))
    for name, objective in ((n, REMEDIES[n].objective(0.0, at)) for n in ("none", "penalty")):
        assert float(objective(network, batch, KEY)) == pytest.approx(loss, rel=1e-5), name
    quiet = eqx.tree_at(lambda o: o.deviation, REMEDIES["entropy"].objective(0.0, at), 0.0)
    assert float(quiet(network, batch, KEY)) == pytest.approx(loss, rel=1e-5)
