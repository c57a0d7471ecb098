"""Claims, figures and parts of the studies of weight modules that need no training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine import learning, models, probes, tasks
from recombine.lab import UserError
from recombine.lab.registry import load
from recombine.models import specs
from recombine.studies.weight_modules.classes_trial import without_readout
from recombine.studies.weight_modules.continual_trial import sharing
from recombine.studies.weight_modules.double_addition_trial import copy_of_second, variants
from recombine.studies.weight_modules.scan_training import scan_splits, scan_tasks
from recombine.studies.weight_modules.scan_trial import READOUT

KEY = jax.random.key(0)


def noise(seed):
    return 0.004 * (seed % 3 - 1)


def pairs(config, seed, good=True):
    """Metrics of double addition, as in the thesis or the other way round."""
    own, other = (1.0, 0.1) if good else (0.1, 1.0)
    found = {"valid": 1.0, "control_kept": 1.0}
    for pair in ("pair_1", "pair_2"):
        for kind, value in {
            "own": own, "other": other, "above_chance": other - 0.1, "inverted_own": other,
            "inverted_other": own, "hidden_own": other, "hidden_other": own,
            "alone_own": own, "alone_other": own,
        }.items():  # fmt: skip
            found[f"{kind}_{pair}"] = value + noise(seed)
    shares = config.copied == good
    return found | {"hidden_iou": (0.9 if shares else 0.3) + noise(seed)}


def operations(config, seed, good=True):
    """Metrics of arithmetic."""
    high, low = (0.99, 0.02) if good else (0.02, 0.99)
    fnn = config.model.name == "fnn"
    far = config.beta > 1e-2
    found = {"valid": 1.0, "control": 1.0, "control_kept": 0.2 if far == good else 0.99}
    for name in ("add", "multiply"):
        for mask in ("full", "add", "multiply", "inverted_add", "inverted_multiply"):
            found[f"{mask}_{name}"] = high if mask in ("full", name) else low
        found |= {
            f"above_chance_{name}": low, f"instead_{name}": high if fnn else low,
            f"none_{name}": low if fnn else high,
        }  # fmt: skip
    size = sum(getattr(config.model, "hidden", ()))
    sharing = 0.5 - 1e-4 * size if good else 0.1 + 1e-4 * size
    lead = 0.2 if good else -0.2
    found |= {"outer_lead": lead, "weight_ratio": 3.8 if good else 0.7, "sharing": sharing}
    return {n: v + noise(seed) * (n not in ("valid", "control_kept")) for n, v in found.items()}


def commands(config, seed, good=True):
    """Metrics of SCAN."""
    found = {"trained_accuracy": (0.1 if good else 0.9) + noise(seed)}
    if config.trained_on != "simple":
        return found
    for split in ("simple", "turn_left", "jump", "length"):
        kept, drop = (1.0, 0.6) if good else (0.7, 0.05)
        found |= {
            f"unmasked_{split}": 1.0, f"control_{split}": kept, f"split_{split}": kept - drop,
            f"kept_{split}": kept, f"drop_{split}": drop,
        }  # fmt: skip
        found[f"split_{split}"] = 0.4 if good else 0.1
    for token in ("I_TURN_LEFT", "I_TURN_RIGHT", "I_JUMP", "I_WALK", "I_RUN", "I_LOOK", "END"):
        found[f"removed_{token}"] = 0.4 if (token == "I_JUMP") == good else 0.1
    lead = 0.3 if good else -0.3
    return {n: v + noise(seed) for n, v in (found | {"removed_lead": lead}).items()} | {
        "valid": 1.0
    }


def classes(config, seed, good=True):
    """Metrics of classes that are taken away."""
    drops = config.model.late_dropout > 0
    drop = (0.6 if drops else 0.2) if good else 0.1
    found = {f"drop_{c}": drop + noise(seed) for c in range(10)}
    found |= {f"collateral_{c}": (0.03 if good else 0.5) + noise(seed) for c in range(10)}
    return found | {"drop": drop + noise(seed), "collateral": 0.03, "valid": 1.0}


def orders(config, seed, good=True):
    """Metrics of continual learning."""
    level = 0.2 - 0.2 * config.free_logit if good else 0.5 + 0.1 * config.free_logit
    level += 0.2 * (good and config.free_logit < 2)
    found = {f"second_{layer}": level for layer in (2, 3, 4)}
    found |= {f"last_{layer}": level + (0.3 if good else -0.1) for layer in (2, 3, 4)}
    found |= {"accuracy": 0.95 if good else 0.6}
    return {n: v + 5 * noise(seed) * n.startswith("last") for n, v in found.items()}


def difficulties(config, seed, good=True):
    """Metrics of easy, medium and hard questions."""
    kept, easy = (1.0, 0.5) if good else (0.8, 0.78)
    return {
        "valid": 1.0, "control_kept": kept - 0.01 + noise(seed), "drop": kept - easy + noise(seed),
        "unmasked_hard": 1.0, "control_hard": kept, "easy_hard": easy,
    }  # fmt: skip


METRICS = {
    "double-addition": pairs,
    "arithmetic": operations,
    "classes": classes,
    "continual": orders,
    "mathematics": difficulties,
    "scan": commands,
}


def curve(config, name):
    return np.arange(4.0), np.linspace(0.1, 0.4, 4)


def array(config, name):
    shape = (12, 10, 10) if hasattr(config, "data") else (3, 2, 3)
    return np.full(shape, 0.3)


@pytest.mark.parametrize("name", METRICS)
def test_claims_hold_where_the_thesis_says_so_and_fail_the_other_way_round(name):
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


@pytest.mark.parametrize("name", METRICS)
def test_the_papers_numbers_stand_beside_ours(name):
    study, found = results(
        f"weight-modules/{name}", METRICS[name], preset="paper", curve=curve, array=array, seeds=2
    )
    for number in study.beside:
        assert number.ours(found).shape == (2,), number.quantity


def test_classes_are_drawn_from_rows_that_are_chosen():
    images = learning.LabelledImages(jnp.eye(6), jnp.array([0, 1, 2, 0, 1, 2]))
    without = learning.DrawnRows(images, jnp.flatnonzero(images.labels != 1), 50)
    batch = without(jnp.array(0), KEY)
    assert set(np.asarray(batch.labels).tolist()) == {0, 2}
    assert (images.labels[batch.x.argmax(axis=1)] == batch.labels).all()


def test_the_output_layer_alone_is_left_out_of_a_filter():
    network = models.ImageCNN((4, 4, 1), 3, channels=(2, 2), key=KEY)
    filter = without_readout(learning.maskable(network, biases=True))
    layers = learning.WeightMask.full(network, filter).layers
    assert sorted(layers) == sorted(
        f"convolutions[{i}].{part}" for i in (0, 1) for part in ("kernel", "bias")
    )


def test_sharing_counts_weights_of_hidden_layers_and_not_those_of_the_first():
    network = models.MLP((3, 2, 2, 2), key=KEY)
    full = learning.WeightMask.full(network, learning.maskable(network, biases=True))
    earlier = probes.replace_in_mask(full, ~full, ("layers[2].weight",))
    assert sharing(full, [earlier]) == [1.0, 0.0]
    assert sharing(full, [earlier, full]) == [1.0, 1.0]


def test_copied_weights_make_both_pairs_alike():
    network = specs.NumberMLPSpec(hidden=(7, 5)).build(specs.NumberSizes(40, 2, 1), KEY)
    copied = copy_of_second(network)
    x = tasks.DoubleAddition(1).sample(20, key=KEY).x
    swapped = jnp.roll(x.reshape(20, 2, 20), 1, axis=1).reshape(20, 40)
    assert np.allclose(copied(x), copied(swapped)[:, ::-1], atol=1e-5)
    assert np.allclose(copied(x)[:, 1], network(x)[:, 1], atol=1e-6), "the second pair stays"
    assert not np.allclose(network(x), network(swapped)[:, ::-1], atol=1e-2)


def test_weights_are_copied_only_in_networks_with_a_pass_per_pair():
    study = load("weight-modules/double-addition")
    with pytest.raises(UserError, match="use model=fnn, or copied=false"):
        study.cases("laptop", study.parse(["model=forced-lstm"]))
    assert len(study.cases("laptop", study.parse(["model=forced-lstm", "copied=false"]))) == 1


def test_masks_of_hidden_layers_are_inverted_alone():
    network = specs.NumberMLPSpec(hidden=(4, 4)).build(specs.NumberSizes(40, 2, 1), KEY)
    full = learning.WeightMask.full(network)
    drawn = probes.replace_in_mask(full, ~full, ("mlp.layers[1].weight",))
    made = variants({"full": full, "pair_1": drawn, "pair_2": ~drawn})
    counts = {name: list(probes.kept_weights(mask).values()) for name, mask in made.items()}
    assert counts["unmasked"] == [160, 16, 80]
    assert counts["inverted_pair_1"] == [0, 16, 0]
    assert counts["hidden_pair_1"] == [160, 16, 80], "outer layers are those of the full mask"
    assert counts["alone_pair_2"] == [160, 0, 80], "outer layers are unmasked"


def test_small_splits_of_scan_have_the_sizes_that_the_grammar_gives():
    whole = scan_splits((), 22)
    sizes = {name: (split.size("train"), split.size("test")) for name, split in whole.items()}
    assert sizes == {
        "simple": (16_728, 4_182), "turn_left": (21_890, 1_208), "jump": (14_670, 7_706),
        "length": (16_990, 3_920),
    }  # fmt: skip
    small = scan_splits(("around", "opposite"), 8)
    assert small["simple"].size("train") + small["simple"].size("test") == 3_570
    assert small["jump"].size("test") == 1_358
    assert small["jump"].size("train") - small["jump"].train.max() == 2_211
    assert small["turn_left"].size("test") == 488


def test_commands_of_small_splits_are_whole():
    task = scan_tasks(("around", "opposite"), 8)["jump"]
    batch = task.sample(50, "test", key=KEY)
    assert batch.outputs.shape[1] == 13, "twelve actions and an end"
    assert (batch.output_lengths <= 13).all()
    assert all("jump" in text for text in tasks.SCAN_WORDS.decode(batch.inputs))
    ends = jnp.take_along_axis(batch.outputs, batch.output_lengths[:, None] - 1, axis=1)
    assert not ends.any()


def test_the_output_layer_of_the_lstm_is_masked_and_its_embeddings_are_not():
    spec = specs.RecurrentEncoderDecoderSpec(units=4, layers=1)
    network = spec.build(specs.TranslationSizes(13, 6), KEY)
    layers = learning.WeightMask.full(network).layers
    assert layers[READOUT].shape == (4, 7)
    assert [name for name in layers if "words" in name or "symbols" in name] == []


def test_the_loss_of_a_translation_is_summed_over_its_symbols():
    network = models.RecurrentEncoderDecoder(4, 3, embedding=2, units=3, key=KEY)
    batch = tasks.SequenceBatch(
        jnp.array([[1, 2, 0], [3, 0, 0]]), jnp.array([3, 2]),
        jnp.array([[2, 1, 0], [1, 0, 0]]), jnp.array([3, 2]),
    )  # fmt: skip
    losses = -jax.nn.log_softmax(network(*batch))
    rows = [losses[0, i, batch.outputs[0, i]] for i in range(3)]
    rows += [losses[1, i, batch.outputs[1, i]] for i in range(2)]
    assert np.allclose(learning.SummedTokenLoss()(network, batch), sum(rows) / 2, atol=1e-5)
    own = learning.SummedTokenLoss(forced=0.0, dropout=False)(network, batch, KEY)
    fed = -jax.nn.log_softmax(network.self_fed(*batch))
    rows = [fed[0, i, batch.outputs[0, i]] for i in range(3)]
    rows += [fed[1, i, batch.outputs[1, i]] for i in range(2)]
    assert np.allclose(own, sum(rows) / 2, atol=1e-5)
