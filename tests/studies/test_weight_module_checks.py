"""Claims, figures and networks of the studies of planted modules and of the method itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine import probes
from recombine.lab import Recorder
from recombine.studies.weight_modules.planted_networks import KINDS, PlantedSampler, unexplained
from recombine.studies.weight_modules.protocol import conclude

KEY = jax.random.key(0)


def noise(seed):
    return 0.004 * (seed % 3 - 1)


def planted(config, seed, good=True):
    high, low = (0.97, 0.2) if good else (0.2, 0.97)
    found = {f"{method}_iou": low for method in ("magnitude", "saliency", "random")}
    found |= {"masks_iou": high, "masks_own": high + 0.01, "masks_others": low}
    return {name: value + noise(seed) for name, value in found.items()}


def checks(config, seed, good=True):
    high, low = (0.98, 0.02) if good else (0.02, 0.98)
    found = {
        "stability": high, "different": low, "late_drop": low, "undecided": low,
        "early_drop": 0.3 if good else 0.1, "left_below": high, "left_above": high,
        "left_at_most": low,
    }  # fmt: skip
    return {name: value + noise(seed) for name, value in found.items()}


METRICS = {"planted": planted, "checks": checks}


def curve(config, name):
    return np.array([0.1, 1.0, 10.0]), np.linspace(0.1, 0.4, 3)


def array(config, name):
    return np.ones(500) if name == "histogram" else np.full((3, 3), 0.3)


@pytest.mark.parametrize("name", METRICS)
def test_claims_hold_where_they_should_and_fail_the_other_way_round(name):
    study, found = results(f"weight-modules/{name}", METRICS[name], curve=curve, array=array)
    for claim in study.claims:
        assert judged(study, found, claim.name).holds, claim.name
    wrong = lambda config, seed: METRICS[name](config, seed, good=False)  # noqa: E731
    _, found = results(f"weight-modules/{name}", wrong, curve=curve, array=array)
    for claim in study.claims:
        assert judged(study, found, claim.name).verdict == "fails", claim.name


@pytest.mark.parametrize("name", METRICS)
def test_figures_are_drawn(name):
    study, found = results(f"weight-modules/{name}", METRICS[name], curve=curve, array=array)
    for figure in study.figures:
        assert figure.draw(found).data, figure.name
    for number in study.beside:
        assert number.ours(found).shape == (3,), number.quantity


def plant(kind):
    return KINDS[kind](2, 3, 4, 0.01, key=KEY)


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_module_does_its_function_and_no_other(kind):
    made = plant(kind)
    tests = [PlantedSampler(made, m, 64)(jnp.array(0), KEY) for m in range(2)]
    for m, mask in enumerate(made.truth):
        network = mask.apply(made.network)
        assert unexplained(network, tests[m]) < 0.01
        assert unexplained(network, tests[1 - m]) > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_every_planted_weight_is_needed(kind):
    """Without any one unit's weight the function is another."""
    made = plant(kind)
    test = PlantedSampler(made, 0, 64)(jnp.array(0), KEY)
    leaves, treedef = jax.tree.flatten(made.truth[0].kept)
    for place, kept in enumerate(leaves):
        for at in np.argwhere(np.asarray(kept))[:3]:
            without = [
                x.at[tuple(at)].set(False) if i == place else x for i, x in enumerate(leaves)
            ]
            mask = type(made.truth[0])(treedef.unflatten(without))
            assert unexplained(mask.apply(made.network), test) > 1e-3


def test_copied_weights_share_their_hidden_module():
    made = plant("copied-weights")
    overlap = probes.mask_overlap(*made.truth)
    np.testing.assert_array_equal(overlap.iou, [0, 1, 0])


def test_the_two_batches_of_a_sampler_have_its_modules():
    made = plant("side-by-side")
    assert PlantedSampler(made, None, 4)(jnp.array(0), KEY).module.tolist() == [0, 1, 0, 1]
    assert PlantedSampler(made, 1, 4)(jnp.array(0), KEY).module.tolist() == [1, 1, 1, 1]


def test_nothing_is_concluded_from_an_invalid_control_mask():
    recorder = Recorder()
    conclude(recorder, probes.module_gate(1.0, 0.9), {"iou": 0.5})
    assert recorder.metrics == {"control_kept": pytest.approx(0.9), "valid": 0.0}
    recorder = Recorder()
    conclude(recorder, probes.module_gate(1.0, 0.99), {"iou": 0.5})
    assert recorder.metrics["iou"] == 0.5
