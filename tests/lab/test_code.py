"""The digest of code: exactly what a trial can reach, and nothing of what says nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recombine.lab import code
from recombine.lab.code import Reach
from recombine.lab.registry import load, select

PACKAGE = code.PACKAGE
SPECS = "models/specs/_encoders.py", "models/specs/_attention.py"
TRIAL = "studies/data_router/lookup_trial.py", "trial"
ROUTES = "studies/neural_race/routing.py", "trial"
NETWORKS = {
    "relative": ("RelativeTransformerSpec", "RelativeAttentionSpec"),
    "geometric": ("GeometricTransformerSpec", "GeometricAttentionSpec"),
}


def digests(package: Path) -> dict[str, str]:
    """The code of trials of table lookup with two networks, and of one on routing."""
    reach = Reach(package)
    found = {"routing": reach.digest([reach.place(package / ROUTES[0], ROUTES[1])])}
    trial = reach.place(package / TRIAL[0], TRIAL[1])
    for name, specs in NETWORKS.items():
        places = [reach.place(package / f, s, True) for f, s in zip(SPECS, specs, strict=True)]
        found[name] = reach.digest([trial, *places])
    return found


@pytest.fixture
def package(tmp_path):
    """A copy of the package, to be edited."""
    folder = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "reference"))
    return folder


def edit(package, file, old, new):
    path = package / file
    text = path.read_text()
    assert old in text, (file, old)
    path.write_text(text.replace(old, new))


def test_a_copy_in_another_folder_has_the_same_digests(package):
    assert digests(package) == digests(PACKAGE)


EDITS = {
    "an equation": (
        "models/_geometric_attention.py", "np.abs(i - k) < np.abs(i - j)",
        "np.abs(i - k) <= np.abs(i - j)", {"geometric"},
    ),
    "what a decorated function is given later": (
        "models/_geometric_attention.py", "_log_weights.defvjp(", "_log_weights.defjvp(",
        {"geometric"},
    ),
    "a method": (
        "models/_relative_attention.py", "content + position, mask", "content - position, mask",
        {"relative"},
    ),
    "a part of both": ("models/_norms.py", "1e-5", "1e-6", {"relative", "geometric"}),
    "a base class": (
        "models/specs/_encoders.py", "jax.random.split(key, 5)", "jax.random.split(key, 6)",
        {"relative", "geometric"},
    ),
    "what is chosen by a spec that is not used": (
        "models/specs/_positions.py", "sinusoids", "waves", set(),
    ),
    "a default of a setting": (
        "models/specs/_attention.py", "dropout: Fraction = 0.1", "dropout: Fraction = 0.2", set(),
    ),
    "a comment": (
        "models/_norms.py", "        x = x - x", "        # Nothing.\n        x = x - x", set(),
    ),
    "a docstring": ("models/_norms.py", "Zero mean and unit variance", "It is normal", set()),
    "a docstring that there was not": (
        "models/_norms.py", "        self.scale, ", "        'It is made.'\n        self.scale, ",
        set(),
    ),
    "formatting": ("models/_norms.py", "+ 1e-5", "+ (  # small\n 1e-5)", set()),
    "an annotation": ("models/_norms.py", "width: int)", "width: float)", set()),
    "another function of the same file": (
        "models/_norms.py", "class LayerNorm", "def other():\n    pass\n\n\nclass LayerNorm", set(),
    ),
    "the lab": ("lab/checkpoint.py", "sha256(", "sha512(", set()),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_changes_exactly_the_trials_that_can_reach_it(package, what):
    file, old, new, changed = EDITS[what]
    edit(package, file, old, new)
    before, after = digests(PACKAGE), digests(package)
    assert {name for name in before if before[name] != after[name]} == changed


def test_an_added_file_changes_nothing(package):
    (package / "models" / "_more.py").write_text("def more():\n    return 1\n")
    (package / "models" / "specs" / "_more.py").write_text("from ._attention import *\n")
    stub = package / "models" / "__init__.pyi"
    stub.write_text(stub.read_text() + "from ._more import more as more\n")
    assert digests(package) == digests(PACKAGE)


STUDY = {
    "study.py": """
import importlib
import helpers.deep
import parts
import unused
from parts import Base, table as lookup
from recombine import models
from starred import *

LIMIT = 3


def trial(config, key, recorder):
    return inner(config) + LIMIT


def inner(config, extra=lookup):
    return Child().value() + parts.plain(1) + starry() + helpers.deep.down()


class Child(Base):
    def value(self):
        return registered["one"]()


def elsewhere():
    return parts.untouched(models.MLP)


def by_name(name):
    return getattr(parts, name)


def computed(name):
    return importlib.import_module(name)


def everything():
    return globals()["elsewhere"]


registered = {}
""",
    "parts.py": """
import sys

class Base:
    def base(self):
        return 2

table = {}
table["key"] = 5

def plain(x):
    return x

def untouched(x):
    return x

if sys.platform == "other":
    def plain(x):
        return -x

def keep(function):
    return function
""",
    "starred.py": "def starry():\n    return 1\n\ndef unasked():\n    return 1\n",
    "unused.py": """
import study
import parts

@parts.keep
def added():
    return 7

parts.plain = added
""",
    "helpers/__init__.py": "",
    "helpers/deep.py": "def down():\n    return 4\n",
    "unrelated.py": "value = 1\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in STUDY.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def code_in(folder, name="trial"):
    reach = Reach()
    return reach.digest([reach.place(folder / "study.py", name)])


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("study.py", "LIMIT = 3", "LIMIT = 4", True),
        ("study.py", "LIMIT = 3", "LIMIT  =  3  # three", False),
        ("study.py", "untouched(models.MLP)", "untouched(2)", False),
        ("study.py", "extra=lookup", "extra=3", True),
        ("study.py", 'registered["one"]', 'registered["two"]', True),
        ("study.py", "registered = {}", 'registered = {}\nregistered["one"] = elsewhere', True),
        ("parts.py", "return 2", "return 3", True),
        ("parts.py", '["key"] = 5', '["key"] = 6', True),
        ("parts.py", "return -x", "return x", True),
        ("parts.py", "def untouched(x):\n    return x", "def untouched(x):\n    return 5", False),
        ("starred.py", "def starry():\n    return 1", "def starry():\n    return 2", True),
        ("starred.py", "def unasked():\n    return 1", "def unasked():\n    return 2", False),
        ("unused.py", "return 7", "return 8", True),
        ("helpers/deep.py", "return 4", "return 5", True),
        ("unrelated.py", "value = 1", "value = 2", False),
    ],
)
def test_files_beside_a_study_are_followed(folder, file, old, new, changes):
    before = code_in(folder)
    edit(folder, file, old, new)
    assert (code_in(folder) != before) == changes


@pytest.mark.parametrize(
    ("name", "file", "old", "new"),
    [
        (
            "by_name",
            "parts.py",
            "def untouched(x):\n    return x",
            "def untouched(x):\n    return 5",
        ),
        ("computed", "unrelated.py", "value = 1", "value = 2"),
        ("everything", "study.py", "untouched(models.MLP)", "untouched(2)"),
    ],
)
def test_what_cannot_be_followed_counts_as_a_whole(folder, name, file, old, new):
    before = code_in(folder, name)
    edit(folder, file, old, new)
    assert code_in(folder, name) != before


def test_a_study_in_another_folder_has_the_same_code(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "place"
    shutil.copytree(folder, other)
    assert code_in(other) == code_in(folder)


def test_a_module_used_as_a_value_counts_with_all_that_it_offers(tmp_path):
    """`vars(models)` could give any model."""
    text = "from recombine import models\n\ndef trial(c, k, r):\n    return vars(models)\n"
    (tmp_path / "study.py").write_text(text)
    reach = Reach()
    places = reach.closure([reach.place(tmp_path / "study.py", "trial")])
    assert {"GeometricScores", "RelativeScores", "MLP"} <= {place.name for place in places}


def test_names_are_those_of_their_scope(tmp_path):
    text = """
import numpy as task

def other():
    return 1

def fine(other):
    key = [other for other in range(3)]
    def inner(fine):
        return other, key
    return inner, lambda unseen: unseen

def unseen():
    return 2

def trial(config, key, recorder):
    unseen = 3
    from recombine.models import Dense as layer
    return fine(unseen), layer, task.zeros(3)
"""
    (tmp_path / "study.py").write_text(text)
    reach = Reach()
    places = reach.closure([reach.place(tmp_path / "study.py", "trial")])
    names = {place.name for place in places}
    assert {"fine", "Dense"} <= names
    assert not {"other", "unseen"} & names


def test_a_file_that_changes_is_read_again(tmp_path):
    (tmp_path / "own.py").write_text("def trial(config, key, recorder):\n    return 1\n")
    found = code.reach()
    before = found.digest([found.place(tmp_path / "own.py", "trial")])
    assert code.reach() is found
    (tmp_path / "own.py").write_text("def trial(config, key, recorder):\n    return 12\n")
    now = code.reach()
    assert now.digest([now.place(tmp_path / "own.py", "trial")]) != before


def test_the_code_of_all_studies_is_found_quickly_and_without_jax():
    script = (
        "import sys, time; from recombine.lab.registry import load, select\n"
        "studies = [load(name) for name in select([])]\n"
        "assert 'recombine.lab.code' in sys.modules\n"
        "from recombine.lab import code\n"
        "assert not code.reach()._by_path, 'listing studies reads no code'\n"
        "start = time.process_time()\n"
        "trials = [study.trials('smoke', seeds=1)[0].code for study in studies]\n"
        "assert 'jax' not in sys.modules\n"
        "assert all(trials); print(time.process_time() - start)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(done.stdout) < 4  # about 1 s


def test_no_trial_of_the_package_has_to_count_a_module_as_a_whole():
    reach = code.reach()
    for name in select([]):
        study = load(name)
        places = reach.closure([code._place(reach, study.trial), code._place(reach, study.config)])
        assert code.WHOLE not in {place.name for place in places}, name
