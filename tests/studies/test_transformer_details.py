"""Studies of details of transformers: claims can hold and can fail, and trials do what they say."""

import dataclasses

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine import tasks
from recombine.lab import Diverged, Recorder, UserError
from recombine.lab.conditions import resolve
from recombine.lab.registry import load
from recombine.lab.settings import from_plain
from recombine.models import specs
from recombine.studies.transformer_details import problems, training
from recombine.studies.transformer_details.log_results import MINI_PLACES, MINI_SCAN
from recombine.studies.transformer_details.sizes import SCAN_TRAINED

TRAINED = [
    f"transformer-details/{name}"
    for name in (
        "scan-length", "scales", "early-stopping", "loss-and-accuracy", "variants",
        "double-descent", "convergence", "batch-size",
    )
]  # fmt: skip
SIZES = "transformer-details/sizes"
LOOKS = 11
STEPS = 200.0 * np.arange(LOOKS)
FINAL = {"transformer": 0.3, "universal": 0.4, "relative": 0.7, "relative-universal": 0.9}
SCHEME = {"teu": 0.15, "no-scaling": 0.3}
SMALL_BATCH = {"transformer": 0.5, "universal": 0.6, "relative": 0.8, "relative-universal": 0.9}


def final(config):
    """Accuracy on new combinations, as the paper has it."""
    found = FINAL[config.model.name] - SCHEME.get(config.model.embedding.name, 0)
    return found * (SMALL_BATCH[config.model.name] if config.batch_size == 16 else 1)


def as_published(config, seed):
    return {
        "iid": 0.995, "ood": final(config) + 0.001 * seed, "ood_told": 0.95, "ood_prefix": 0.95,
        "parameters": 1000.0,
    }  # fmt: skip


def curves_as_published(config, name):
    """Familiar pairs are learned at once, new ones slowly, while their loss rises."""
    relative = config.model.name.startswith("relative")
    rise = np.clip(np.arange(LOOKS) / (6 if relative else 10), 0, 1)
    known = np.clip(np.arange(LOOKS) / 3, 0, 1)
    falls_twice = np.array([3, 1, 0.5, 1, 2, 1.5, 1, 0.8, 0.7, 0.6, 0.5])
    return STEPS, {
        "iid": known, "iid_loss": 2 - 1.9 * known, "ood": final(config) * rise,
        "ood_loss": 1 + rise, "ood_free_loss": falls_twice,
    }[name]  # fmt: skip


def arrays_as_published(config, name):
    """Half the pairs are right in the end, with falling losses; those of the others rise."""
    good, looks = np.arange(8) < 4, np.arange(LOOKS)[:, None]
    losses = np.where(good, 3 - 0.2 * looks, 3 + 0.4 * looks)
    symbols = np.arange(3, 11)
    return {"ood_right": good & (looks > 5), "ood_loss": losses, "ood_symbols": symbols}[name]


def otherwise(config, seed):
    shared = 0.9 if config.model.name in ("universal", "relative-universal") else 0.95
    relative = config.model.name.startswith("relative")
    return {
        "iid": 0.7 - SCHEME.get(config.model.embedding.name, 0),
        "ood": (0.6 if relative else shared) * (0.5 if relative and config.batch_size == 16 else 1)
        + (0.05 if config.model.embedding.name == "teu" else 0),
        "ood_told": 0.9, "ood_prefix": 0.9, "parameters": 1.0,
    }  # fmt: skip


def curves_otherwise(config, name):
    """New combinations are learned first and lost again, familiar ones have a rising loss."""
    relative = config.model.name.startswith("relative")
    rise = np.clip(np.arange(LOOKS) / (10 if relative else 2), 0, 1)
    lost = np.where(np.arange(LOOKS) > 8, 0.3, 1) * rise
    known = np.linspace(0, 1, LOOKS)
    best_early = np.where(np.arange(LOOKS) == 2, -1, known)
    return STEPS, {
        "iid": known, "iid_loss": best_early, "ood": lost, "ood_loss": 2 - lost,
        "ood_free_loss": 3 - known,
    }[name]  # fmt: skip


def arrays_otherwise(config, name):
    good, looks = np.arange(8) < 4, np.arange(LOOKS)[:, None]
    losses = np.where(good, 3 + 0.4 * looks, 3 - 0.2 * looks)
    symbols = np.arange(3, 11)
    return {"ood_right": good & (looks > 5), "ood_loss": losses, "ood_symbols": symbols}[name]


NEVER_FALSE = {("loss-and-accuracy", "decomposition")}
"""An identity, which results cannot break."""


@pytest.mark.parametrize("name", TRAINED)
def test_claims_hold_on_results_as_published_and_fail_on_others(name):
    study, found = results(name, as_published, curve=curves_as_published, array=arrays_as_published)
    _, other = results(name, otherwise, curve=curves_otherwise, array=arrays_otherwise)
    for claim in study.claims:
        assert judged(study, found, claim.name).verdict == "holds", claim.name
        if (study.name.partition("/")[2], claim.name) not in NEVER_FALSE:
            assert judged(study, other, claim.name).verdict == "fails", claim.name


@pytest.mark.parametrize("name", TRAINED)
def test_figures_are_drawn(name):
    study, found = results(name, as_published, curve=curves_as_published, array=arrays_as_published)
    for figure in study.figures:
        drawn = figure.draw(found)
        assert drawn.data, figure.name
        for trace in drawn.data:
            assert len(trace.x) == len(trace.y)


@pytest.mark.parametrize("name", TRAINED)
def test_every_preset_has_networks_that_can_be_built(name):
    study = load(name)
    for preset in study.presets.values():
        for case in resolve(study.config, preset, {}):
            config = from_plain(study.config, case.config)
            assert isinstance(config.problem, problems.AbstractProblemSpec)
            assert config.steps % config.every == 0


def test_studies_share_their_trials_at_preset_laptop():
    def configs(name):
        return {repr(trial.config) for trial in load(name).trials("laptop", seeds=1)}

    lengths, variants, scales = map(configs, TRAINED[:1] + TRAINED[4:5] + TRAINED[1:2])
    assert lengths <= variants
    assert configs("transformer-details/loss-and-accuracy") == lengths
    assert configs("transformer-details/early-stopping") <= scales
    assert configs("transformer-details/double-descent") <= variants
    assert configs("transformer-details/convergence") == variants
    assert lengths <= configs("transformer-details/batch-size")
    assert len({load(name).trial for name in TRAINED}) == 1


def test_the_papers_settings_are_those_of_table_c1():
    found = {}
    for trial in load("transformer-details/variants").trials("paper", seeds=1):
        config = from_plain(training.Config, trial.config)
        found.setdefault(config.problem.name, {})[config.model.name] = config
    scan, cogs, pcfg = (found[name]["universal"] for name in ("scan", "cogs", "pcfg"))
    assert (scan.learning_rate, scan.batch_size, scan.clip, scan.steps) == (1e-3, 256, 5, 50_000)
    assert (scan.model.width, scan.model.hidden, scan.model.heads) == (128, 256, 8)
    assert (cogs.learning_rate, cogs.batch_size, cogs.every) == (1e-4, 128, 500)
    assert (pcfg.steps, pcfg.batch_size, pcfg.model.hidden) == (300_000, 64, 2048)
    assert found["mathematics"]["relative"].clip == 0.1
    separate, shared = (found["cfq-mcd1"][name] for name in ("relative", "relative-universal"))
    assert (separate.batch_size, separate.learning_rate) == (4096, 0.9)
    assert (separate.schedule.warmup_steps, shared.schedule.warmup_steps) == (4000, 8000)
    assert (shared.batch_size, shared.learning_rate, shared.model.layers) == (2048, 2.24, 6)


def test_a_trial_logs_every_pair_and_a_crash_ends_it(monkeypatch):
    monkeypatch.setattr(training.probes, "crash", lambda accuracies: 1)
    smoke = load("transformer-details/scan-length").trials("smoke")[0]
    config = from_plain(training.Config, smoke.config)
    recorder = Recorder()
    with pytest.raises(Diverged, match="almost 0 at step 2 and stayed there"):
        training.trial(config, jax.random.key(0), recorder)
    looks = recorder.arrays["steps"]
    np.testing.assert_array_equal(looks, [0, 2, 4])
    for name in ("iid", "ood"):
        symbols = recorder.arrays[f"{name}_symbols"]
        assert len(symbols) == 8
        losses = recorder.arrays[f"{name}_loss"]
        right = recorder.arrays[f"{name}_right"]
        assert losses.shape == right.shape == (3, 8)
        _, curve = recorder.curves[f"{name}_loss"]
        np.testing.assert_allclose(curve, losses.sum(axis=1) / symbols.sum(), rtol=1e-5)
        _, accuracy = recorder.curves[name]
        np.testing.assert_allclose(accuracy, right.mean(axis=1), rtol=1e-5)
        assert recorder.metrics[name] == pytest.approx(accuracy[-1])
        _, free = recorder.curves[f"{name}_free_loss"]
        assert (free > 0).all()
    assert recorder.metrics["parameters"] > 0


def test_accuracy_of_every_kind_is_reported_where_all_pairs_are_looked_at():
    recorder = Recorder()
    pairs = tasks.Translations.of(
        {"ood": [("a", "b")] * 3}, tasks.spaced, kinds={"ood": ("hard", "easy", "hard")}
    )
    training._report_kinds(pairs, np.array([True, True, False]), recorder)
    assert recorder.metrics == {"ood_easy": 1.0, "ood_hard": 0.5}
    training._report_kinds(pairs, np.array([True]), recorder)
    assert len(recorder.metrics) == 2


def test_problems_are_what_they_say():
    scan = problems.built(MINI_SCAN)
    assert [scan.size(part) for part in ("train", "iid", "ood")] == [2695, 299, 576]
    assert scan.longest("train") == (7, 8)
    assert scan.longest("ood")[1] == 12
    small = dataclasses.replace(MINI_PLACES, train=60, iid=9, ood=9)
    places = small.build()
    assert [places.size(part) for part in ("train", "iid", "ood")] == [60, 9, 9]
    pcfg = problems.PCFGSpec(letters=26, indices=1, trained=2, longest=4, train=50, iid=9, ood=9)
    assert pcfg.build().longest("train")[0] < pcfg.build().longest("ood")[0]


def test_settings_that_make_no_sense_are_refused_before_anything_runs(monkeypatch, tmp_path):
    study = load("transformer-details/scan-length")
    with pytest.raises(UserError, match="steps=200 are fewer than the 301"):
        study.trials("laptop", overrides={"steps": 200})
    with pytest.raises(UserError, match="batch_size=0 is less than 1"):
        study.trials("laptop", overrides={"batch_size": 0})
    with pytest.raises(ValueError, match="train=0 is less than 1"):
        problems.PCFGSpec(train=0)
    from recombine.lab.data_use import require_data

    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"cogs is not in .*`recombine data get cogs`"):
        require_data(load("transformer-details/early-stopping").trials("paper", seeds=1))


def counts(change):
    """What the trial of `sizes` counts, with one number changed."""
    from recombine.studies.transformer_details.problems import ScanSpec
    from recombine.studies.transformer_details.sizes import parameters, statistics

    found = dict(parameters())
    found |= {f"SCAN_{name}": n for name, n in statistics(ScanSpec().build()).items()}
    return lambda config, seed: found | change


def trained(changed):
    values = np.array(list(SCAN_TRAINED.values()), float)
    return lambda config, name: (np.array(list(SCAN_TRAINED), float), values + changed)


def test_sizes_are_exact():
    study, found = results(SIZES, counts({}), curve=trained(0))
    for claim in study.claims:
        assert judged(study, found, claim.name).holds, claim.name
    _, other = results(
        SIZES, counts({"SCAN_universal_parameters": 331_000, "SCAN_train": 1}), curve=trained(1)
    )
    for claim in study.claims:
        assert judged(study, other, claim.name).verdict == "fails", claim.name
    assert all(figure.draw(found).data for figure in study.figures)
    ours = {beside.quantity: beside.ours(found)[0] for beside in study.beside}
    assert ours["SCAN, Uni. Trafo, parameters"] == 332_551
    assert len(ours) == 20


def test_specs_of_networks_are_offered_by_name():
    study = load("transformer-details/scan-length")
    (trial,) = study.trials(
        "smoke", seeds=1, overrides={"model": "relative", "model.embedding": "teu"}
    )
    config = from_plain(training.Config, trial.config)
    assert isinstance(config.model, specs.RelativeEncoderDecoderSpec)
    assert isinstance(config.model.embedding, specs.TEUSpec)
