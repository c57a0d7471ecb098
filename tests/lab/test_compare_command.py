"""`recombine compare`: a network from a file beside others, and what is refused."""

import json
from pathlib import Path

import pytest
from command_line import recombine

from recombine.lab import UserError
from recombine.lab.specs import in_file, spec_class
from recombine.models.specs import AbstractSequenceSpec, SequenceSizes

GRU = Path(__file__).parents[2] / "examples" / "own_gru" / "own_gru.py"
OWN = GRU.parents[1] / "own_network" / "own_network.py"
SMALL = (
    "--preset", "smoke", "--seeds", "1", "--steps", "10", "--workers", "1", "--beside", "lstm",
    "--set", "task=length", "--set", "model.units=8",
)  # fmt: skip


def test_a_function_of_a_file_is_a_spec():
    import jax

    reference = in_file(GRU)
    assert reference == f"{GRU}:build"
    spec = spec_class(reference, AbstractSequenceSpec)
    assert spec is spec_class(reference, AbstractSequenceSpec)
    assert spec() == spec()
    network = spec().build(SequenceSizes(5, 3), jax.random.key(0))
    assert network.readout.out_features == 3
    assert in_file(OWN) == f"{OWN}:OwnNetwork"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = 1", "has no network: write a frozen dataclass"),
        ("def build(words, classes, key:", "line 1: SyntaxError"),
        (
            "from dataclasses import dataclass\n"
            "@dataclass(frozen=True)\nclass A:\n  def build(self, sizes, key): pass\n"
            "@dataclass(frozen=True)\nclass B:\n  def build(self, sizes, key): pass\n",
            "has several networks: name one, as in .*:A",
        ),
    ],
)
def test_a_file_without_one_network_is_refused_in_one_line(code, words, tmp_path):
    path = tmp_path / "network.py"
    path.write_text(code)
    with pytest.raises(UserError, match=words) as refused:
        in_file(path)
    assert "\n" not in str(refused.value)


def test_a_network_of_ones_own_stands_beside_another(tmp_path):
    done = recombine("compare", GRU, *SMALL, "--json", "--store", tmp_path / "store")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["study"] == "compare/sequences"
    assert [(row["task"], row["items"]) for row in document["rows"]] == [
        ("length", "familiar"), ("length", "new"),
    ]  # fmt: skip
    assert list(document["rows"][0]["networks"]) == ["own_gru.py:build", "lstm"]
    again = recombine("compare", GRU, *SMALL, "--store", tmp_path / "store")
    assert "own_gru.py:build" in again.stdout
    assert again.returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.py",), "no file nothing.py"),
        (("ndrr",), "did you mean 'ndr'"),
        ((GRU, "--on", "sequence"), "no suite 'sequence': did you mean 'sequences'"),
        ((GRU, "--budget", "soon"), "write a time such as 30m"),
        ((GRU, "--seeds", "0"), "at least one seed"),
    ],
)
def test_mistakes_are_one_line(words, said, tmp_path):
    done = recombine("compare", *words, "--store", tmp_path / "store")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert said in line
