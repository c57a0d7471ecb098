"""The studies of CTL++: each claim can hold and can fail, and trials do what they say."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine import tasks
from recombine.lab import Recorder
from recombine.lab.claims import Missing, judge
from recombine.lab.settings import from_plain
from recombine.models import specs
from recombine.studies.ctlpp import overlap, pattern_trial, patterns, representations, symbols
from recombine.studies.ctlpp.pattern_trial import Config, task_of

PATTERNS, OVERLAP = "ctlpp/patterns", "ctlpp/overlap"
REPRESENTATIONS = "ctlpp/representations"


def as_published(config, seed):
    """What Table 6.1 shows."""
    ood = {
        ("bi-lstm", "A"): 0.95, ("ctlpp-transformer", "A"): 0.21, ("ctlpp-ndr", "A"): 0.34,
        ("bi-lstm", "R"): 1.0, ("ctlpp-transformer", "R"): 0.75, ("ctlpp-ndr", "R"): 0.75,
    }[config.model.name, config.variant]  # fmt: skip
    return {"iid": 1.0, "ood": ood, "within": 0.9, "across": 0.8, "rand_index": 0.3}


def changed(values, metrics, **condition):
    """The same, but for some metrics of a condition."""

    def found(config, seed):
        here = all(
            (config.model.name if name == "model" else getattr(config, name)) == value
            for name, value in condition.items()
        )
        return values(config, seed) | (metrics if here else {})

    return found


@pytest.mark.parametrize("claim", [claim.name for claim in patterns.study.claims])
def test_every_claim_on_patterns_holds_on_what_the_paper_shows(claim):
    assert judged(*results(PATTERNS, as_published), claim).holds


@pytest.mark.parametrize(
    ("claim", "metrics", "condition"),
    [
        ("iid-is-learned", {"iid": 0.97}, {"model": "ctlpp-transformer", "variant": "R"}),
        ("the-lstm-generalizes", {"ood": 0.89}, {"model": "bi-lstm", "variant": "A"}),
        ("attention-fails-on-a", {"ood": 0.71}, {"model": "ctlpp-ndr", "variant": "A"}),
        ("no-success-on-a", {"ood": 0.96}, {"model": "ctlpp-transformer", "variant": "A"}),
        ("the-router-fails-on-r", {"ood": 0.91}, {"model": "ctlpp-ndr", "variant": "R"}),
        ("a-is-harder", {"ood": 0.2}, {"model": "ctlpp-transformer", "variant": "R"}),
        (
            "groups-show-in-representations",
            {"across": 0.91},
            {"model": "ctlpp-ndr", "variant": "R"},
        ),
    ],
)
def test_every_claim_on_patterns_fails_where_its_statement_does(claim, metrics, condition):
    assert not judged(*results(PATTERNS, changed(as_published, metrics, **condition)), claim).holds


def test_runs_that_learned_nothing_do_not_count_but_are_reported():
    def one_at_chance(config, seed):
        bad = {"iid": 0.25, "ood": 0.25} if config.model.name == "ctlpp-ndr" and seed == 1 else {}
        return as_published(config, seed) | bad

    study, found = results(PATTERNS, one_at_chance)
    judged_learned = judge(study.claims[0], PATTERNS, found)
    assert judged_learned.verdict == "holds"
    share = judged_learned.evidence["share of runs that learned anything"]
    assert share == pytest.approx(1 - 2 / 18)
    nothing = changed(as_published, {"iid": 0.25}, model="ctlpp-ndr", variant="A")
    with pytest.raises(Missing, match="no NDR with variant=A learned anything"):
        judged(*results(PATTERNS, nothing), "iid-is-learned")


def test_figures_of_patterns_are_drawn():
    def curve(config, name):
        return np.arange(3.0), np.array([0.25, 0.5, 1.0])

    _, found = results(PATTERNS, as_published, curve=curve, array=maps_of)
    assert {"IID test", "OOD test"} <= {t.name for t in patterns.draw_table(found).data}
    assert len(patterns.draw_curves(found).data) > 6
    assert len(patterns.draw_maps(found).data) > 4
    assert patterns.draw_graph(found).data


def as_in_figure_6_4(config, seed):
    return {
        "iid": 1.0,
        "ood": 0.4 + 0.32 * config.overlap / 12 + 0.07 * config.shared * (config.overlap > 0),
    }


@pytest.mark.parametrize("claim", [claim.name for claim in overlap.study.claims])
def test_every_claim_on_overlap_holds_on_what_the_paper_shows(claim):
    assert judged(*results(OVERLAP, as_in_figure_6_4), claim).holds


@pytest.mark.parametrize(
    ("claim", "metrics", "condition"),
    [
        ("iid-is-learned", {"iid": 0.8}, {"overlap": 4}),
        ("overlap-helps", {"ood": 0.71}, {"overlap": 0}),
        ("more-functions-help", {"ood": 0.4}, {"overlap": 12, "shared": 1}),
        ("more-symbols-help", {"ood": 0.5}, {"overlap": 4, "shared": 4}),
        ("only-full-overlap-suffices", {"ood": 1.0}, {"overlap": 12}),
        ("only-full-overlap-suffices", {"ood": 0.99}, {"overlap": 12, "shared": 1}),
        ("only-full-overlap-suffices", {"ood": 0.99}, {"overlap": 0}),
        ("only-full-overlap-suffices", {"ood": 0.97}, {"overlap": 12, "shared": 4}),
    ],
)
def test_every_claim_on_overlap_fails_where_its_statement_does(claim, metrics, condition):
    found = results(OVERLAP, changed(as_in_figure_6_4, metrics, **condition))
    assert not judged(*found, claim).holds


def test_runs_on_overlap_that_learned_nothing_do_not_count():
    def one_at_chance(config, seed):
        bad = {"iid": 0.25, "ood": 0.0} if config.overlap == 12 and seed == 1 else {}
        return as_in_figure_6_4(config, seed) | bad

    (difference,) = judged(*results(OVERLAP, one_at_chance), "overlap-helps").evidence.values()
    assert difference["n"] == 2
    assert difference["mean"] == pytest.approx(0.6)
    for claim in ("more-functions-help", "only-full-overlap-suffices"):
        assert judged(*results(OVERLAP, one_at_chance), claim).holds
    nothing = changed(as_in_figure_6_4, {"iid": 0.25}, overlap=12, shared=4)
    with pytest.raises(Missing, match="no NDR with overlap=12, shared=4 learned anything"):
        judged(*results(OVERLAP, nothing), "overlap-helps")
    assert np.isnan(overlap.draw_sweep(results(OVERLAP, nothing)[1]).data[0].z[1][1])


@pytest.mark.parametrize(("pair", "train"), overlap.TRAIN.items())
def test_every_cell_is_trained_on_about_three_quarters_of_what_can_be_drawn(pair, train):
    few, shared = pair
    config = pattern_trial.Config(overlap=few, shared=shared, train=train, **overlap.MINI)
    task = pattern_trial.task_of(config, 0)
    counts = task.trained.counts(np.asarray(task.lookup.tables), config.longest)
    assert train / (counts.sum() / 2) == pytest.approx(0.75, abs=0.02)


def test_figures_of_overlap_are_drawn_with_gaps_where_nothing_was_run():
    _, found = results(OVERLAP, as_in_figure_6_4)
    (sweep,) = overlap.draw_sweep(found).data
    np.testing.assert_allclose(sweep.z, [[0.47 + 0.32 / 3, 0.68 + 0.32 / 3], [0.79, 1.0]])
    assert overlap.draw_cells(found).data
    assert overlap.draw_graph(found).data
    _, smoke = results(OVERLAP, as_in_figure_6_4, "smoke")
    assert np.isnan(overlap.mean_or_nothing(smoke, 4, 1, "bi-lstm"))
    with pytest.raises(Missing, match="no trial with"):
        judged(*results(OVERLAP, as_in_figure_6_4, "smoke"), "overlap-helps")


def test_every_claim_on_representations_is_judged_by_a_run_of_networks_made_by_hand():
    study, found = by_hand()
    for claim in study.claims:
        finding = claim.check.judge(found)
        # Two seeds are few for what is at chance.
        exact = claim.name in ("two-codes-cluster", "one-code-does-not", "more-alike-within-groups")
        expected = {"holds"} if exact else {"holds", "undecided"}
        assert finding.verdict in expected, (claim.name, finding.evidence)
    by_hand_alone = [f for f in study.figures if not f.name.startswith("trained")]
    for figure in by_hand_alone:
        assert figure.draw(found).data


def by_hand():
    """Trials of preset laptop with tests of 400 items, run in place."""
    from recombine.lab.registry import load
    from recombine.lab.results import Record, Results

    study = load(REPRESENTATIONS)
    records = []
    for trial in study.trials("laptop", seeds=2, overrides={"tested": 400}):
        config, recorder = from_plain(study.config, trial.config), Recorder()
        representations.trial(config, jax.random.key(7 + trial.seed), recorder)
        records.append(
            Record(
                trial.id,
                dict(trial.condition),
                trial.config,
                trial.seed,
                recorder.metrics,
                1,
                0,
                recorder.curves.__getitem__,
                recorder.arrays.__getitem__,
            )
        )
    return study, Results(REPRESENTATIONS, "laptop", {}, tuple(records))


def maps_of(config, name):
    """Eight symbols and four functions, whose clusters are the groups, or half of one."""
    groups = np.array([0, 0, 1, 1])
    codes = np.array([0, 1, 1, 1]) if getattr(config, "network", "") == "half a group" else groups
    readable = np.ones((8, 4, 4), bool)
    # One in eight is chance.
    readable[1:, 0, 2:] = False
    return {
        "groups": groups,
        "clusters": np.stack([codes] * 8),
        "cosines": np.stack([np.equal.outer(codes, codes).astype(float)] * 8),
        "readable": readable,
    }[name]


def exactly(config, seed):
    """What networks made by hand must show."""
    one, noisy = config.network == "one code", config.noise > 0
    same, other = (1.0, 0.125) if config.variant == "R" else (0.125, 1.0)
    if one:
        same = other = 1.0
    half = config.network == "half a group"
    return {
        "iid": 1.0, "ood": 1.0 if one else 0.125, "chance": 0.125, "within": 1.0,
        "across": 1.0 if one else 0.0, "lowest_cosine": 1.0 if one else 0.0,
        "most_clusters": (5 if noisy else 1) if one else 2,
        "mean_clusters": (4 if noisy else 1) if one else 2,
        "rand_index": 0.0 if one else 1.0, "lowest_rand_index": 0.0 if one else 1.0,
        "a_to_a": 1.0 if half else same, "b_to_b": 1.0 if half else same,
        "a_to_b": 0.5 if half else other, "b_to_a": 1.0 if half else other,
    }  # fmt: skip


@pytest.mark.parametrize("claim", [claim.name for claim in representations.study.claims])
def test_every_claim_on_representations_holds_on_exact_numbers(claim):
    assert judged(*results(REPRESENTATIONS, exactly, array=maps_of), claim).holds


@pytest.mark.parametrize(
    ("claim", "metrics", "condition"),
    [
        ("two-codes-cluster", {"lowest_rand_index": 0.9}, {"network": "two codes"}),
        ("one-code-does-not", {"most_clusters": 2}, {"network": "one code", "variant": "A"}),
        ("one-code-does-not", {"lowest_cosine": 0.98}, {"network": "one code"}),
        ("more-alike-within-groups", {"across": 1.0}, {"network": "two codes"}),
        ("only-one-code-generalizes", {"ood": 0.18}, {"network": "two codes"}),
        ("only-one-code-generalizes", {"ood": 0.99}, {"network": "one code"}),
        ("codes-decide-who-reads", {"b_to_a": 0.99}, {"network": "two codes", "variant": "A"}),
        ("codes-decide-who-reads", {"a_to_b": 0.5}, {"network": "two codes", "variant": "R"}),
        ("only-one-code-generalizes", {"ood": 0.0}, {"network": "two codes"}),
        ("codes-decide-who-reads", {"a_to_a": 0.0}, {"network": "two codes", "variant": "A"}),
        ("half-a-group", {"a_to_b": 0.7}, {"network": "half a group"}),
        ("half-a-group", {"b_to_a": 0.9}, {"network": "half a group"}),
        ("noise-makes-clusters", {"rand_index": 0.2}, {"network": "one code", "noise": 0.3}),
        ("noise-makes-clusters", {"lowest_rand_index": 0.9}, {"network": "two codes"}),
    ],
)
def test_every_claim_on_representations_fails_where_its_statement_does(claim, metrics, condition):
    found = results(REPRESENTATIONS, changed(exactly, metrics, **condition), array=maps_of)
    assert not judged(*found, claim).holds


def test_representations_are_of_variants_with_two_groups():
    with pytest.raises(ValueError, match="variant=S has no groups"):
        representations.Config(variant="S")


def test_the_first_25_of_the_runs_that_learned_anything_count():
    def seeds(config, seed):
        # Two in three learn; OOD accuracy says which seed it is.
        return as_published(config, seed) | {"iid": 0.3 if seed % 3 == 0 else 1.0, "ood": seed}

    _, found = results(PATTERNS, seeds, seeds=50)
    counted = patterns.converged(found, "ood", "ctlpp-ndr", variant="A")
    assert counted.tolist() == [seed for seed in range(50) if seed % 3][:25]


def test_compatibility_needs_two_clusters():
    def without(config, name):
        found = maps_of(config, name)
        return 0 * found if name == "clusters" else found

    study, found = results(REPRESENTATIONS, exactly, array=without)
    assert symbols.compatibility(found) is None
    with pytest.raises(Missing, match="two clusters"):
        judged(study, found, "half-a-group")
    _, found = results(REPRESENTATIONS, exactly, array=maps_of)
    half = representations.hand_made(found, "half a group")
    np.testing.assert_allclose(symbols.compatibility(half), [[1, 0.125], [1, 1]])


def test_a_code_that_half_a_group_writes_breaks_no_training_of_a():
    with pytest.raises(ValueError, match="use half a group with variant=R"):
        representations.Config(variant="A", network="half a group")


@pytest.mark.parametrize(
    ("model", "words", "count"),
    # The published transformer holds one number that nothing reads, which ours leaves out.
    [("bi-lstm", 41, 407_816), ("ctlpp-transformer", 42, 155_018 - 1), ("ctlpp-ndr", 42, 673_299)],
)
def test_published_networks_have_the_parameters_of_table_e_1(model, words, count):
    config, _ = published(patterns.study, model)
    sizes = specs.SequenceSizes(words, 8)
    network = jax.eval_shape(lambda key: config.model.build(sizes, key), jax.random.key(0))
    assert sum(leaf.size for leaf in jax.tree.leaves(network)) == count


def configs(study, preset):
    """The settings of all conditions of a preset."""
    return [from_plain(study.config, trial.config) for trial in study.trials(preset, seeds=1)]


def published(study, model):
    """The settings of preset paper for a network."""
    return [config for config in configs(study, "paper") if config.model.name == model]


@pytest.mark.parametrize(
    ("model", "expected", "dropout"),
    [
        ("bi-lstm", (512, 1.5e-4, 0, 5, 80_000), 0.5),
        ("ctlpp-transformer", (512, 1.5e-4, 0.0025, 5, 300_000), 0.1),
        ("ctlpp-ndr", (512, 1.5e-4, 0, 1, 80_000), 0.5),
    ],
)
def test_networks_of_preset_paper_learn_as_the_text_and_the_code_say(model, expected, dropout):
    config, _ = published(patterns.study, model)
    names = ("batch_size", "learning_rate", "weight_decay", "clip", "steps")
    assert tuple(getattr(config, name) for name in names) == expected
    assert config.model.dropout == dropout
    assert (config.b2, config.decays, config.muon_rate) == (0.999, False, None)
    assert config.warmup_steps == 500
    staged = published(overlap.study, model)
    assert len(staged) == 20
    rates = {(c.batch_size, c.learning_rate) for c in staged}
    assert rates == ({(128, 1e-3)} if model == "bi-lstm" else {(512, 1.5e-4)})


@pytest.mark.parametrize(
    ("model", "learning", "sizes"),
    [
        ("bi-lstm", (3e-3, None, 0.999, False, 5, 0, 16_000),
         {"embedding": 256, "units": 128, "dropout": 0.5, "end_token": True, "layers": 1}),
        ("ctlpp-transformer", (1e-3, 3e-3, 0.95, True, 1, 0.0025, 10_000),
         {"width": 128, "hidden": 256, "heads": 4, "layers": 5, "dropout": 0}),
        ("ctlpp-ndr", (1e-3, 3e-3, 0.95, True, 1, 0, 8000),
         {"width": 64, "hidden": 128, "heads": 4, "layers": 5, "test_layers": None,
          "dropout": 0.1}),
    ],
)  # fmt: skip
def test_networks_of_preset_laptop_are_small_and_learn_fast(model, learning, sizes):
    names = ("learning_rate", "muon_rate", "b2", "decays", "clip", "weight_decay", "steps")
    found = [c for c in configs(patterns.study, "laptop") if c.model.name == model]
    assert len(found) == 2
    for config in found:
        assert tuple(getattr(config, name) for name in names) == learning
        assert config.batch_size == 128
        assert {name: getattr(config.model, name) for name in sizes} == sizes


def test_what_the_user_sets_goes_before_what_follows_from_the_network():
    chosen = {"model": "ctlpp-ndr", "model.layers": 3, "learning_rate": 0.1}
    for trial in patterns.study.trials("paper", seeds=1, overrides=chosen):
        spec = trial.config["model"]
        assert (spec["layers"], spec["width"], trial.config["learning_rate"]) == (3, 256, 0.1)


def test_a_network_that_the_paper_does_not_know_is_drawn_without_a_number_of_it():
    def curve(config, name):
        return np.arange(3.0), np.array([0.25, 0.5, 1.0])

    study, found = results(PATTERNS, as_published, curve=curve, array=maps_of)
    own = {"spec": "/somewhere/mine.py:Mine", "sha256": "", "width": 3}

    def renamed(record):
        known = record.config["model"]["spec"] == "ctlpp-ndr"
        return record if known else replace(record, config=record.config | {"model": own})

    found = replace(found, records=tuple(map(renamed, found.records)))
    for figure in study.figures:
        assert figure.draw(found).data
    table = patterns.draw_table(found)
    assert any("mine.py:Mine" in trace.x for trace in table.data)
    assert all(list(t.x) == ["NDR"] for t in table.data if (t.name or "").startswith("paper"))


def test_variants_have_the_same_functions_and_training_of_the_published_size():
    tables = {v: task_of(Config(variant=v), 3).lookup.tables.tolist() for v in "ARS"}
    assert tables["A"] == tables["R"]
    config = Config(**patterns.AS_PUBLISHED)
    task = task_of(config, pattern_trial.seed_of(config, None))
    assert task.trained.counts(np.asarray(task.lookup.tables), 6)[1:].tolist() == [
        256, 4096, 65_536, 1_048_576, 16_777_216, 268_435_456,
    ]  # fmt: skip


def test_stages_are_drawn_by_the_published_estimate_at_preset_paper_alone():
    presets = overlap.study.presets
    assert presets["paper"].settings["estimate_counts"]
    assert not any("estimate_counts" in presets[name].settings for name in ("smoke", "laptop"))
    for estimate_counts in (False, True):
        task = task_of(Config(variant="S", estimate_counts=estimate_counts), 0)
        assert task.estimate_counts == estimate_counts


@pytest.mark.parametrize(
    ("evenness", "counts"), [(0, [4, 16, 100]), (0.5, [20, 40, 100]), (1, [100, 100, 100])]
)
def test_rarer_lengths_are_drawn_more_often_the_more_evenly(evenness, counts):
    lengths = np.repeat([1, 2, 3], [4, 16, 100])
    items = tasks.LabelledSequences(
        np.arange(120)[:, None], lengths, np.zeros(120, int), ("a",) * 121, 2
    )
    drawn = pattern_trial.evened(items, evenness)
    assert np.bincount(drawn.lengths)[1:].tolist() == counts
    times = np.bincount(drawn.tokens[:, 0])
    for length, places in ((n, lengths == n) for n in (1, 2, 3)):
        assert np.ptp(times[places]) <= 1, length


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"steps": 100}, "steps=100 end before warmup_steps=300 are over"),
        ({"steps": 700}, "steps=700 is not a multiple of every=500"),
        ({"every": 0}, "every=0 is less than 1"),
    ],
)
def test_settings_that_make_no_sense_are_named(wrong, says):
    with pytest.raises(ValueError, match=says):
        Config(**wrong)


def test_encoders_begin_at_a_token_of_their_own_and_all_end_in_one():
    for study in (patterns.study, overlap.study):
        for preset in ("smoke", "laptop", "paper"):
            for config in configs(study, preset):
                begins = config.model.name != "bi-lstm"
                assert specs.frame_of(config.model) == (begins, True)
