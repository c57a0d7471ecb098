"""The studies of nested expressions: claims can hold and can fail, and trials do what they say."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine import tasks
from recombine.lab import Missing, Recorder, UserError
from recombine.lab.registry import load
from recombine.lab.settings import from_plain
from recombine.models import specs
from recombine.studies.data_router import (
    arithmetic,
    expression_trial,
    listops,
    listops_trial,
    paper,
)
from recombine.studies.data_router.expression_results import SMOKE

ARITHMETIC, LISTOPS = ALL = ("data-router/arithmetic", "data-router/listops")
DEEPER = {
    "lstm": 0.7, "bi-lstm": 0.6, "transformer": 0.45, "relative": 0.77,
    "position-gate": 0.85, "ndr": 0.99,
}  # fmt: skip


def as_published(config, seed):
    deeper = DEEPER[config.model.name]
    return {
        "iid": 0.99, "deeper": deeper, "deeper_at_end": deeper, "deeper_early": deeper - 0.02,
        "majority": 0.28, "left_chance": 1.0, "opening_order": 0.9, "undefined_order": 0.1,
        "steps_per_operation": 2.0,
    }  # fmt: skip


def changed(model, metrics):
    """As published, but for some metrics of one network."""

    def values(config, seed):
        return as_published(config, seed) | (metrics if config.model.name == model else {})

    return values


def curves(config, name):
    return np.arange(1, 6.0), np.full(5, 0.5)


def arrays(config, name):
    words = ["B", "[MIN", "1", "2", "]", "E"]
    shapes = {"attention": (4, 2, 6, 6), "gates": (4, 6, 3)}
    return np.array(words) if name == "words" else np.full(shapes[name], 0.5)


@pytest.mark.parametrize("preset", ["laptop", "paper"])
@pytest.mark.parametrize(
    ("name", "claim"), [(name, c.name) for name in ALL for c in load(name).claims]
)
def test_every_claim_holds_on_what_the_paper_shows(name, claim, preset):
    assert judged(*results(name, as_published, preset), claim).holds


@pytest.mark.parametrize(
    ("name", "claim", "model", "bad"),
    [
        (ARITHMETIC, "router-ahead", "relative", {"deeper": 0.9}),
        (ARITHMETIC, "router-computes", "ndr", {"deeper": 0.57}),
        (ARITHMETIC, "router-generalizes", "ndr", {"deeper": 0.94}),
        (ARITHMETIC, "router-generalizes", "ndr", {"deeper_early": 0.94}),
        (ARITHMETIC, "router-best", "ndr", {"deeper": 0.8}),
        (ARITHMETIC, "others-fall-short", "bi-lstm", {"deeper": 0.86}),
        (ARITHMETIC, "all-learn", "relative", {"iid": 0.97}),
        (LISTOPS, "router-ahead", "relative", {"deeper": 0.9}),
        (LISTOPS, "router-computes", "ndr", {"majority": 0.7}),
        (LISTOPS, "router-generalizes", "ndr", {"deeper": 0.96}),
        (LISTOPS, "gates-in-rank", "relative", {"deeper": 0.86}),
        (LISTOPS, "gates-in-rank", "position-gate", {"deeper": 0.995}),
        (LISTOPS, "all-learn", "bi-lstm", {"iid": 0.96}),
        (LISTOPS, "innermost-first", "ndr", {"opening_order": 0.79}),
    ],
)
def test_every_claim_fails_where_its_statement_does(name, claim, model, bad):
    assert not judged(*results(name, changed(model, bad)), claim).holds


@pytest.mark.parametrize("name", ALL)
def test_without_the_router_claims_about_it_are_not_judged(name):
    study, found = results(name, as_published)
    others = found.where(model="relative")
    for claim in study.claims:
        if claim.name not in ("all-learn", "others-fall-short"):
            with pytest.raises(Missing):
                claim.check.judge(others)


@pytest.mark.parametrize("preset", ["laptop", "paper"])
@pytest.mark.parametrize("name", ALL)
def test_all_figures_are_drawn_and_all_numbers_of_the_paper_are_there(name, preset):
    study, found = results(name, as_published, preset, curve=curves, array=arrays)
    for figure in study.figures:
        assert figure.draw(found).data
    # The rows LSTM and Transformer are in preset paper only.
    compared = {paper.title(model) for model in found.values("model")}
    measured = [row for row in study.beside if row.quantity.split(", ")[0] in compared]
    assert all(len(row.ours(found)) == len(found.seeds) for row in measured)
    assert (len(measured) == len(study.beside)) == (preset == "paper")
    printed = {row.quantity: row.paper.value for row in study.beside}
    expected = {ARITHMETIC: ("200k", 0.98), LISTOPS: ("100k", 0.99)}[name]
    assert printed[f"NDR, deeper expressions, {expected[0]}"] == expected[1]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        (ARITHMETIC, {"relative": (128, 256, 4, 11), "ndr": (256, 1024, 4, 15)}),
        (LISTOPS, {"relative": (256, 1024, 16, 6), "position-gate": (512, 2048, 16, 20),
                   "ndr": (512, 1024, 16, 20)}),
    ],
)  # fmt: skip
def test_networks_and_tasks_of_the_paper_have_its_sizes(name, sizes):
    found = {t.config["model"]["spec"]: t.config for t in load(name).trials("paper", seeds=1)}
    assert tuple(found) == expression_trial.MODELS
    for model, expected in sizes.items():
        spec = found[model]["model"]
        assert tuple(spec[k] for k in ("width", "hidden", "heads", "layers")) == expected
    for model, config in found.items():
        assert config["buckets"] == (1 if name == ARITHMETIC and "lstm" in model else 10)
        assert config["muon_rate"] is None
        assert (config["b2"], config["warmup_steps"], config["decays"]) == (0.999, 0, False)
    assert found["ndr"]["model"]["attention"]["bias"] == 0
    task = {ARITHMETIC: tasks.SimpleArithmetic(), LISTOPS: tasks.ListOps()}[name]
    module = {ARITHMETIC: arithmetic, LISTOPS: listops_trial}[name]
    study, _ = results(name, as_published, "paper")
    for trial in study.trials("paper", seeds=1):
        assert module.task_of(from_plain(study.config, trial.config)) == task
    assert found["ndr"]["model"]["test_layers"] == (24 if name == LISTOPS else None)


def test_the_list_of_the_paper_has_its_value():
    shown = tasks.ListOps().read([listops.EXAMPLE])
    # The minimum is 1, the median of 1 and 7 is 4, that of 8, 5 and 8 is 8.
    assert int(shown.labels[0]) == (4 + 5 + 8 + 0 + 7) % 10
    small = listops_trial.task_of(listops_trial.Config())
    assert small.depths_of(small.read([listops_trial.Config().shown])).tolist() == [4]


def test_batches_are_of_like_lengths():
    config = arithmetic.Config(train=200, evaluated=20, buckets=2)
    task = arithmetic.task_of(config)
    batches, seen, tests = expression_trial.data_of(config, task, jax.random.key(0))
    short, long = (source.data for source in batches.sources)
    assert short.lengths.max() < long.lengths.min()
    # 200 that are nested, and all single operations.
    assert len(short) + len(long) == 250
    assert batches.shares.tolist() == [len(short), len(long)]
    assert [source.batch_size for source in batches.sources] == [config.batch_size] * 2
    assert seen.vocabulary[-2:] == ("B", "E")
    assert set(tests) == {"iid", "depth_valid", "deeper"}
    assert set(task.depths_of(tests["deeper"]).tolist()) == {4, 5}
    recurrent = dataclasses.replace(config, model=specs.LSTMSpec())
    _, seen, *_ = expression_trial.data_of(recurrent, task, jax.random.key(0))
    assert "B" not in seen.vocabulary


def test_the_early_network_is_chosen_of_the_first_ones():
    found = {
        "step": np.array([0, 10, 20, 30]),
        "depth_valid_accuracy": np.array([0.0, 0.5, 0.5, 0.9]),
        "deeper_accuracy": np.array([0.9, 0.1, 0.2, 0.3]),
    }
    assert arithmetic.early_accuracy(found, 20) == 0.2
    assert arithmetic.early_accuracy(found, 15) == 0.1
    assert arithmetic.early_accuracy(found, 30) == 0.3


def opening(steps):
    """Of two lists whose operators open at these steps."""
    words = ["B", "[MAX", "[MIN", "1", "2", "]", "[SM", "3", "[SM", "1", "1", "]", "]", "]", "E"]
    gates = np.zeros((6, 2, len(words) + 1, 2))
    # Padding, which must not set the level at which a column is open.
    gates[:, :, -1] = 9
    for word, step in zip((1, 2, 6, 8), steps, strict=True):
        gates[step, :, word] = 1
    return listops_trial.opening_of([words, words], gates)


def test_operators_that_open_from_the_innermost_outwards_are_recognised():
    found = opening((4, 0, 2, 0))
    assert found.heights.tolist() == [3, 1, 2, 1] * 2
    assert found.steps.tolist() == [4, 0, 2, 0] * 2
    assert listops_trial.orders(found) == pytest.approx(1)
    recorder = Recorder()
    listops_trial.report(found, recorder)
    assert recorder.metrics["steps_per_operation"] == pytest.approx(2)
    assert recorder.metrics["undefined_order"] == 0
    heights, steps = recorder.curves["opening_by_height"]
    assert (heights.tolist(), steps.tolist()) == ([1, 2, 3], [0, 2, 4])


def test_heights_that_only_some_seeds_have_are_averaged_over_these():
    _, found = results(LISTOPS, as_published)

    def own(record):
        # Seeds differ in the highest lists that they happen to have.
        heights = np.arange(1.0, 4.0 + record.seed)
        return dataclasses.replace(record, read_curve=lambda _: (heights, heights + record.seed))

    found = dataclasses.replace(found, records=tuple(map(own, found.records)))
    by_height = listops.opening_by_height(found, "ndr")
    assert {h: steps.tolist() for h, steps in by_height.items()} == {
        1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 5], 4: [5, 6], 5: [7],
    }  # fmt: skip
    assert listops.draw_opening(found).data


def test_operators_that_open_from_the_outermost_inwards_or_together_are_recognised():
    assert listops_trial.orders(opening((0, 4, 2, 4))) == pytest.approx(-1)
    recorder = Recorder()
    listops_trial.report(opening((1, 1, 1, 1)), recorder)
    assert recorder.metrics["undefined_order"] == 1
    assert recorder.metrics["opening_order"] == 0


def test_a_list_that_cannot_be_read_is_refused_before_training():
    recorder = Recorder()
    with pytest.raises(
        ValueError, match="`shown` is no list of this task: not words of these lists: 4"
    ):
        listops_trial.trial(listops_trial.Config(digits=4), jax.random.key(0), recorder)
    assert not recorder.curves


def small(**settings):
    """Settings of the study of lists with a network that learns in no time."""
    own = {name.removeprefix("model."): v for name, v in SMOKE.items() if name.startswith("model.")}
    rest = {name: v for name, v in SMOKE.items() if not name.startswith("model.")}
    return listops_trial.Config(model=specs.NDRSpec(**own, **settings), **rest)


def test_a_network_with_more_layers_in_tests_is_also_tested_as_trained():
    as_trained = {"iid_as_trained", "deeper_as_trained"}
    for config, names in ((small(), set()), (small(test_layers=4), as_trained)):
        recorder = Recorder()
        listops_trial.trial(config, jax.random.key(0), recorder)
        assert {name for name in recorder.metrics if name.endswith("as_trained")} == names
        assert all(0 <= recorder.metrics[name] <= 1 for name in names)
        assert "opening_order" in recorder.metrics


def test_as_trained_a_network_has_the_layers_of_training_and_its_weights():
    sizes = specs.SequenceSizes(8, 5)
    deeper, plain = (
        small(test_layers=layers).model.build(sizes, jax.random.key(1)) for layers in (4, None)
    )
    shallow = listops_trial.as_trained(deeper)
    tokens, lengths = jnp.array([[1, 2, 3]]), jnp.array([3])
    assert (shallow(tokens, lengths) == plain(tokens, lengths)).all()
    assert (shallow(tokens, lengths) != deeper(tokens, lengths)).any()
    assert listops_trial.as_trained(plain) is None


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="steps=10 is not a multiple of every=3"):
        arithmetic.Config(steps=10, every=3)
    with pytest.raises(ValueError, match="every=0 is less than 1"):
        arithmetic.Config(every=0)
    with pytest.raises(UserError, match="heads=0 is less than 1"):
        arithmetic.study.trials("smoke", overrides={"model.heads": 0})
    with pytest.raises(ValueError, match="steps=500 end before warmup_steps=600"):
        arithmetic.Config(steps=500, warmup_steps=600)
    with pytest.raises(UserError, match="expected 2 values with commas between, got '3'"):
        arithmetic.study.parse(["depths=3"])
    with pytest.raises(ValueError, match="early=11000 is not between"):
        arithmetic.Config(early=11_000)
