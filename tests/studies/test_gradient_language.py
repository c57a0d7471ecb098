"""The study of commands: each claim can hold and can fail, and the trial does what it says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import judged, results

from recombine import splits, tasks
from recombine.lab.claims import Missing
from recombine.studies.gradient_resistance import language, language_trial
from recombine.studies.gradient_resistance.language_trial import Config

NAME = "gradient-resistance/language"
STEPS = np.arange(0, 55, 5.0)


def as_published(config, name):
    """What the paper shows: training rises in all settings, and sooner where lines are repeated."""
    repeated = config.setting in ("A", "B-masked")
    one_word = np.where(repeated & (STEPS >= 10), 8.0, 0.0)
    train = 0.4 * STEPS + one_word
    tested = config.setting != "A" and config.setting != "A-dedup"
    test = train - one_word if tested else np.zeros_like(train)
    curves = {"train": train, "test": test, "iid": train, "one_word": one_word, "gap": train - test}
    return STEPS, curves[name] / 100


def metrics(config, seed):
    return {"train": 0.2}


def changed(setting, **curves):
    """As published, but for some curves of a setting, given as functions of them."""

    def curve(config, name):
        steps, values = as_published(config, name)
        if config.setting == setting and name in curves:
            values = curves[name](values)
        return steps, values

    return curve


CLAIMS = [claim.name for claim in language.study.claims]


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_holds_on_what_the_paper_shows(claim):
    assert judged(*results(NAME, metrics, curve=as_published), claim).holds


@pytest.mark.parametrize(
    ("claim", "bad"),
    [
        ("training-leads", changed("A", train=lambda y: 0 * STEPS)),
        ("no-new-combinations", changed("A", test=lambda y: np.where(STEPS == 30, 0.011, 0))),
        ("gap-in-a", changed("A", gap=lambda y: 0.4 * y)),
        ("no-gap-in-b", changed("B-uniform", gap=lambda y: np.where(STEPS == 20, -0.055, 0))),
        ("lead-is-repetition", changed("A-dedup", train=lambda y: y + 0.035)),
    ],
)
def test_every_claim_fails_where_its_statement_does(claim, bad):
    assert judged(*results(NAME, metrics, curve=bad), claim).verdict == "fails"


def test_a_gap_that_only_masked_tests_have_does_not_count():
    study, found = results(NAME, metrics, curve=as_published)
    assert language.shown(found, "gap", "B-masked")[1].max() == pytest.approx(0.08)
    assert judged(study, found, "no-gap-in-b").holds


def test_claims_need_the_steps_that_they_speak_of():
    def short(config, name):
        return STEPS[:2], as_published(config, name)[1][:2]

    missing = {"training-leads": "nothing was measured", "gap-in-a": "no point at 50"}
    for claim, reason in missing.items():
        with pytest.raises(Missing, match=reason):
            judged(*results(NAME, metrics, curve=short), claim)


def test_a_long_run_is_shown_up_to_the_last_step_of_the_figure():
    def long(config, name):
        return 10 * STEPS, as_published(config, name)[1]

    _, found = results(NAME, metrics, curve=long)
    steps, values = language.shown(found, "train", "A")
    assert steps.max() == 50
    assert values.shape == (5, 2)


def test_figures_are_drawn_with_and_without_held_out_commands():
    for preset, curves in (("laptop", 4), ("paper", 3)):
        _, found = results(NAME, metrics, preset, curve=as_published)
        names = {trace.name for trace in language.draw_parts(found).data}
        assert len(names) == curves
        published = language.draw_published(found)
        assert {t.name for t in published.data} >= {"Train A", "Test A", "Train B", "Test B"}


@pytest.mark.parametrize(
    ("setting", "size"),
    [("A", 14_670), ("A-dedup", 13_204), ("B-masked", 14_670), ("B-uniform", 20_910)],
)
def test_settings_have_their_published_sizes(setting, size):
    split = language_trial.split_of(Config(setting, held_out=0), jax.random.key(0))
    assert (split.size("train"), split.size("test")) == (size, 7_706)


def test_settings_keep_the_same_commands_from_training():
    kept = [
        language_trial.split_of(Config(setting), jax.random.key(3)).iid
        for setting in language.SETTINGS
    ]
    assert all((iid == kept[0]).all() for iid in kept)
    assert kept[0].sum() == 500


def test_only_a_asks_for_new_combinations():
    names = list(tasks.scan_commands())

    def combinations(counts):
        """Verb and the rest of commands with one verb, such as (jump, _ around left twice)."""
        for name, count in zip(names, counts, strict=True):
            verb, *rest = name.split()
            if count and not {"and", "after"} & set(rest) and verb != "turn":
                yield verb, " ".join(rest)

    for setting in ("A", "A-dedup", "B-masked", "B-uniform"):
        split = language_trial.split_of(Config(setting), jax.random.key(0))
        train, test = (list(combinations(counts)) for counts in (split.train, split.test))
        assert splits.is_compositional_split(train, test) == (setting[0] == "A")


def test_rows_are_told_apart_by_part():
    parts = language_trial.by_part(np.arange(6), (("train", 3), ("test", 2), ("iid", 1)))
    assert {part: list(rows) for part, rows in parts.items()} == {
        "train": [0, 1, 2], "test": [3, 4], "iid": [5],
    }  # fmt: skip


class Fixed(eqx.Module):
    """A network that is right on all but one symbol of its first line, and greedily on none."""

    def __call__(self, inputs, input_lengths, outputs, output_lengths):
        return jax.nn.one_hot(outputs.at[0, 0].add(1), 7)

    def greedy(self, inputs, input_lengths, steps):
        return jnp.full((len(inputs), steps), 6)


def test_words_are_counted_in_the_part_that_they_belong_to():
    batch = tasks.SequenceBatch(
        jnp.ones((5, 2), int), jnp.full(5, 2), jnp.tile(jnp.array([1, 2, 3, 0]), (5, 1)),
        jnp.full(5, 4),
    )  # fmt: skip
    sizes = (("train", 2), ("test", 2), ("iid", 1))
    found = eqx.filter_jit(language_trial.decoded)(Fixed(), batch, sizes)
    assert {name: float(value) for name, value in found.items()} == {
        "decoded_differently": 4,
        "train_words_forced": 0.875, "test_words_forced": 1, "iid_words_forced": 1,
        "train_words_greedy": 0, "test_words_greedy": 0, "iid_words_greedy": 0,
    }  # fmt: skip


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="steps=50 is not a multiple of every=7"):
        Config(every=7)
