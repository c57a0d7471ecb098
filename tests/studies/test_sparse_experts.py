"""The studies of sparse experts: claims can hold and can fail, and trials are what they say."""

import dataclasses

import jax
import numpy as np
import pytest
from made_up import judged, results, settings_are

from recombine import models, tasks
from recombine.lab import Recorder, UserError
from recombine.lab.registry import load
from recombine.lab.settings import from_plain
from recombine.models import specs
from recombine.studies.sparse_experts import language, language_trial, rows, shared_layers

KEY = jax.random.key(0)
LANGUAGE, USAGE, CHANNELS, RESOURCES, BALANCE, INITIALIZATION, SHARED = ALL = tuple(
    f"sparse-experts/{name}"
    for name in (
        "language", "usage", "channels", "resources", "balance", "initialization", "shared-layers",
    )
)  # fmt: skip
BITS = {
    "top-k": -0.03, "pkm-relu": 0.1, "pkm-softmax": 0.2, "sigma-moe": 0.0, "softmax-before": 0.02,
    "softmax-after": 0.02, "standard-init": 0.03, "largest-experts": 0.04, "switch": 0.06,
    "s-base": 0.01, "no-regularisation": 0.01,
}  # fmt: skip


def noise(config, seed):
    """A little, which differs from seed to seed and from one condition to the next."""
    return 1e-3 * np.sin(7 * seed + len(str(config)))


def of_language(config, seed):
    even = {"switch-released": 0.5, "switch-small": 0.6, "softmax-after": 0.7, "s-base": 0.97}
    evenness = 0.9 + 5 * (config.balance - 1e-3) if config.row == "sigma-moe" else 0.9
    return {
        "bits": 3.3 + BITS.get(config.row, 0.0) + noise(config, seed),
        "evenness": even.get(config.row, evenness) + noise(config, seed),
        "parameters": 281_000.0 + 1000 * (config.row == "dense"),
        "tail": (0.8 if config.row == "s-base" else 0.6) + noise(config, seed),
        "dead": 0.0, "partners": 12.0, "flops": 25.0,
    }  # fmt: skip


def of_channels(config, seed):
    share = 0.1 * 390 / config.model.hidden + noise(config, seed)
    return {
        "share": share, "largest_share": 1.2 * share, "untrained_share": 0.5,
        "active": share * config.model.hidden,
    }  # fmt: skip


def of_resources(config, seed):
    units = config.size * (config.experts if config.layer == "dense" else config.chosen)
    milliseconds = 0.1 * units * config.width / 128 * (1 + noise(config, seed))
    return {"step_ms": milliseconds, "step_megabytes": units * 0.01}


def of_balance(config, seed):
    wide = config.deviation > 1
    found = {
        "raw_least": 0.05, "raw_most": 2.5, "released_least": 0.04 if wide else 0.9,
        "released_most": 1.4 if wide else 1.07, "correct_least": 0.96, "correct_most": 1.06,
    }  # fmt: skip
    found = {name: value + noise(config, seed) for name, value in found.items()}
    return found | {"switch_ratio": 256.0, "experts_squared": 256.0}


def of_initialization(config, seed):
    predicted = 0.5 * (4 / config.experts) ** 0.5
    return {
        "sigma": predicted * (1.02 + noise(config, seed)), "predicted": predicted,
        "standard": predicted * config.experts**0.5,
        "standard_beside_sigma": config.experts**0.5, "root_of_experts": config.experts**0.5,
    }  # fmt: skip


def of_shared(config, seed):
    return {
        "longer": 0.97 + noise(config, seed), "iid": 1.0, "overlap": 0.8 + noise(config, seed),
        "untrained_overlap": 0.82, "expected_overlap": 0.25,
    }  # fmt: skip


VALUES = dict(
    zip(
        ALL,
        (of_language, of_language, of_channels, of_resources, of_balance, of_initialization,
         of_shared),
        strict=True,
    )
)  # fmt: skip
CLAIMS = [(name, c.name) for name in ALL for c in load(name).claims]


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_every_claim_holds_on_what_the_paper_shows(name, claim):
    assert judged(*results(name, VALUES[name]), claim).holds


BAD = [
    (LANGUAGE, "relu-beats-softmax", {"row": "pkm-softmax"}, {"bits": 3.3}),
    (LANGUAGE, "dense-beats-product-keys", {"row": "pkm-relu"}, {"bits": 3.2}),
    (LANGUAGE, "top-k-costs-nothing", {"row": "top-k"}, {"bits": 3.32}),
    (LANGUAGE, "sigma-moe-equals-dense", {"row": "sigma-moe"}, {"bits": 3.334}),
    (LANGUAGE, "sigma-moe-beats-routers", {"row": "s-base"}, {"bits": 3.28}),
    (LANGUAGE, "standard-init-is-worse", {"row": "standard-init"}, {"bits": 3.29}),
    (LANGUAGE, "many-small-experts", {"row": "largest-experts"}, {"bits": 3.29}),
    (LANGUAGE, "switch-needs-its-formula", {"row": "switch-released"}, {"evenness": 0.99}),
    (LANGUAGE, "equal-parameters", {"row": "pkm-relu"}, {"parameters": 300_000.0}),
    (USAGE, "switch-is-less-even", {"row": "switch-small"}, {"evenness": 0.99}),
    (USAGE, "renormalised-softmax-is-less-even", {"row": "softmax-after"}, {"evenness": 0.99}),
    (USAGE, "s-base-has-the-fuller-tail", {"row": "s-base"}, {"tail": 0.5}),
    (USAGE, "no-expert-is-dead", {"row": "sigma-moe"}, {"dead": 0.1}),
    (USAGE, "experts-have-many-partners", {"row": "sigma-moe"}, {"partners": 4.0}),
    (USAGE, "balance-evens-out", {"balance": 0.01}, {"evenness": 0.5}),
    (CHANNELS, "training-makes-sparse", {}, {"share": 0.45}),
    (CHANNELS, "few-channels-are-active", {}, {"largest_share": 0.2}),
    (CHANNELS, "counts-do-not-grow-with-size", {"model.hidden": 780}, {"active": 78.0}),
    (RESOURCES, "flat-in-experts", {"layer": "mixture", "experts": 64}, {"step_ms": 50.0}),
    (RESOURCES, "dense-is-linear", {"layer": "dense", "experts": 64}, {"step_ms": 100.0}),
    (RESOURCES, "faster-from-sixteen-experts", {"layer": "dense", "experts": 16},
     {"step_ms": 12.0}),
    (RESOURCES, "less-memory", {"layer": "mixture", "experts": 64}, {"step_megabytes": 20.0}),
    (BALANCE, "correct-form-balances", {"deviation": 2.0}, {"correct_most": 1.2}),
    (BALANCE, "released-form-does-not", {"deviation": 2.0}, {"released_least": 0.6}),
    (BALANCE, "order-of-forms", {"deviation": 2.0}, {"raw_most": 1.2}),
    (BALANCE, "both-balance-flat-logits", {"deviation": 0.5}, {"released_most": 1.3}),
    (BALANCE, "switch-scalings", {}, {"switch_ratio": 255.0}),
    (INITIALIZATION, "scale-is-predicted", {"experts": 8}, {"sigma": 0.5}),
    (INITIALIZATION, "standard-is-larger", {"experts": 8}, {"standard_beside_sigma": 2.7}),
    (SHARED, "steps-repeat-themselves", {}, {"overlap": 0.4}),
    (SHARED, "training-does-not-part-steps", {}, {"overlap": 0.6}),
    (SHARED, "as-good-as-dense", {"feed_forward": "mixture"}, {"longer": 0.8}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "claim", "where", "bad"), BAD)
def test_every_claim_fails_where_its_statement_does(name, claim, where, bad):
    def values(config, seed):
        there = settings_are(config, where)
        return VALUES[name](config, seed) | (bad if there else {})

    assert judged(*results(name, values), claim).verdict == "fails"


def test_every_claim_is_shown_to_fail():
    assert {(name, claim) for name, claim, *_ in BAD} == set(CLAIMS)


def curve(config, name):
    return np.arange(1, 4.0), np.full(3, 0.5)


def array(config, name):
    if name == "pairs":
        return np.full((2, 16, 16), 1 / 15)
    if name in ("usage", "counts"):
        return np.tile(np.arange(1, 17.0) / 136, (2, 1))
    return np.full(16, 1.0) if name in ("raw", "released", "correct") else np.full(2, 100.0)


@pytest.mark.parametrize("name", ALL)
def test_figures_are_drawn(name):
    study, found = results(name, VALUES[name], curve=curve, array=array)
    for figure in study.figures:
        assert len(figure.draw(found).data) > 0


@pytest.mark.parametrize("name", [LANGUAGE, CHANNELS])
def test_numbers_stand_beside_those_of_the_paper(name):
    study, found = results(name, VALUES[name])
    assert study.beside
    for beside in study.beside:
        assert len(beside.ours(found)) >= 3
    if name == LANGUAGE:
        printed = {b.quantity: b.paper.value for b in study.beside}
        assert printed["PKM, softmax minus dense, bits"] == pytest.approx(0.08)
        assert printed["sigma-MoE minus dense, bits"] == 0


def counted(config, vocabulary):
    spec = dataclasses.replace(config.model, feed_forward=config.feed_forward)
    build = lambda key: spec.build(specs.LanguageSizes(vocabulary), key)  # noqa: E731
    return models.count_parameters(jax.eval_shape(build, KEY))


def configs(preset):
    study = load(LANGUAGE)
    return [from_plain(study.config, trial.config) for trial in study.trials(preset, seeds=1)]


def test_all_rows_of_a_column_have_about_as_many_parameters():
    laptop = {config.row: counted(config, 201) for config in configs("laptop")}
    assert max(laptop.values()) < 1.03 * min(laptop.values())


def test_preset_paper_is_that_of_the_tables():
    found = {(config.column, config.row): config for config in configs("paper")}
    # Tables F.2 and F.3; the published attention holds one number more per layer.
    assert counted(found["E8", "dense"], 205) == 41_234_721 - 12
    assert counted(found["E8", "sigma-moe"], 205) == 41_240_805 - 12
    assert counted(found["WT-S", "pkm-relu"], 8000) == 47_128_408 - 16
    assert counted(found["WT-S*", "sigma-moe"], 8000) == 237_004_376 - 16
    assert counted(found["WT-B", "pkm-relu-by-value"], 8000) == 191_092_580 - 18
    e8, wide = found["E8", "sigma-moe"], found["WT-B", "sigma-moe"]
    assert (e8.balance, e8.feed_forward.expert_dropout, e8.context, e8.streams) == (
        1e-4, 0.05, 512, 32,
    )  # fmt: skip
    assert (wide.warmup_steps, wide.model.dropout, wide.pieces, wide.data) == (
        4000, 0.2, 8000, "wikitext-103",
    )  # fmt: skip
    assert (wide.learning_rate, wide.clip, wide.steps) == (2.5e-4, 0.25, 100_000)
    # Section F.3: as many hidden units in other experts.
    ablations = {"smaller-experts": (256, 64, 8), "larger-experts": (64, 256, 2),
                 "largest-experts": (32, 512, 1), "twice-as-many": (256, 64, 4)}  # fmt: skip
    for row, sizes in ablations.items():
        spec = found["WT-S*", row].feed_forward
        assert (spec.experts, spec.size, spec.chosen) == sizes
    switch = found["WT-S", "switch"]
    assert (switch.balance, switch.feed_forward.chosen, switch.feed_forward.size) == (0.01, 1, 512)


def test_what_usage_and_channels_share_with_language_is_trained_once():
    asked = {
        name: {t.id for t in load(name).trials("laptop")} for name in (LANGUAGE, USAGE, CHANNELS)
    }
    assert len(asked[LANGUAGE] & asked[USAGE]) == 3 * 4
    assert len(asked[LANGUAGE] & asked[CHANNELS]) == 3


def test_every_row_has_a_title_and_builds():
    assert set(rows.MAKERS) == set(rows.TITLES)
    for row, make in rows.MAKERS.items():
        made = make(rows.COLUMNS["laptop"])
        assert isinstance(made, specs.AbstractFeedForwardSpec), row
    assert "dense" not in rows.ROUTED
    assert "base" in rows.ROUTED


def test_a_text_too_short_for_its_segments_gets_one_clear_line():
    config = language_trial.Config(data="generated", test_streams=1000)
    with pytest.raises(UserError, match="the test text: a stream of 6 tokens is shorter than a"):
        language_trial.segments_of(config, language_trial.tokens_of(config).test)


def test_more_chosen_experts_than_there_are_is_refused_before_anything_runs():
    with pytest.raises(UserError, match="chosen=17 is more than there are experts; experts=16"):
        load(LANGUAGE).trials("laptop", overrides={"row": "sigma-moe", "feed_forward.chosen": "17"})


def test_a_missing_corpus_is_named_before_anything_runs(tmp_path, monkeypatch):
    from recombine.lab.data_use import require_data

    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    trials = load(LANGUAGE).trials("laptop", seeds=1)
    with pytest.raises(UserError, match="`recombine data get wikipedia-excerpt`"):
        require_data(trials)


class SameExperts:
    """Stands for a network whose columns choose experts 0 and 1 at every step but the last."""

    class encoder:
        @staticmethod
        def trace(tokens, lengths):
            chosen = np.zeros((3, *tokens.shape, 2), int) + np.array([0, 1])
            chosen[2] += 2
            return {"chosen": jax.numpy.asarray(chosen), "weights": jax.numpy.ones(chosen.shape)}


def test_experts_that_are_chosen_again_are_counted_step_by_step():
    items = tasks.LabelledSequences([[1, 2, 1], [2, 0, 0]], [3, 1], [0, 1], ("", "a", "b"), 2)
    recorder = Recorder()
    config = shared_layers.Config(feed_forward=specs.MixtureSpec(experts=8, size=4, chosen=2))
    shared_layers.report_choices(config, SameExperts(), items, recorder, "")
    np.testing.assert_allclose(recorder.curves["overlap"][1], [1, 0])
    assert recorder.metrics["overlap"] == 0.5
    assert recorder.metrics["expected_overlap"] == 0.25


def test_smoke_rows_are_small():
    study = load(LANGUAGE)
    for trial in study.trials("smoke", seeds=1):
        assert counted(from_plain(study.config, trial.config), 13) < 4000
    assert set(language.PRINTED) <= set(rows.MAKERS)


@pytest.mark.parametrize("row", language.PRINTED)
def test_every_printed_row_is_found_in_the_tables(row):
    assert 1.0 < language.enwik8(row).value < 1.4
