"""`recombine show`: which condition has which settings, and where the code is."""

import json
from pathlib import Path

from command_line import recombine

from recombine.lab.code import PACKAGE
from recombine.lab.condition_settings import condition_settings
from recombine.lab.registry import load
from recombine.lab.study_code import EQUATIONS, code_places

STUDY = str(Path(__file__).parent / "walk_study.py")


def test_settings_that_all_conditions_have_are_said_once_and_others_with_their_networks():
    found = condition_settings(load("data-router/table-lookup"), "paper")
    assert found.shared["longer_lengths"] == [9, 10]
    by_condition = {name: own for names, own in found.groups for name in names}
    assert len(by_condition) == 10
    assert by_condition["model=lstm, direction=forward"] == {
        "learning_rate": 0.001, "weight_decay": 0.0, "buckets": 1, "batch_size": 256,
        "steps": 20000,
    }  # fmt: skip
    assert by_condition["model=bi-lstm, direction=forward"]["model.end_token"] is True


def test_conditions_with_their_defaults_have_no_settings():
    found = condition_settings(load("neural-race/routing"), "laptop")
    assert (found.shared, found.groups) == ({}, [])
    assert condition_settings(load("neural-race/routing"), "smoke").shared["epochs"] == 40


def test_code_is_told_by_file_function_and_equation():
    places = {place.what: place for place in code_places(load("neural-race/routing"))}
    assert places["study"].file == places["trial"].file == "studies/neural_race/routing.py"
    assert places["BalancedRoutingDynamics"].equations.startswith("13-14")
    assert places["hidden_to_input_ratio"].equations == "49-51"
    for place in places.values():
        line = (PACKAGE / place.file).read_text().splitlines()[place.line - 1]
        assert (place.what if place.what != "study" else "study =") in line


def test_equations_are_found_in_words():
    def found(text):
        return EQUATIONS.findall(text)

    assert found("Eq. 13-15 with the optimiser's own steps") == ["13-15"]
    assert found("as in Eqs. 5.1 and 5.2, and Eq. A.3.") == ["5.1 and 5.2", "A.3."]
    assert found("equals 3") == []


def test_all_of_it_is_in_the_document_and_no_line_of_a_document_that_readers_lack():
    document = json.loads(recombine("show", "routing", "--json").stdout)
    assert document["changed"]["smoke"] == {"shared": {"width": 16, "epochs": 40}, "groups": []}
    assert document["code"][0]["what"] == "study"
    assert all("line" not in row for row in document["paper"])


def test_a_study_of_the_users_is_shown_by_its_file():
    done = recombine("show", STUDY)
    assert done.returncode == 0, done.stderr
    assert "walk_study.py:" in done.stdout
    assert "settings (--set name=value)" in done.stdout
