"""Suites of the family compare: what is new in tests, and what claims make of results."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine._spec import known_specs
from recombine.lab import Recorder, UserError
from recombine.lab.registry import load
from recombine.models import specs
from recombine.studies.compare import image_tasks, own_network, pair_tasks, sequence_tasks

KEY = jax.random.key(0)
SMALL = {"train": 200, "tested": 40}


def texts(items):
    return [items.text(place) for place in range(len(items))]


def functions(text):
    """How many functions an item of table lookup has."""
    return sum(word.isalpha() for word in text.split())


def test_lengths_of_tests_are_new():
    sets = sequence_tasks.LengthSpec(**SMALL).build(None, KEY)
    assert {functions(t) for t in texts(sets.train)} == {1, 2, 3, 4, 5}
    assert {functions(t) for t in texts(sets.familiar)} <= {1, 2, 3, 4, 5}
    assert {functions(t) for t in texts(sets.new)} == {7, 8}


def test_fillers_move_items_and_change_nothing_else():
    spec = sequence_tasks.PositionSpec(**SMALL)
    sets = spec.build(None, KEY)
    for items, fillers in ((sets.train, {0, 1, 2, 3}), (sets.new, {4, 5, 6})):
        found = texts(items)
        assert {t.count(".") for t in found} == fillers
        for text in found:
            words = text.split()
            assert words[: text.count(".")] == ["."] * text.count(".")
            assert 1 <= functions(text) <= spec.longest
    plain = sequence_tasks._drawn(spec, sequence_tasks._lookup(spec, KEY), ((1, 4),) * 3, KEY)[0]
    bare = [t.replace(". ", "") for t in texts(sets.train)]
    assert bare == texts(plain)
    np.testing.assert_array_equal(plain.labels, sets.train.labels)


def test_lists_of_tests_are_deeper():
    from recombine import tasks

    spec = sequence_tasks.DepthSpec(train=300, tested=40)
    sets = spec.build(None, KEY)
    reader = tasks.ListOps(operators=("MIN", "MAX", "SM"), most_arguments=3)
    assert set(reader.depths_of(sets.train)) == {1, 2, 3}
    assert set(reader.depths_of(sets.new)) == {5}


@pytest.mark.parametrize("name", ["order-a", "order-r", "order-s"])
def test_orders_of_tests_are_new_and_their_functions_are_not(name):
    spec = known_specs(sequence_tasks.AbstractSequenceTaskSpec)[name](**SMALL | {"train": 5000})
    sets = spec.build(None, KEY)
    seen = [[w for w in t.split() if w.isalpha()] for t in texts(sets.train)]
    asked = [[w for w in t.split() if w.isalpha()] for t in texts(sets.new)]
    known = {pair for row in seen for pair in itertools.pairwise(row)}
    assert {w for row in asked for w in row} <= {w for row in seen for w in row}
    assert all(any(p not in known for p in itertools.pairwise(row)) for row in asked)


def test_pairs_of_scan_have_jump_alone_in_training():
    pairs = pair_tasks.AddPrimitiveSpec().build()
    words = {part: [pairs.text(part, i)[0] for i in range(pairs.size(part))]
             for part in ("train", "iid", "ood")}  # fmt: skip
    with_jump = [text for text in words["train"] if "jump" in text]
    assert set(with_jump) == {"jump"}
    assert len(with_jump) == pytest.approx(pairs.size("train") / 10, abs=1)
    assert not any("jump" in text for text in words["iid"])
    assert all("jump" in text and text != "jump" for text in words["ood"])
    assert not set(words["iid"]) & set(words["train"])


def test_pairs_of_images_are_those_that_tasks_name():
    rng = np.random.default_rng(0)
    trained, new = image_tasks.HintSpec().pairs(10, rng)
    assert (len(trained), len(new)) == (20, 80)
    trained, new = image_tasks.SumSpec().pairs(10, rng)
    assert (len(trained), len(new)) == (70, 30)
    assert not {tuple(p) for p in trained.tolist()} & {tuple(p) for p in new.tolist()}
    trained, new = image_tasks.PlaceSpec().pairs(10, rng)
    assert new.tolist() == [[-1, c] for c in range(5)]
    assert {tuple(p) for p in trained.tolist()} == {(c, -1) for c in range(10)} | {
        (-1, c) for c in range(5, 10)
    }


def test_inputs_of_images_are_the_digits_of_their_classes():
    images = np.stack([np.full(4, c + 1.0) for c in range(3)])
    x = image_tasks.side_by_side(
        images, np.arange(3), np.array([[0, 2], [1, -1]]), 2, np.random.default_rng(0)
    )
    assert x.tolist() == [[1, 1, 3, 3, 1, 1, 3, 3], [2, 2, 0, 0, 2, 2, 0, 0]]
    sets = image_tasks.SumSpec(**SMALL).build(None, KEY)
    assert sets.train.x.shape == (200, 128)
    assert sets.shape == (8, 16, 1)


def test_a_network_without_a_key_is_called_without_it():
    plain = own_network.with_key(lambda x: 2 * x)
    assert plain(jnp.ones(2), key=KEY).tolist() == [2, 2]
    assert own_network.own_part(plain)(1) == 2

    def keyed(x, *, key=None):
        return x

    assert own_network.with_key(keyed) is keyed
    assert own_network.own_part(keyed) is keyed
    assert type(own_network.with_key(lambda x: x)) is type(plain)


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (lambda x: x[:, :3], r"gives \(2, 3\), and should give \(2, 4\)"),
        (lambda x: x @ jnp.ones(7), "cannot be called with arrays"),
        (lambda x: (x, x), "gives tuple, and should give"),
    ],
)
def test_a_network_with_other_outputs_is_refused_in_one_line(network, words):
    with pytest.raises(ValueError, match=words) as refused:
        own_network.check_outputs(network, (jnp.ones((2, 5)),), (2, 4))
    assert "\n" not in str(refused.value)


def new_of(length, order):
    """Metrics with these accuracies of NDR on new lengths and new orders."""

    def values(config, seed):
        new = {"length": length, "order-a": order}.get(config.task.name, 0.5)
        new = new if specs.NDRSpec().name == config.model.name else 0.2
        return {"familiar": 0.95, "new": new + 0.01 * seed, "guessing": 0.2, "train": 0.95}

    return values


def test_claims_of_sequences_can_hold_and_fail():
    def curve(config, name):
        return np.arange(11.0), np.linspace(0, 1, 11)

    study, found = results("compare/sequences", new_of(0.9, 0.3), curve=curve)
    assert judged(study, found, "the-router-applies-more-functions").holds
    assert judged(study, found, "orders-of-groups-are-not-learned").holds
    for figure in study.figures:
        assert len(figure.draw(found).data) > 10
    study, found = results("compare/sequences", new_of(0.3, 0.93))
    assert judged(study, found, "the-router-applies-more-functions").verdict == "fails"
    assert judged(study, found, "orders-of-groups-are-not-learned").verdict == "fails"


@pytest.mark.parametrize(
    ("name", "claim", "better"),
    [
        ("compare/seq2seq", "relative-positions-write-longer-outputs", "relative-universal"),
        ("compare/images", "a-gap-with-the-hint", "mlp"),
    ],
)
def test_claims_of_the_other_suites_can_hold_and_fail(name, claim, better):
    for gain, verdict in ((0.5, "holds"), (0.0, "fails")):

        def values(config, seed, gain=gain):
            new = 0.4 + gain * (config.model.name == better)
            familiar = 0.4 + gain
            return {"familiar": familiar + 0.01 * seed, "new": new}

        study, found = results(name, values, curve=lambda c, n: (np.arange(2.0), np.ones(2)))
        assert judged(study, found, claim).verdict == verdict
        for figure in study.figures:
            assert figure.draw(found).data


@pytest.mark.parametrize("name", ["compare/sequences", "compare/seq2seq", "compare/images"])
def test_steps_are_looks_times_a_whole_number(name):
    with pytest.raises(UserError, match="steps=15 is not a multiple of 10"):
        load(name).trials("smoke", overrides={"steps": 15})


def test_a_trial_of_images_reports_familiar_and_new():
    from recombine.studies.compare import image_trial

    task, model = image_tasks.HintSpec(**SMALL), specs.ImageMLPSpec(hidden=(4,))
    recorder = Recorder()
    image_trial.trial(image_trial.Config(model, task, steps=10), KEY, recorder)
    assert set(recorder.metrics) == {"train", "familiar", "new", "guessing", "parameters"}
    assert recorder.networks["network"].network.layers[0].weight.shape == (128, 4)
