"""Studies of one family share what they train, and what they keep is what they measured."""

import jax
import numpy as np
import pytest

import recombine
from recombine import probes
from recombine.lab import run_study
from recombine.lab.registry import load
from recombine.lab.run import plan
from recombine.studies.data_router import lookup_trial


def trained(study, preset):
    """The identities of the trials in which networks of a study learn."""
    (planned,) = plan([study], preset)
    return set(planned.needed) or {trial.id for trial in planned.trials}


@pytest.mark.parametrize("preset", ["smoke", "laptop", "paper"])
def test_control_flow_looks_at_the_networks_of_two_other_studies(preset):
    there = trained("data-router/table-lookup", preset) | trained("data-router/parts", preset)
    assert trained("data-router/control-flow", preset) <= there


def test_networks_with_equal_settings_learn_once_in_the_whole_family():
    names = ("table-lookup", "parts", "depth", "control-flow", "readout", "halting")
    found = [trained(f"data-router/{name}", "laptop") for name in names]
    assert sum(map(len, found)) == 120
    assert len(set().union(*found)) == 96


def test_representations_are_those_of_the_networks_of_patterns():
    study = load("ctlpp/representations")
    needed = [study.needed_by(t) for t in study.trials("paper")]
    there = trained("ctlpp/patterns", "paper")
    assert [t is None or t.id in there for t in needed] == [True] * len(needed)
    assert sum(t is not None for t in needed) == 50


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A store with an LSTM that has learned a little, its results, and its settings."""
    settings = {
        "steps": 600, "every": 200, "warmup_steps": 10, "batch_size": 32, "evaluated": 200,
        "learning_rate": 0.01, "muon_rate": None, "model": "lstm", "model.units": 32,
        "direction": "forward",
    }  # fmt: skip
    store = tmp_path_factory.mktemp("learned") / "store"
    results = run_study("data-router/table-lookup", "smoke", store=store, workers=1, **settings)
    return store, results


def test_a_kept_network_is_as_accurate_as_was_recorded(learned):
    store, results = learned
    (record,) = results.records
    network = recombine.load(
        "data-router/table-lookup", seed=0, model="lstm", direction="forward", store=store
    )
    config = lookup_trial.Config(
        **{k: v for k, v in record.config.items() if k in ("symbols", "functions", "longest")},
        direction="forward",
    )
    keys = lookup_trial.keys_of(jax.random.key(0))
    task = lookup_trial.task_of(config, keys.tables)
    frame = recombine.models.specs.frame_of(recombine.models.specs.LSTMSpec())
    lengths = 1, config.longer_lengths[1]

    again = lookup_trial.drawn(task, lengths, frame, 400, key=keys.later)
    found = probes.accuracy_by_length(network, again)
    recorded = record.read_curve("by_length")
    np.testing.assert_array_equal(found.accuracy, recorded[1])

    fresh = lookup_trial.drawn(task, lengths, frame, 4000, key=jax.random.key(99))
    accuracy = probes.is_right(network, fresh).mean()
    before = probes.is_right(network, again).mean()
    one, *_, most = found.accuracy
    assert one > most + 0.2  # one function is learned first
    assert abs(accuracy - before) < 4 * np.sqrt(before * (1 - before) / 400)
