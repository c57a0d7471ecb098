"""Claims and figures of the studies of memories, on results that no trial has measured."""

import numpy as np
import pytest
from made_up import judged, results

from recombine import tasks
from recombine.studies.memory.babi_trial import Config as StoryConfig
from recombine.studies.memory.babi_trial import stories_of
from recombine.studies.memory.bitmap_trial import half_time
from recombine.studies.memory.coverage import COVERAGE, added, lookup_coverage
from recombine.studies.memory.lengths import Config as LengthConfig
from recombine.studies.memory.variants import VARIANTS, networks_in, title, variant

SIZES = {
    "forward": (60, 6),
    "plain_forward": (60, 6),
    "modes": (60, 3),
    "masks": (5, 12),
    "mask": (18, 12),
}


def letters(config):
    model = config.model
    if not hasattr(model, "masks"):
        return None
    on = zip("MDS", (model.masks, model.empties, model.sharpens), strict=True)
    return "".join(letter for letter, chosen in on if chosen)


def curve(config, name):
    count = 10 if name != "by_task" else len(config.tasks)
    rising = np.linspace(0, 0.4, count) * (letters(config) == "")
    return np.arange(1.0, count + 1), rising


def array(config, name):
    return np.linspace(0, 1, int(np.prod(SIZES.get(name, (5, 60))))).reshape(
        SIZES.get(name, (5, 60))
    )


def learns(order):
    """Metrics that are the lower the earlier a variant stands in `order`, with a little noise."""

    def values(config, seed):
        own = letters(config)
        place = order.index(own) if own in order else len(order)
        level = 1 + place + 0.01 * seed
        sharp = "S" in (own or "")
        return {
            "mean_loss": level, "final_loss": level, "untrained_loss": 100.0, "half_time": level,
            "test_bits": 0.001 * place, "test_whole": 0.5, "test_loss": level, "error": level / 10,
            "error_1": 0.01, "solved": 1.0, "masks_apart": 0.5 + 0.01 * seed,
            "masks_correlation": -0.5 + 0.01 * seed, "peak": 0.9 if sharp else 0.4 + 0.01 * seed,
            "reads_forward": 0.8 if sharp else 0.1 + 0.01 * seed,
            "reads_content": 0.1 + 0.01 * seed if sharp else 0.8,
            "more_repeats": level, "more_rows": level, "trained_bits": 0.0,
        }  # fmt: skip

    return values


GOOD = {
    "recall": ("MD", "M", "MDS", "MS", "D", "", "DS", "S"),
    "key-value": ("M", ""),
    "copy": ("DS", "MDS", "D", ""),
    "lengths": ("MDS", "DS", "MD", "D", "MS", "S", "M", ""),
    "babi": ("MD", "MDS", ""),
}
BAD_CLAIMS = {
    "recall": {"masks-lower-the-loss", "masks-learn-sooner", "sharp-links-do-not-help"},
    "key-value": {"masks-lower-the-loss"},
    "copy": {"fixes-learn-faster", "emptying-learns-faster"},
    "lengths": {"sharp-links-copy-longer"},
    "babi": {"fixes-lower-the-error", "masks-and-emptying-are-best"},
}


@pytest.mark.parametrize("name", GOOD)
def test_claims_hold_where_the_thesis_says_so_and_fail_the_other_way_round(name):
    study, found = results(f"memory/{name}", learns(GOOD[name]), curve=curve, array=array)
    for claim in study.claims:
        assert judged(study, found, claim.name).verdict == "holds", claim.name
    backwards = tuple(reversed(GOOD[name]))
    _, found = results(f"memory/{name}", learns(backwards), curve=curve, array=array)
    failed = {c.name for c in study.claims if judged(study, found, c.name).verdict == "fails"}
    assert failed >= BAD_CLAIMS[name]


@pytest.mark.parametrize("name", GOOD)
def test_figures_are_drawn(name):
    study, found = results(f"memory/{name}", learns(GOOD[name]), curve=curve, array=array)
    for figure in study.figures:
        assert figure.draw(found).data, figure.name


def test_claims_on_what_memories_look_like_can_fail():
    def blunt(config, seed):
        flat = {"peak": 0.4, "reads_forward": 0.3, "reads_content": 0.4 + 0.01 * seed}
        same = {"masks_apart": 0.05 + 0.001 * seed, "masks_correlation": 0.95 + 0.001 * seed}
        errors = {"test_bits": 0.2 + 0.01 * seed, "trained_bits": 0.2 + 0.01 * seed}
        masks = {"final_loss": 30.0 * ("M" in (letters(config) or "")) + seed}
        return learns(GOOD["copy"])(config, seed) | flat | same | errors | masks

    def even(config, name):
        x, y = curve(config, name)
        return x, -y - 0.01 * x

    for name, claims in {
        "copy": (
            "sharp-links-have-higher-peaks", "sharp-links-are-followed", "fixes-reach-zero",
            "errors-grow-with-repeats", "masks-add-little",
        ),
        "key-value": ("masks-differ-between-phases", "masks-are-not-alike"),
        "lengths": ("memories-have-learned",),
    }.items():  # fmt: skip
        study, found = results(f"memory/{name}", blunt, curve=even, array=array)
        for claim in claims:
            assert judged(study, found, claim).verdict == "fails", claim


def test_claims_on_mechanisms_hold_and_fail():
    known = {3: (0.25, 1.0), 8: (0.88, 1.0), 16: (0.99, 1.0), 24: (0.999, 1.0)}

    def values(config, seed):
        found = {"kept_weight_1": 0.999, "emptied_above_empty": 0.0, "emptied_weight_1": 0.25,
                 "emptied_weight_0.999": 0.999, "peak_0.05_none_15": 0.11,
                 "peak_0.05_2_15": 0.999, "peak_0.1_2_15": 0.999}  # fmt: skip
        for count, (plain, masked) in known.items():
            found |= {f"plain_found_{count}": plain, f"masked_found_{count}": masked}
        return found

    study, found = results("memory/mechanisms", values)
    assert {judged(study, found, c.name).verdict for c in study.claims} == {"holds"}
    opposite = lambda config, seed: {k: 1 - v for k, v in values(config, seed).items()}  # noqa: E731
    _, found = results("memory/mechanisms", opposite)
    assert {judged(study, found, c.name).verdict for c in study.claims} == {"fails"}
    study, found = results(
        "memory/subspace", lambda c, s: {"answer_change": 0.05 * (c.optimizer == "adam")}
    )
    assert {judged(study, found, c.name).verdict for c in study.claims} == {"holds"}
    _, found = results(
        "memory/subspace", lambda c, s: {"answer_change": 0.05 * (c.optimizer == "sgd")}
    )
    assert {judged(study, found, c.name).verdict for c in study.claims} == {"fails"}


@pytest.mark.parametrize(("wrong", "verdict"), [(0.0, "holds"), (1.0, "fails")])
def test_coverage_is_judged_by_what_was_counted(wrong, verdict):
    study, found = results(
        "memory/coverage", lambda c, s: {"wrong_sums": wrong, "miscounted": wrong}
    )
    assert {judged(study, found, c.name).verdict for c in study.claims} == {verdict}


def test_coverage_counts_items_of_every_size():
    found = COVERAGE["scan-length"]()
    assert found.covered.sum() == 16_990
    assert found.total.sum() == 20_910
    task = tasks.TableLookup(symbols=4, functions=3, alone=1, longest=3)
    sets = task.sets(train=30, iid=5, tests=5, repeats=2)
    found = lookup_coverage(task, sets["train"])
    np.testing.assert_array_equal(found.sizes, [1, 2, 3, 4])
    assert found.covered[0] == 4 * 3  # every composed function alone on every symbol
    assert found.covered[1:3].sum() == 30
    np.testing.assert_array_equal(found.total, [12, 36, 108, 324])
    assert found.miscounted == 0


def test_sums_are_the_same_in_one_step_and_in_many():
    fused, stepwise = added(3, 4)
    assert fused[2, 2, 1, 2] == 7 % 3
    np.testing.assert_array_equal(fused, stepwise)


def test_variants_are_called_as_in_the_thesis():
    assert [title(v) for v in VARIANTS][:3] == ["DNC", "DNC-M", "DNC-D"]
    _, found = results("memory/lengths", learns(GOOD["lengths"]))
    networks = networks_in(found)
    assert list(networks) == [*map(title, VARIANTS), "NDR", "LSTM"]
    for letters_, name in zip(VARIANTS, networks, strict=False):
        assert networks[name] == variant(letters_)
        spec = found.where(**variant(letters_)).records[0].config["model"]
        assert [spec["masks"], spec["empties"], spec["sharpens"]] == [l in letters_ for l in "MDS"]


def test_half_time_is_the_first_step_at_half_of_the_loss_of_guessing():
    steps = np.array([0, 10, 20, 30])
    assert half_time(steps, np.array([30.0, 6.0, 5.0, 7.0]), 10.0) == 20
    assert half_time(steps, np.array([30.0, 9.0, 9.0, 8.0]), 10.0) == 30


def test_stories_of_training_and_test_are_not_the_same():
    config = StoryConfig(tasks=(1, 15), stories=5, tested=3, questions=1)
    train, test = stories_of(config, 7)
    assert [story.task for story in train] == [1] * 5 + [15] * 5
    assert len(test) == 6
    assert not {story.lines for story in train} & {story.lines for story in test}
    assert stories_of(config, 7) == (train, test)


def test_official_stories_are_read_if_they_are_asked_for(monkeypatch):
    text = "1 Mary moved to the bathroom.\n2 Where is Mary?\tbathroom\t1\n"
    monkeypatch.setattr(
        "recombine.data.babi_texts", lambda part: {1: text * (1 + (part == "test"))}
    )
    train, test = stories_of(StoryConfig(tasks=(1,), data="babi"), 0)
    assert (len(train), len(test)) == (1, 2)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: StoryConfig(tasks=(1, 21)), "not numbers from 1 to 20"),
        (lambda: LengthConfig(longer_rows=3), "longer_rows is not more than the 3 of training"),
        (lambda: LengthConfig(steps=7, every=2), "steps=7 is not a multiple"),
    ],
)
def test_settings_that_cannot_be_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
