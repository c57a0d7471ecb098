"""The studies of table lookup: claims can hold and can fail, and trials do what they say."""

import contextlib
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine import learning
from recombine._spec import is_spec, spec_name
from recombine.lab import Missing, UserError
from recombine.lab.claims import judge
from recombine.lab.registry import load
from recombine.models import specs
from recombine.studies.data_router import control_flow_trial, lookup_trial
from recombine.studies.data_router.lookup_trial import Config

TABLE, PARTS, DEPTH, FLOW, READOUT, HALTING = ALL = tuple(
    f"data-router/{name}"
    for name in ("table-lookup", "parts", "depth", "control-flow", "readout", "halting")
)
FORWARD_ONLY = ("lstm", "dnc", "relative-gate")
EVERYWHERE = ("bi-lstm", "position-gate", "ndr")


def accuracy(config):
    """What the paper shows of longer inputs."""
    forward, name = config.direction == "forward", config.model.name
    if getattr(config.model, "halting", None) is not None:
        return 0.95 if forward else 0.2
    if name == "ndr" and config.model.layers < config.longer_lengths[1] + 2:
        return 0.7 if config.model.layers >= config.longer_lengths[0] else 0.24
    if name in FORWARD_ONLY:
        reads_last = getattr(config.model, "reads", "last") == "last"
        return 0.98 if forward == reads_last else 0.25
    return 0.99 if name in EVERYWHERE else 0.2


def as_published(config, seed):
    longer = accuracy(config)
    return {
        "iid": 1.0, "longer": longer, "longer_at_end": longer, "left_chance": 1.0,
        "opening_order": 0.97, "undefined_order": 0.0, "steps_per_function": 1.0,
        "reads_argument": 0.95, "untrained_reads_argument": 0.7,
    }  # fmt: skip


def setting(config, name):
    """A setting by its full name; of a spec, its name."""
    value = config
    for word in name.split("."):
        value = getattr(value, word, None)
    return spec_name(value) if is_spec(value) else value


def changed(metrics, settings):
    """As published, but for some metrics of the trials with these settings."""

    def values(config, seed):
        fits = all(setting(config, name) == value for name, value in settings.items())
        return as_published(config, seed) | (metrics if fits else {})

    return values


def curves(config, name):
    x = np.arange(1, 9.0)
    return x, {"steps_by_length": 2 + x}.get(name, np.full(8, 0.5))


def arrays(config, name):
    steps, length = 4, 11
    shapes = {"attention": (steps, 1, length, length), "gates": (steps, length, 3)}
    return np.array(list("BhgfedcbaxE")) if name == "words" else np.full(shapes[name], 0.5)


CLAIMS = [(name, c.name) for name in ALL for c in load(name).claims]


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_every_claim_holds_on_what_the_paper_shows(name, claim):
    assert judged(*results(name, as_published, curve=curves), claim).holds


@pytest.mark.parametrize(
    ("name", "claim", "bad"),
    [
        (TABLE, "router-generalizes", {"model": "ndr", "direction": "forward", "longer": 0.94}),
        (TABLE, "router-ahead", {"model": "relative", "direction": "backward", "longer": 0.6}),
        (TABLE, "relative-transformer-fails", {"model": "relative", "longer": 0.51}),
        (PARTS, "ungated-transformers-fail", {"model": "geometric", "longer": 0.51}),
        (TABLE, "gates-fail-backward", {"model": "relative-gate", "longer": 0.7}),
        (TABLE, "gates-need-forward", {"model": "relative-gate", "longer": 0.7}),
        (PARTS, "mixed-positions-generalize", {"model": "position-gate", "longer": 0.9}),
        (TABLE, "lstm-needs-forward", {"model": "lstm", "direction": "backward", "longer": 0.5}),
        (TABLE, "lstm-needs-forward", {"model": "lstm", "direction": "forward", "longer": 0.9}),
        (TABLE, "bidirectional-generalizes", {"model": "bi-lstm", "longer": 0.9}),
        (DEPTH, "enough-layers", {"model.layers": 10, "longer_at_end": 0.89}),
        (DEPTH, "too-few-layers", {"model.layers": 6, "longer_at_end": 0.61}),
        (DEPTH, "too-few-layers", {"model.layers": 6, "iid": 0.89}),
        (DEPTH, "falls-with-layers", {"model.layers": 4, "longer_at_end": 0.3}),
        (FLOW, "columns-open-in-order", {"direction": "forward", "opening_order": 0.9}),
        (FLOW, "one-column-a-step", {"model": "ndr", "steps_per_function": 0.7}),
        (FLOW, "columns-read-their-argument", {"model": "ndr", "reads_argument": 0.89}),
        (FLOW, "columns-read-their-argument", {"model": "ndr", "untrained_reads_argument": 0.96}),
        (READOUT, "direction-turns-round", {"model.reads": "first", "longer": 0.9}),
        (READOUT, "direction-turns-round", {"model.reads": "last", "longer": 0.9}),
        (HALTING, "halting-helps-forward", {"model.halting": None, "longer": 0.8}),
        (HALTING, "halting-fails-backward", {"model.halting.decaying": True, "longer": 0.51}),
    ],
)  # fmt: skip
def test_every_claim_fails_where_its_statement_does(name, claim, bad):
    fields = Config.__dataclass_fields__
    settings = {k: v for k, v in bad.items() if k.partition(".")[0] in fields}
    metrics = {k: v for k, v in bad.items() if k not in settings}
    values = changed(metrics, settings)
    assert not judged(*results(name, values, curve=curves), claim).holds


def test_steps_that_do_not_grow_are_seen():
    def flat(config, name):
        return np.arange(1, 9.0), np.full(8, 4.0)

    assert not judged(*results(HALTING, as_published, curve=flat), "steps-grow").holds


def test_runs_that_never_left_chance_are_counted():
    values = changed({"left_chance": 0.0}, {"model": "relative", "direction": "backward"})
    study, found = results(TABLE, values)
    claim = next(c for c in study.claims if c.name == "router-ahead")
    assert judge(claim, TABLE, found).evidence["share of runs that left chance of + rel"] == 0.5


def test_a_table_without_enough_layers_says_so():
    study, found = results(DEPTH, as_published)
    few = found.where(**{"model.layers": 4})
    for claim in ("enough-layers", "too-few-layers"):
        with pytest.raises(Missing, match="no network with"):
            judged(study, few, claim)


def has(row, found):
    try:
        return row.ours(found) is not None
    except Missing:
        return False


@pytest.mark.parametrize("preset", ["laptop", "paper"])
@pytest.mark.parametrize("name", ALL)
def test_all_figures_are_drawn_and_all_numbers_of_the_paper_are_there(name, preset):
    study, found = results(name, as_published, preset, curve=curves, array=arrays)
    for figure in study.figures:
        assert figure.draw(found).data
    assert all(0 <= row.paper.value <= 1 for row in study.beside)
    measured = [row for row in study.beside if has(row, found)]
    assert all(len(row.ours(found)) == found.seeds[-1] + 1 for row in measured)
    # Some rows of the paper are in preset paper only.
    assert preset == "laptop" or len(measured) == len(study.beside)
    assert measured or name == FLOW


@pytest.mark.parametrize("name", [TABLE, PARTS, DEPTH, READOUT, HALTING])
def test_networks_of_the_paper_have_its_sizes(name):
    found = load(name).trials("paper", seeds=1)
    specs_found = [t.config["model"] for t in found]
    sizes = {(m["spec"], m.get("width"), m.get("hidden")) for m in specs_found}
    expected = {
        "transformer": (128, 256), "relative": (128, 256), "geometric": (128, 256),
        "ndr": (256, 512), "relative-gate": (256, 1024), "position-gate": (256, 1024),
    }  # fmt: skip
    recurrent = {"lstm", "bi-lstm", "dnc"}
    assert {size for size in sizes if size[0] not in recurrent} <= {
        (model, *size) for model, size in expected.items()
    }
    assert len(sizes) == len({model for model, *_ in sizes})
    assert all(t.config["published"] and t.config["symbols"] == 8 for t in found)


def test_networks_of_one_seed_have_the_same_tables_and_seeds_have_their_own():
    def tables(seed, **settings):
        task = lookup_trial.task_of(Config(**settings), jax.random.key(seed))
        assert (np.sort(task.lookup.tables, axis=1) == np.arange(6)).all()
        return np.asarray(task.lookup.tables)

    assert (tables(0) == tables(0, model=specs.LSTMSpec(), direction="forward")).all()
    assert (tables(0) != tables(1)).any()


def test_published_items_are_measured_in_proportion_to_their_lengths():
    config = Config(
        model=specs.LSTMSpec(), published=True, symbols=8, functions=9, valid_lengths=(6, 8),
        longer_lengths=(9, 10),
    )  # fmt: skip
    task = lookup_trial.task_of(config, jax.random.key(0))
    data = lookup_trial.data_of(config, task, jax.random.key(1))
    everything = np.concatenate(
        [np.asarray(source.data.lengths) for source in data.batches.sources]
    )
    measured = np.asarray(data.seen.lengths)
    assert len(everything) == 53_704
    assert 0.9 * config.evaluated <= len(measured) <= config.evaluated
    shares = [np.bincount(x, minlength=7) / len(x) for x in (measured, everything)]
    np.testing.assert_allclose(*shares, atol=0.02)


def test_fresh_batches_are_of_one_range_of_lengths():
    config = Config(buckets=2, evaluated=10)
    task = lookup_trial.task_of(config, jax.random.key(0))
    batches, _, tests = lookup_trial.data_of(config, task, jax.random.key(1))
    assert batches.shares.tolist() == [3, 2]
    for source, (low, high) in zip(batches.sources, ((1, 3), (4, 5)), strict=True):
        functions = np.asarray(source(jnp.asarray(0), jax.random.key(2)).lengths) - 3
        assert len(functions) == config.batch_size
        assert set(functions) == set(range(low, high + 1))
    for name, (low, high) in {"iid": (1, 5), "depth_valid": (6, 6), "longer": (7, 8)}.items():
        functions = np.asarray(tests[name].lengths) - 3
        assert low <= functions.min() <= functions.max() <= high


def flow(direction, *, gated):
    """What columns that open one step after another, and read their argument, do."""
    letters = list("abc")
    sentence = (
        ["B", "0", *letters, "E"] if direction == "forward" else ["B", *letters[::-1], "0", "E"]
    )
    length, steps = len(sentence), 5
    attention, gates = np.full((steps, 2, 1, length, length), 0.1), np.zeros((steps, 2, length, 2))
    side = -1 if direction == "forward" else 1
    for distance, letter in enumerate(letters, start=1):
        place = sentence.index(letter)
        attention[distance - 1, :, :, place, place + side] = 0.9
        gates[distance - 1, :, place] = 1
    return control_flow_trial.flow_of(
        [sentence] * 2, ("0", "1"), tuple(letters), attention, gates if gated else None
    )


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_columns_that_open_in_turn_and_read_their_argument_are_recognised(direction):
    found = flow(direction, gated=True)
    assert found.reads.all()
    assert control_flow_trial.orders(found) == pytest.approx(1)
    assert (found.opening == found.distances - 1).all()
    without = flow(direction, gated=False)
    assert without.opening is None
    assert without.reads.all()


def test_columns_that_open_together_have_no_order():
    found = flow("forward", gated=True)._replace(opening=np.zeros((2, 3), int))
    assert np.isnan(control_flow_trial.orders(found)).all()


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="steps=10 is not a multiple of every=3"):
        Config(steps=10, every=3)
    with pytest.raises(ValueError, match="buckets=6 is not between 1 and longest=5"):
        Config(buckets=6)


def test_settings_that_a_network_does_not_have_are_refused():
    for name in ("model.reads=first", "model.halting=adaptive-time"):
        study = load(TABLE)
        with pytest.raises(UserError, match=r"no setting 'model\..* of lstm"):
            study.trials("smoke", overrides=study.parse(["model=lstm", name]))


def test_columns_that_halt_pay_for_their_time():
    halting = specs.HaltingSpec()
    assert lookup_trial.objective_of(Config()) is learning.label_loss
    for padding in (False, True):
        config = Config(
            model=specs.RelativeTransformerSpec(halting=halting), ponder=0.1, ponder_padding=padding
        )
        objective = lookup_trial.objective_of(config)
        assert (objective.weight, objective.padding) == (0.1, padding)


@pytest.mark.parametrize(
    ("spec", "functions"),
    [(specs.NDRSpec(), 3), (specs.LSTMSpec(), 5), (specs.BiLSTMSpec(end_token=True), 4)],
)
def test_functions_are_counted_without_symbol_and_frame(spec, functions):
    learned = lookup_trial.Learned(None, None, specs.frame_of(spec), None)
    assert learned.functions([6]) == functions


def with_stranger(name, preset="laptop"):
    """Results in which the first network is one that no paper knows."""
    study, found = results(name, as_published, preset, curve=curves, array=arrays)
    first = found.records[0].config["model"]["spec"]

    def renamed(record):
        if record.config["model"]["spec"] != first:
            return record
        own = {"spec": "/somewhere/mine.py:Mine", "sha256": "", "width": 3}
        return dataclasses.replace(record, config=record.config | {"model": own})

    return study, dataclasses.replace(found, records=tuple(map(renamed, found.records)))


@pytest.mark.parametrize("name", [TABLE, PARTS])
def test_a_network_that_the_paper_does_not_know_is_drawn_without_a_number_of_it(name):
    study, found = with_stranger(name)
    table = study.figures[0].draw(found)
    drawn = {str(x) for trace in table.data if trace.x is not None for x in trace.x}
    assert "mine.py:Mine" in drawn
    of_paper = [t for t in table.data if "paper" in (t.name or "")]
    assert of_paper
    assert all("mine.py:Mine" not in trace.x for trace in of_paper)
    for figure in study.figures:
        assert figure.draw(found).data


@pytest.mark.parametrize("name", [HALTING, READOUT, FLOW, DEPTH])
def test_figures_are_drawn_whatever_networks_there_are(name):
    study, found = with_stranger(name, "paper")
    for figure in study.figures:
        with contextlib.suppress(Missing):
            figure.draw(found)
