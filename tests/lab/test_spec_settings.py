"""Settings that are specs: how they are set, written down, read again, selected and shown."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from recombine._spec import AbstractSpec, known_specs, spec_name
from recombine.lab import Preset, UserError, grid
from recombine.lab.registry import load
from recombine.lab.settings import canonical, from_plain, is_same_spec, plain
from recombine.lab.study import in_words

FILE = str(Path(__file__).parent / "spec_study.py")
study = load(FILE)
module = __import__("sys").modules[study.config.__module__]
Router, Recurrent, Softmax, Nearest, Config = (
    module.Router, module.Recurrent, module.Softmax, module.Nearest, module.Config,
)  # fmt: skip

OWN = '''
from dataclasses import dataclass

@dataclass(frozen=True)
class Own:
    """A network that no study knows."""
    width: int = 6
    """Units."""
    gain: float = 2

    def build(self, sizes, key):
        return sizes * self.gain

@dataclass(frozen=True)
class OwnScores:
    slope: float = 1.0

    def build(self, sizes, key):
        return self.slope
'''


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own_network.py"
    file.write_text(OWN)
    return file


def made(*assignments, preset="laptop", of=study):
    """The configs that a run with these assignments has, one per condition, in JSON."""
    return [t.config for t in of.trials(preset, seeds=1, overrides=of.parse(assignments, preset))]


def labels(*assignments, preset="laptop", of=study):
    return [t.label for t in of.trials(preset, seeds=1, overrides=of.parse(assignments, preset))]


# Names


def test_the_specs_of_a_kind_are_known_by_name_without_the_abstract_ones():
    assert known_specs(module.AbstractNetwork) == {"lstm": Recurrent, "router": Router}
    assert set(known_specs(module.AbstractScores)) == {"softmax", "nearest"}
    assert spec_name(Router(layers=3)) == "router"


def test_two_specs_of_one_name_are_refused():
    class AbstractTwin(AbstractSpec):
        pass

    def twin():
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Twin(AbstractTwin):
            def build(self, sizes, key):
                return None

        return Twin

    kept = [twin(), twin()]
    with pytest.raises(ValueError, match="two specs are called 'twin'"):
        known_specs(AbstractTwin)
    assert kept


# JSON


def test_a_spec_is_written_with_its_name_and_its_fields_in_depth():
    written = plain(Config(model=Router(layers=3)))["model"]
    assert written == {
        "spec": "router", "width": 4, "layers": 3, "halting": None, "shares": [0.5, 0.5],
        "scores": {"spec": "nearest", "dropout": 0.2, "bias": -2.0},
    }  # fmt: skip


def test_what_is_written_is_read_again():
    config = Config(
        model=Router(width=6, scores=Softmax(0.3), halting=Nearest(bias=1.0), shares=(1.0,)),
        sizes=(4,),
    )
    assert from_plain(Config, json.loads(canonical(plain(config)))) == config


def test_equal_specs_have_one_spelling():
    one, two = Config(model=Router(scores=Nearest(1, -2))), Config(
        model=Router(scores=Nearest(1.0, -2.0), shares=[0.5, 0.5])
    )  # fmt: skip
    assert canonical(plain(one)) == canonical(plain(two))
    assert '"dropout":1.0' in canonical(plain(one))


def test_an_optional_spec_may_be_none():
    assert made("model=router", "direction=forward", "model.halting=none")[0]["model"][
        "halting"
    ] is None  # fmt: skip
    (config,) = made("model=router", "direction=forward", "model.halting=softmax")
    assert config["model"]["halting"] == {"spec": "softmax", "dropout": 0.1}


# Setting


def test_a_spec_is_set_by_name_and_its_fields_by_theirs():
    (config,) = made(
        "model=router", "direction=forward", "model.width=8", "model.scores=softmax",
        "model.scores.dropout=0.4", "model.shares=1,2,3",
    )  # fmt: skip
    assert config["model"]["width"] == 8
    assert config["model"]["scores"] == {"spec": "softmax", "dropout": 0.4}
    assert config["model"]["shares"] == [1.0, 2.0, 3.0]


def test_the_order_of_assignments_does_not_matter():
    words = [
        "model=router",
        "direction=forward",
        "model.scores=softmax",
        "model.scores.dropout=0.4",
    ]
    one, two = (
        study.trials(seeds=1, overrides=study.parse(order)) for order in (words, words[::-1])
    )
    assert [t.id for t in one] == [t.id for t in two]


def test_fields_of_a_spec_change_together():
    """A state in between, with one field changed and not the other, need not be valid."""

    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Pair:
        low: int = 1
        high: int = 2

        def __post_init__(self):
            if self.low >= self.high:
                raise ValueError("low is not below high")

        def build(self, sizes, key):
            return None

    from recombine.lab.settings import changed

    config, applied = changed(Config(model=Pair()), {"model.low": 5, "model.high": 9})
    assert config.model == Pair(5, 9)
    assert applied == {"model.low", "model.high"}


def test_whole_numbers_given_for_reals_of_a_spec_make_the_same_trial():
    one, two = (
        study.trials(seeds=1, overrides=study.parse(["model.scores.dropout=" + text]))
        for text in ("1", "1.0")
    )
    assert [t.id for t in one] == [t.id for t in two]


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["model=ruoter"], "no spec 'ruoter': did you mean 'router'"),
        (["model=Router"], "did you mean 'router'"),
        (["model=router", "model.layer=3"], "did you mean 'model.layers'"),
        (["model=lstm", "model.layers=3"], "no setting 'model.layers' of lstm"),
        (["model.scores.dropuot=3"], "did you mean 'model.scores.dropout'"),
        (["model.scores=softmx"], "did you mean 'softmax'"),
        (["model.width.deep=3"], "model.width has no settings of its own"),
        (["model.layers=many"], "model.layers=many: expected a whole number"),
        (["model=router", "model.width=3"], "model: width=3 is odd"),
        (["modle.layers=3"], "did you mean 'model'"),
        (["rate=0.1,0.2"], "expected a number.*several values are for axes: model, direction"),
        (["model=nosuch.py:Own"], "no file nosuch.py"),
    ],
)
def test_a_wrong_spec_is_named_with_its_remedy(assignments, message):
    with pytest.raises(UserError, match=message) as caught:
        study.trials(seeds=1, overrides=study.parse(assignments))
    assert "\n" not in str(caught.value)


# Conditions


def test_an_override_of_the_axes_leaves_one_trial_per_seed():
    trials = study.trials(overrides=study.parse(["model=router", "direction=forward"]))
    assert [t.seed for t in trials] == [0, 1, 2]


def test_what_depends_on_a_condition_follows_from_the_axes_as_the_user_sets_them():
    router, lstm = made("direction=backward")
    assert (router["steps"], router["rate"], router["model"]["layers"]) == (20, 0.1, 6)
    assert (lstm["steps"], lstm["rate"]) == (20, 0.5)
    (one,) = made("model=lstm", "direction=forward")
    assert (one["steps"], one["rate"]) == (10, 0.5)


def test_what_the_user_sets_is_above_what_depends_on_a_condition():
    (one,) = made("model=router", "direction=backward", "steps=7", "model.layers=3")
    assert (one["steps"], one["model"]["layers"]) == (7, 3)


def test_a_condition_is_above_what_depends_on_it_and_this_above_the_settings_of_the_preset():
    preset = Preset(
        seeds=1,
        conditions=({"model": Router(layers=3)}, {"model": "router"}, {"model": "lstm"}),
        settings={"rate": 9.0, "model.layers": 5, "model.width": 12, "steps": 3},
        depends=lambda condition: {"rate": 8.0, "model.layers": 4},
    )
    three, four, lstm = made(of=replace(study, presets=study.presets | {"laptop": preset}))
    assert [c["model"]["layers"] for c in (three, four)] == [3, 4]
    assert {c["model"]["width"] for c in (three, four, lstm)} == {12}
    assert {(c["rate"], c["steps"]) for c in (three, four, lstm)} == {(8.0, 3)}


def test_several_values_of_an_axis_are_conditions():
    assert labels("model=router", "direction=forward,backward") == [
        "model=router, direction=forward", "model=router, direction=backward",
    ]  # fmt: skip
    assert len(made("model=lstm,router", "direction=backward")) == 2
    assert len(made("model=lstm,router", "direction=backward,sideways")) == 4


def test_a_tuple_keeps_its_commas():
    assert {tuple(c["sizes"]) for c in made("sizes=3,4,5")} == {(3, 4, 5)}


def test_several_values_of_what_is_no_axis_are_refused():
    with pytest.raises(UserError, match=r"rate has one value.*axes are direction, model"):
        study.trials(overrides={"rate": (0.1, 0.2)})


def test_a_field_of_a_spec_is_set_wherever_there_is_one():
    configs = made("model.layers=12", "direction=forward")
    assert [c["model"].get("layers") for c in configs] == [12, None]
    assert labels("model.layers=12", "direction=forward") == [
        "model=router, model.layers=12, direction=forward", "model=lstm, direction=forward",
    ]  # fmt: skip


def test_a_spec_chosen_by_name_is_the_one_that_the_preset_has():
    (config,) = made("model=router", preset="paper")
    assert config["model"]["width"] == 16
    assert config["model"]["scores"]["spec"] == "softmax"
    (config,) = made("model=router", preset="smoke")
    assert config["model"]["width"] == 2


def test_a_spec_of_another_class_takes_nothing_from_the_one_that_it_replaces():
    preset = Preset(seeds=1, settings={"model": Router(width=10)})
    (config,) = made("model=lstm", of=replace(study, presets=study.presets | {"laptop": preset}))
    assert config["model"] == {"spec": "lstm", "width": 8}


def test_an_instance_is_its_name_and_the_fields_that_differ():
    (one,) = study.trials(seeds=1, overrides={"model": Router(layers=3), "direction": "forward"})
    words = ["model=router", "model.layers=3", "direction=forward"]
    (two,) = study.trials(seeds=1, overrides=study.parse(words))
    assert one.id == two.id
    assert one.overrides == {"model": "router", "model.layers": 3, "direction": "forward"}
    assert one.label == "model=router, model.layers=3, direction=forward"


def test_several_instances_are_conditions_and_survive_the_store():
    chosen = {"model": [Router(), Router(layers=3, scores=Softmax(0.3))], "direction": "forward"}
    trials = study.trials(seeds=1, overrides=chosen)
    assert [t.config["model"]["layers"] for t in trials] == [6, 3]
    again = study.trials(seeds=1, overrides=json.loads(canonical(trials[0].overrides)))
    assert [t.id for t in again] == [t.id for t in trials]


def test_overrides_survive_the_store():
    for words in (["model.layers=3"], ["model=lstm,router"], ["model.shares=1,2", "sizes=3,4"]):
        trials = study.trials(seeds=1, overrides=study.parse(words))
        again = study.trials(seeds=1, overrides=json.loads(canonical(trials[0].overrides)))
        assert [t.id for t in again] == [t.id for t in trials]


def test_conditions_show_specs_by_name_and_the_fields_that_they_set():
    assert labels(preset="paper") == [
        "model=router, model.width=16, model.scores=softmax", "model=lstm, model.width=64",
    ]  # fmt: skip
    assert labels()[0] == "model=router, direction=forward"


@pytest.mark.parametrize(
    "preset",
    [
        Preset(seeds=1, settings={"model.layres": 3}),
        Preset(seeds=1, conditions=({"model.layres": 3},)),
        Preset(seeds=1, depends=lambda condition: {"model.layres": 3}),
        Preset(seeds=1, settings={"model.layers": 3}, conditions=grid(model=("lstm",))),
        Preset(seeds=1, settings={"nosuch": 3}),
    ],
)
def test_a_preset_with_settings_that_nothing_has_is_refused(preset):
    with pytest.raises(UserError, match="no setting"):
        replace(study, presets=study.presets | {"laptop": preset}).trials()


def test_reals_of_a_spec_do_not_change_the_shape():
    one, two, three = (
        study.trials(seeds=1, overrides=study.parse(words))[0].shape
        for words in (
            ["model.scores.dropout=0.5"],
            ["model.scores.dropout=0.6"],
            ["model.layers=9"],
        )
    )
    assert one == two != three


# Files


def test_a_class_of_a_file_is_a_spec(own):
    (trial,) = study.trials(
        seeds=1, overrides=study.parse([f"model={own}:Own", "model.gain=3", "direction=forward"])
    )
    written = trial.config["model"]
    assert written["spec"] == f"{own}:Own"
    assert (written["width"], written["gain"]) == (6, 3.0)
    assert trial.label == "model=own_network.py:Own, model.gain=3, direction=forward"
    assert in_words(trial.overrides).startswith("model=own_network.py:Own")
    built = from_plain(study.config, trial.config).model
    assert built.build(10, None) == 30


def test_a_relative_path_is_the_same_spec(own, monkeypatch):
    monkeypatch.chdir(own.parent)
    one, two = (
        made(f"model={where}:Own", "direction=forward") for where in (own, "own_network.py")
    )
    assert one == two


def test_a_part_of_a_known_spec_may_be_from_a_file(own):
    (config,) = made("model=router", "direction=forward", f"model.scores={own}:OwnScores")
    assert config["model"]["scores"]["spec"] == f"{own}:OwnScores"
    assert from_plain(study.config, config).model.build(10, None) == 10 + 6 * 1.0


def test_several_networks_of_which_one_is_from_a_file(own):
    assert labels(f"model=lstm,{own}:Own", "direction=forward") == [
        "model=lstm, direction=forward", "model=own_network.py:Own, direction=forward",
    ]  # fmt: skip


def test_parts_of_a_users_spec_may_be_specs_of_the_file(own):
    own.write_text(
        OWN
        + """
@dataclass(frozen=True)
class Whole:
    part: OwnScores = OwnScores(3)

    def build(self, sizes, key):
        return self.part.build(sizes, key)
"""
    )
    (config,) = made(f"model={own}:Whole", "direction=forward", "model.part.slope=5")
    assert config["model"]["part"]["slope"] == 5.0
    assert from_plain(study.config, config).model.build(10, None) == 5


def test_changed_code_of_a_file_makes_new_trials_and_old_plans_do_not_run_it(own):
    words = [f"model={own}:Own", "direction=forward"]
    (before,) = study.trials(seeds=1, overrides=study.parse(words))
    own.write_text(OWN.replace("sizes * self.gain", "sizes - self.gain"))
    (after,) = study.trials(seeds=1, overrides=study.parse(words))
    assert before.id != after.id
    assert from_plain(study.config, after.config).model.build(10, None) == 8
    with pytest.raises(UserError, match="has changed"):
        from_plain(study.config, before.config)


def test_a_users_class_does_not_take_a_registered_name(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN.replace("class Own:", "class Router:"))
    assert made(f"model={file}:Router", "direction=forward")[0]["model"]["spec"] != "router"
    assert made("model=router", "direction=forward")[0]["model"]["spec"] == "router"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (OWN, "Onw", "has no class 'Onw': did you mean 'Own'"),
        (OWN, "", "has no class"),
        (OWN.replace("sizes *", "sizes * ("), "Own", "line 12: SyntaxError"),
        ("import nosuch", "Own", "line 1: ModuleNotFoundError"),
        ("raise ValueError('a\\nb')", "Own", "line 1: ValueError: a b"),
        ("raise SystemExit(3)", "Own", "line 1: SystemExit"),
        (OWN.replace("def build", "def biuld"), "Own", "has no method build"),
        (OWN.replace("@dataclass(frozen=True)\n", ""), "Own", "is no dataclass"),
        (OWN.replace("(frozen=True)", ""), "Own", "frozen=True"),
        (OWN.replace("width: int = 6", "width: int"), "Own", "give a default to width"),
        (OWN.replace("width: int", "sha256: int"), "Own", "cannot be called 'sha256'"),
    ],
)
def test_a_mistake_in_a_file_is_one_clear_line(tmp_path, text, name, message):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        study.parse([f"model={file}:{name}"])
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_a_class_is_told_what_it_has(own):
    with pytest.raises(UserError, match=r"name the class too.*there are Own, OwnScores"):
        study.parse([f"model={own}"])


def test_a_class_that_no_file_has_is_refused():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Nowhere:
        def build(self, sizes, key):
            return None

    with pytest.raises(UserError, match="write it into one"):
        study.trials(overrides={"model": Nowhere()})


def test_a_spec_holds_only_what_can_be_written_down(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN.replace("width: int = 6", "width: object = print"))
    with pytest.raises(UserError, match=r"Own\.width: expected a number"):
        made(f"model={file}:Own")


def test_types_that_only_a_type_checker_knows_are_refused(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN.replace("width: int = 6", "width: 'Nosuch' = 6"))
    with pytest.raises(UserError, match=r"Own: types of its fields.*Nosuch"):
        made(f"model={file}:Own")


def test_a_stored_spec_equals_the_one_that_it_was():
    written = plain(Config(model=Router(scores=Softmax(0.3))))["model"]
    assert is_same_spec(written, Router(scores=Softmax(0.3)))
    assert not is_same_spec(written, Router(scores=Softmax(0.4)))
    assert not is_same_spec(written, Router())
    assert not is_same_spec(written, Recurrent())


def test_settings_list_the_fields_of_specs_and_the_names_one_can_choose():
    found = {s.name: s for s in study.settings()}
    assert found["model"].default == "router"
    assert found["model"].choices == ("lstm", "router")
    assert found["model.layers"][1:3] == (2, "How often the layer is applied.")
    assert found["model.scores.bias"][1:3] == (-2.0, "Where the bias of matches starts.")
    assert list(found)[:3] == ["model", "model.width", "model.layers"]
