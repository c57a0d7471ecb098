from dataclasses import dataclass, replace
from typing import Literal

import pytest

from recombine.lab import (
    Preset,
    Source,
    Study,
    Trial,
    UserError,
    check_intervals,
    grid,
)
from recombine.lab.study import PRESETS


@dataclass(frozen=True)
class Config:
    """A config."""

    width: int = 4
    """How wide
    it is."""
    rate: float = 0.1
    """How fast."""
    kind: Literal["ring", "random"] = "ring"
    """Which."""
    sizes: tuple[int, ...] = (1, 2)
    """Several."""
    flag: bool = False
    """Whether."""


def walk(config, key, recorder):
    recorder.metric("seed", 1)


def make(**changes) -> Study:
    presets = {
        "smoke": Preset(seeds=1),
        "laptop": Preset(seeds=2, conditions=grid(kind=("ring", "random"), rate=(0.1, 1))),
        "paper": Preset(seeds=2, settings={"width": 9}),
    }
    fields = {
        "name": "family/study",
        "title": "A study",
        "source": Source("A document", "figure 1"),
        "question": "Is it?",
        "config": Config,
        "trial": lambda config, key, run: None,
        "presets": presets,
    }
    return Study(**fields | changes)


def test_a_grid_is_every_combination():
    assert grid(a=(1, 2), b=("x",)) == ({"a": 1, "b": "x"}, {"a": 2, "b": "x"})


def test_steps_are_whole_intervals():
    check_intervals(10, every=5)
    check_intervals(10, every=10, measure_every=1)
    with pytest.raises(ValueError, match="steps=10 is not a multiple of every=4"):
        check_intervals(10, every=4)
    with pytest.raises(ValueError, match="steps=-4 is not a multiple of every=4"):
        check_intervals(-4, every=4)
    with pytest.raises(ValueError, match="measure_every=0 is less than 1"):
        check_intervals(10, every=5, measure_every=0)


def test_trials_are_conditions_times_seeds_with_distinct_stable_identities():
    trials = make().trials("laptop")
    assert len(trials) == 4 * 2
    assert len({t.id for t in trials}) == 8
    assert [t.id for t in trials] == [t.id for t in make().trials("laptop")]


def test_an_identity_depends_on_function_code_config_precision_and_seed():
    base = make().trials("smoke")[0]
    others = [
        make().trials("paper")[0],
        make().trials("smoke", overrides={"width": 5})[0],
        make().trials("smoke", seed_offset=1)[0],
        make(float64=True).trials("smoke")[0],
        make(trial=walk).trials("smoke")[0],
        replace(base, code="other"),
    ]
    assert len({base.id, *(other.id for other in others)}) == 1 + len(others)


def test_an_identity_does_not_depend_on_who_asks():
    one = make(trial=walk)
    other = make(trial=walk, name="family/other", presets={p: Preset(seeds=1) for p in PRESETS})
    assert one.trials("smoke")[0].id == other.trials("paper")[0].id
    same = one.trials("smoke", overrides={"width": 4})[0]  # as it is anyway
    assert one.trials("smoke")[0].id == same.id


def test_functions_without_a_name_are_not_taken_for_one_another():
    assert make().trials("smoke")[0].id != make(name="family/other").trials("smoke")[0].id


def test_an_identity_is_pinned_so_that_stores_stay_valid():
    trial = Trial("family/study", "smoke", {}, {}, {"K": 1}, 3, "study.py:trial", "0123", True)
    assert trial.id == "f5b364e84cb84311c83c"
    assert replace(trial, float64=False).id == "46ee918f9cc67204d4a3"


def test_seed_offset_and_count_choose_the_seeds():
    trials = make().trials("smoke", seeds=3, seed_offset=1000)
    assert [t.seed for t in trials] == [1000, 1001, 1002]


def test_whole_numbers_given_for_reals_make_the_same_trial():
    one, two = (make().trials("smoke", overrides={"rate": r})[0].config for r in (1, 1.0))
    assert one == two
    assert isinstance(one["rate"], float)


def test_an_override_of_a_condition_replaces_its_values():
    trials = make().trials("laptop", seeds=1, overrides={"kind": "ring"})
    assert [t.config["rate"] for t in trials] == [0.1, 1.0]
    assert {t.config["kind"] for t in trials} == {"ring"}


def test_trials_that_differ_in_reals_only_have_one_shape():
    shapes = {t.shape for t in make().trials("laptop")}
    assert len(shapes) == 2


def test_assignments_are_read_with_the_types_of_their_fields():
    parsed = make().parse(["width=7", "rate=1e-3", "kind=random", "sizes=3,4,5", "flag=yes"])
    assert parsed == {
        "width": 7, "rate": 1e-3, "kind": "random", "sizes": (3, 4, 5), "flag": True
    }  # fmt: skip


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("widht=3", "did you mean 'width'"),
        ("width", "name=value"),
        ("width=x", "whole number"),
        ("width=1.5", "whole number"),
        ("rate=fast", "a number"),
        ("kind=rings", "did you mean 'ring'"),
        ("flag=maybe", "true or false"),
    ],
)
def test_a_wrong_assignment_is_named_with_its_remedy(assignment, message):
    with pytest.raises(UserError, match=message):
        make().parse([assignment])


def test_an_unknown_preset_is_named_with_the_nearest():
    with pytest.raises(UserError, match="did you mean 'laptop'"):
        make().trials("labtop")


def test_docstrings_of_fields_are_the_settings_meaning():
    assert make().settings()[0][:3] == ("width", 4, "How wide it is.")


def test_a_study_needs_no_other_presets_than_those_it_has():
    study = make(presets={"smoke": Preset(seeds=1), "cluster": Preset(seeds=2)})
    assert study.default_preset == "cluster"
    assert len(study.trials("cluster")) == 2
    assert make(presets={"smoke": Preset(seeds=1)}).default_preset == "smoke"
    assert make().default_preset == "laptop"
    with pytest.raises(UserError, match="family/study has no preset 'laptop'"):
        study.trials()


def test_a_study_without_a_preset_is_refused():
    with pytest.raises(ValueError, match="has no preset"):
        make(presets={})
