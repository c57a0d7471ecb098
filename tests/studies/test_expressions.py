"""The studies of nested expressions: claims can hold and can fail, and trials do what they say."""

import dataclasses

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine import tasks
from recombine.lab import Missing, Recorder, UserError
from recombine.lab.registry import load
from recombine.studies.data_router import arithmetic, expression_trial, listops, listops_trial
from recombine.studies.data_router.expression_results import SMOKE

ARITHMETIC, LISTOPS = ALL = ("data-router/arithmetic", "data-router/listops")
DEEPER = {
    "LSTM": 0.7, "Bidirectional LSTM": 0.6, "Transformer": 0.45, "+ rel": 0.77,
    "+ abs/rel + gate": 0.85, "NDR": 0.99,
}  # fmt: skip


def as_published(config, seed):
    deeper = DEEPER[config.model]
    return {
        "iid": 0.99, "deeper": deeper, "deeper_at_end": deeper, "deeper_early": deeper - 0.02,
        "majority": 0.28, "left_chance": 1.0, "opening_order": 0.9, "undefined_order": 0.1,
        "steps_an_operation": 2.0,
    }  # fmt: skip


def changed(model, metrics):
    """As published, but for some metrics of one network."""

    def values(config, seed):
        return as_published(config, seed) | (metrics if config.model == model else {})

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
        (ARITHMETIC, "router-ahead", "+ rel", {"deeper": 0.9}),
        (ARITHMETIC, "router-computes", "NDR", {"deeper": 0.57}),
        (ARITHMETIC, "router-generalizes", "NDR", {"deeper": 0.94}),
        (ARITHMETIC, "router-generalizes", "NDR", {"deeper_early": 0.94}),
        (ARITHMETIC, "router-best", "NDR", {"deeper": 0.8}),
        (ARITHMETIC, "others-fall-short", "Bidirectional LSTM", {"deeper": 0.86}),
        (ARITHMETIC, "all-learn", "+ rel", {"iid": 0.97}),
        (LISTOPS, "router-ahead", "+ rel", {"deeper": 0.9}),
        (LISTOPS, "router-computes", "NDR", {"majority": 0.7}),
        (LISTOPS, "router-generalizes", "NDR", {"deeper": 0.96}),
        (LISTOPS, "gates-in-rank", "+ rel", {"deeper": 0.86}),
        (LISTOPS, "gates-in-rank", "+ abs/rel + gate", {"deeper": 0.995}),
        (LISTOPS, "all-learn", "Bidirectional LSTM", {"iid": 0.96}),
        (LISTOPS, "innermost-first", "NDR", {"opening_order": 0.79}),
    ],
)
def test_every_claim_fails_where_its_statement_does(name, claim, model, bad):
    assert not judged(*results(name, changed(model, bad)), claim).holds


@pytest.mark.parametrize("name", ALL)
def test_without_the_router_claims_about_it_are_not_judged(name):
    study, found = results(name, as_published)
    others = found.where(model="+ rel")
    for claim in study.claims:
        if claim.name not in ("all-learn", "others-fall-short"):
            with pytest.raises(Missing):
                claim.judge(others)


@pytest.mark.parametrize("preset", ["laptop", "paper"])
@pytest.mark.parametrize("name", ALL)
def test_all_figures_are_drawn_and_all_numbers_of_the_paper_are_there(name, preset):
    study, found = results(name, as_published, preset, curve=curves, array=arrays)
    for figure in study.figures:
        assert figure.draw(found).data
    # The rows LSTM and Transformer are in preset paper only.
    compared = set(found.values("model"))
    measured = [row for row in study.beside if row.quantity.split(", ")[0] in compared]
    assert all(len(row.ours(found)) == len(found.seeds) for row in measured)
    assert (len(measured) == len(study.beside)) == (preset == "paper")
    paper = {row.quantity: row.paper.value for row in study.beside}
    expected = {ARITHMETIC: ("200k", 0.98), LISTOPS: ("100k", 0.99)}[name]
    assert paper[f"NDR, deeper expressions, {expected[0]}"] == expected[1]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        (ARITHMETIC, {"+ rel": (128, 256, 4, 11), "NDR": (256, 1024, 4, 15)}),
        (LISTOPS, {"+ rel": (256, 1024, 16, 6), "+ abs/rel + gate": (512, 2048, 16, 20),
                   "NDR": (512, 1024, 16, 20)}),
    ],
)  # fmt: skip
def test_networks_and_tasks_of_the_paper_have_its_sizes(name, sizes):
    found = {t.config["model"]: t.config for t in load(name).trials("paper", seeds=1)}
    assert tuple(found) == expression_trial.MODELS
    for model, expected in sizes.items():
        assert tuple(found[model][k] for k in ("size", "hidden", "heads", "layers")) == expected
    for model, config in found.items():
        assert config["buckets"] == (1 if name == ARITHMETIC and "LSTM" in model else 10)
        assert config["matrix_rate"] is None
        assert (config["b2"], config["warm_up"], config["falls"]) == (0.999, 0, False)
        assert config["match_bias"] == 0
    task = {ARITHMETIC: tasks.SimpleArithmetic(), LISTOPS: tasks.ListOps()}[name]
    module = {ARITHMETIC: arithmetic, LISTOPS: listops_trial}[name]
    study, _ = results(name, as_published, "paper")
    for trial in study.trials("paper", seeds=1):
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in trial.config.items()}
        assert module.task_of(study.config(**fields)) == task
    assert found["NDR"]["extra_layers"] == (4 if name == LISTOPS else 0)


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
    assert [source.batch_size for source in batches.sources] == [config.batch] * 2
    assert seen.vocabulary[-2:] == ("B", "E")
    assert set(tests) == {"iid", "depth_valid", "deeper"}
    assert set(task.depths_of(tests["deeper"]).tolist()) == {4, 5}
    recurrent = dataclasses.replace(config, model="LSTM")
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
    assert recorder.metrics["steps_an_operation"] == pytest.approx(2)
    assert recorder.metrics["undefined_order"] == 0
    heights, steps = recorder.curves["opening_by_height"]
    assert (heights.tolist(), steps.tolist()) == ([1, 2, 3], [0, 2, 4])


def test_heights_that_only_some_seeds_have_are_averaged_over_these():
    study, found = results(LISTOPS, as_published)

    def own(record):
        # Seeds differ in the highest lists that they happen to have.
        heights = np.arange(1.0, 4.0 + record.seed)
        return dataclasses.replace(record, read_curve=lambda _: (heights, heights + record.seed))

    found = dataclasses.replace(found, records=tuple(map(own, found.records)))
    by_height = listops.opening_by_height(found, "NDR")
    assert {h: steps.tolist() for h, steps in by_height.items()} == {
        1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 5], 4: [5, 6], 5: [7],
    }  # fmt: skip
    evidence = judged(study, found, "innermost-first").evidence
    assert evidence["step at which operators open, by height"][4] == 5.5
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


def test_a_network_with_more_layers_in_tests_is_also_tested_as_trained():
    config = listops_trial.Config(**SMOKE, readout="first")
    deeper = dataclasses.replace(config, extra_layers=2)
    for settings, names in ((config, set()), (deeper, {"iid_as_trained", "deeper_as_trained"})):
        recorder = Recorder()
        listops_trial.trial(settings, jax.random.key(0), recorder)
        assert {name for name in recorder.metrics if name.endswith("as_trained")} == names
        assert all(0 <= recorder.metrics[name] <= 1 for name in names)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="steps=10 is not a multiple of every=3"):
        arithmetic.Config(steps=10, every=3)
    with pytest.raises(ValueError, match="every=0 is less than 1"):
        arithmetic.Config(every=0)
    with pytest.raises(ValueError, match="heads=0 is less than 1"):
        arithmetic.Config(heads=0)
    with pytest.raises(ValueError, match="train=0 is less than 1"):
        arithmetic.Config(train=0)
    with pytest.raises(ValueError, match="LSTM is no transformer: it has no readout"):
        arithmetic.Config(model="LSTM", readout="first")
    with pytest.raises(ValueError, match="LSTM is no transformer: it has no extra layers"):
        arithmetic.Config(model="LSTM", extra_layers=2)
    with pytest.raises(ValueError, match="steps=500 end before warm_up=600"):
        arithmetic.Config(steps=500, warm_up=600)
    with pytest.raises(UserError, match="expected 2 values with commas between, got '3'"):
        arithmetic.study.parse(["depths=3"])
    with pytest.raises(ValueError, match="early=11000 is not between"):
        arithmetic.Config(early=11_000)
