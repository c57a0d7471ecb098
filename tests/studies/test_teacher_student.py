"""The teacher-student studies: their training tasks, and every claim can hold and can fail."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine import splits
from recombine.lab import Recorder
from recombine.lab.reference import references
from recombine.lab.registry import load
from recombine.studies.identification import overparameterization, support
from recombine.studies.identification.teacher_student import training_masks, trial

SUPPORT, SIZES = "identification/support", "identification/overparameterization"


def test_rings_of_six_modules_are_those_of_table_a9():
    for name in ("D-conn", "C-conn-1"):
        ring = training_masks(name, 5)
        assert splits.connected_support(ring)
        assert np.array_equal(training_masks(name, 6), splits.TASK_SETS[name].masks)
    assert training_masks("D-conn", 4).shape == (8, 4)
    assert set(training_masks("C-conn-1", 4).sum(axis=1)) == {2}


def test_disconnected_tasks_of_any_number_of_modules_stay_within_halves():
    for name in ("D-disc", "C-disc-1"):
        components = splits.connected_support(training_masks(name, 8)).components
        assert components == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert [set(np.flatnonzero(m)) for m in training_masks("C-disc-1", 4)] == [{0, 1}, {2, 3}]


def test_tasks_of_triples_need_six_modules():
    with pytest.raises(ValueError, match="C-disc-3 has 6 modules; with 4 take D-conn"):
        load(SUPPORT).config(tasks="C-disc-3", modules=4)


def identified(config, seed):
    """The paper's pattern, with a little noise."""
    alignment = 0.99 if config.tasks in support.CONNECTED else 0.6
    ood = 1e-6 if config.tasks in support.CONNECTED else 0.03
    return {"train_loss": 1e-9, "alignment": alignment - 0.001 * seed, "ood_relative": ood}


@pytest.mark.parametrize("claim", [c.name for c in support.study.claims])
def test_every_claim_on_support_can_hold(claim):
    assert judged(*results(SUPPORT, identified), claim).holds


@pytest.mark.parametrize(
    ("claim", "tasks", "change"),
    [
        ("tasks-are-fitted", "C-disc-3", {"train_loss": 1e-5}),
        ("connected-discrete-is-identified", "D-conn", {"alignment": 0.94}),
        ("connected-discrete-is-identified", "D-conn", {"train_loss": 1e-5}),
        ("connected-continuous-is-identified", "C-conn-1", {"alignment": 0.94}),
        ("connected-triples-are-identified", "C-conn-2", {"alignment": 0.89}),
        ("disconnected-discrete-is-not-identified", "D-disc", {"alignment": 0.97}),
        ("disconnected-discrete-is-not-identified", "D-disc", {"train_loss": 1e-5}),
        ("disconnected-continuous-is-not-identified", "C-disc-2", {"alignment": 0.97}),
        ("disconnected-does-not-generalize", "C-disc-1", {"ood_relative": 1e-7}),
        ("pairs-alone-are-not-enough", "D-pairs", {"alignment": 0.96}),
        ("pairs-alone-are-not-enough", "D-pairs", {"ood_relative": 1e-7}),
    ],
)
def test_every_claim_on_support_can_fail(claim, tasks, change):
    seeds = (1,) if claim.startswith(("connected", "tasks", "pairs")) else range(5)

    def broken(config, seed):
        changed = config.tasks == tasks and seed in seeds
        return identified(config, seed) | (change if changed else {})

    assert not judged(*results(SUPPORT, broken), claim).holds


def by_size(config, seed):
    """The paper's pattern: one size is too small, and many are too much on discrete tasks."""
    factor = config.width_factor
    alignment = {1: 0.8, 2: 0.97}.get(factor, 0.95)
    if config.tasks == "D-conn" and factor > 2:
        alignment = 0.75 + 10 * config.weight_decay
    if config.tasks == "D-disc":
        alignment = 0.6
    alignment -= 0.001 * seed
    return {"alignment": alignment, "ood_relative": (1 - alignment) / 10, "train_loss": 1e-7}


@pytest.mark.parametrize("preset", ["laptop", "paper"])
@pytest.mark.parametrize("claim", [c.name for c in overparameterization.study.claims])
def test_every_claim_on_sizes_can_hold(claim, preset):
    assert judged(*results(SIZES, by_size, preset), claim).holds


@pytest.mark.parametrize(
    ("claim", "where", "change"),
    [
        ("disconnected-is-lower", {"tasks": "D-disc"}, {"alignment": 0.88}),
        ("some-room-helps-discrete", {"tasks": "D-conn", "width_factor": 2}, {"alignment": 0.7}),
        ("some-room-helps-continuous", {"tasks": "C-conn-1", "width_factor": 2},
         {"alignment": 0.7}),
        ("discrete-degrades", {"tasks": "D-conn", "width_factor": 8}, {"alignment": 0.92}),
        ("continuous-stays", {"tasks": "C-conn-1", "width_factor": 8}, {"alignment": 0.89}),
        ("loss-mirrors-alignment", {}, {"ood_relative": 0.01}),
        ("weight-decay-does-not-help", {"weight_decay": 1e-3}, {"alignment": 0.85}),
        ("weight-decay-does-not-help", {"width_factor": 8}, {"alignment": 0.95}),
    ],
)  # fmt: skip
def test_every_claim_on_sizes_can_fail(claim, where, change):
    def broken(config, seed):
        hit = all(getattr(config, k) == v for k, v in where.items())
        if claim == "loss-mirrors-alignment":  # larger loss where alignment is higher
            return by_size(config, seed) | {"ood_relative": by_size(config, seed)["alignment"]}
        return by_size(config, seed) | (change if hit else {})

    assert not judged(*results(SIZES, broken), claim).holds


@pytest.mark.parametrize(
    ("tasks", "rule", "seen"), [("D-conn", "persistent", {1}), ("C-conn-1", "reinferred", set())]
)
def test_a_trial_reports_the_loss_on_unseen_mixtures_where_there_are_any(tasks, rule, seen):
    settings = load(SUPPORT).presets["smoke"].settings
    config = replace(load(SUPPORT).config(tasks=tasks, rule=rule), **settings)
    recorder = Recorder()
    trial(config, jax.random.key(0), recorder)
    for k in range(1, 7):
        assert recorder.metrics[f"ood_relative_k{k}"] > 0
        assert (f"ood_relative_k{k}_unseen" not in recorder.metrics) == (k in seen)
    # Some pairs are among the training tasks, no triple is.
    assert recorder.metrics["ood_relative_k2_unseen"] != recorder.metrics["ood_relative_k2"]
    assert recorder.metrics["ood_relative_k3_unseen"] == recorder.metrics["ood_relative_k3"]
    assert 0 < recorder.metrics["alignment"] <= recorder.metrics["alignment_mean"]
    assert recorder.metrics["alignment_mean"] <= recorder.metrics["alignment_max"] <= 1 + 1e-6
    assert recorder.arrays["alignment"].shape == (settings["hidden"],)
    assert (
        recorder.metrics["alignment_generated_by_task"]
        >= recorder.metrics["alignment_generated"] - 1e-6
    )


def test_the_papers_presets_are_its_appendix():
    published = {r.metric: r.value for r in references("identification") if "C.1" in r.artifact}
    for name in (SUPPORT, SIZES):
        study = load(name)
        config = replace(study.config(), **study.presets["paper"].settings)
        assert (config.modules, config.inputs, config.hidden, config.outputs) == tuple(
            published[size] for size in ("M", "n", "h", "o")
        )
        assert config.rule == "reinferred"
        assert config.num_tasks == published["B_outer"]
        assert config.inference_batch == published["B_inner"]
        assert config.steps == published["N_outer"]
        assert config.inference_steps == published["N_inner"]
        assert config.inference_rate == config.final_inference_rate == published["eta_inner"]
        assert config.learning_rate == published["eta_outer_initial"]
        assert config.final_learning_rate == published["eta_outer_final"]


def test_table_a1_is_in_the_papers_preset():
    rows = [r for r in references("identification") if r.artifact == "table-A1"]
    assert len(rows) == 16
    compared = {
        (c["module_factor"], c["width_factor"], c.get("weight_decay", 0.0))
        for c in load(SIZES).presets["paper"].conditions
        if c["tasks"] == "D-conn"
    }
    for m in (16, 32):
        for h in (16, 32):
            for w in overparameterization.STRENGTHS:
                assert overparameterization.table_a1(m, h, w) in rows
                assert (m, h, float(w)) in compared
