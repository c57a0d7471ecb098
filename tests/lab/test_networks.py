"""Kept networks: what is read is what was kept, and reading runs nothing that lies in a file."""

import json
import shutil
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recombine
from recombine.lab import LocalEngine, Recorder, Store, UserError, read_network
from recombine.lab.checkpoint import Damaged, pack, unpack
from recombine.lab.export import export_networks
from recombine.lab.networks import Kept, pack_network, unpack_network
from recombine.lab.run import execute, look_ahead, plan
from recombine.models import specs

TRAIN = str(Path(__file__).parent / "train_study.py")
SEQUENCES, VECTORS = specs.SequenceSizes(7, 3), specs.VectorSizes(4, 2)
SMALL = {"width": 8, "hidden": 8, "heads": 2, "layers": 2}
NETWORKS = [
    (specs.NDRSpec(**SMALL), SEQUENCES),
    (specs.TransformerSpec(**SMALL, shared_layers=False), SEQUENCES),
    (specs.RelativeTransformerSpec(**SMALL, halting=specs.HaltingSpec()), SEQUENCES),
    (specs.BiLSTMSpec(units=4), SEQUENCES),
    (specs.DNCSpec(units=4), SEQUENCES),
    (specs.LinearHypernetworkSpec(layers=1, width=4, embedding=2), VECTORS),
    (specs.MAMLSpec(layers=1, width=4), VECTORS),
]


def trained(spec, sizes, key=3):
    """A network whose arrays are not those with which it began."""
    network = spec.build(sizes, jax.random.key(key))
    return Kept(
        jax.tree.map(lambda x: x + 1 if eqx.is_inexact_array(x) else x, network), spec, sizes
    )


def arrays(network):
    return [np.asarray(x) for x in jax.tree.leaves(network) if eqx.is_array(x)]


@pytest.mark.parametrize(("spec", "sizes"), NETWORKS, ids=lambda x: type(x).__name__)
def test_a_network_is_read_as_it_was_kept(spec, sizes):
    kept = trained(spec, sizes)
    found = unpack_network(pack_network(kept))
    assert (found.spec, found.sizes) == (spec, sizes)
    assert type(found.sizes) is type(sizes)
    for one, other in zip(arrays(found.network), arrays(kept.network), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    # It works as the one that was kept: all that is no array is there too.
    assert str(jax.tree.structure(found.network)) == str(jax.tree.structure(kept.network))


def test_numbers_that_training_made_arrays_are_kept():
    spec = specs.NDRSpec(**SMALL)
    kept = trained(spec, SEQUENCES)
    carried = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, float) else x, kept.network)
    found = unpack_network(pack_network(Kept(carried, spec, SEQUENCES)))
    tokens, lengths = jnp.ones((2, 4), int), jnp.array([4, 3])
    np.testing.assert_array_equal(found.network(tokens, lengths), carried(tokens, lengths))


def test_a_network_of_64_bit_numbers_keeps_them(x64):
    content = pack_network(trained(specs.MAMLSpec(layers=1, width=4), VECTORS))
    with jax.enable_x64(False):
        found = unpack_network(content)
    assert {a.dtype for a in arrays(found.network)} >= {np.dtype("float64")}


@pytest.mark.parametrize("sizes", [specs.SequenceSizes(8, 3), specs.SequenceSizes(7, 4)])
def test_a_network_that_its_spec_does_not_build_is_refused(sizes):
    kept = trained(specs.BiLSTMSpec(units=4), SEQUENCES)
    with pytest.raises(ValueError, match="not one that its spec builds"):
        pack_network(Kept(kept.network, kept.spec, sizes))
    with pytest.raises(ValueError, match="not one that its spec builds"):
        pack_network(Kept(kept.network, specs.NDRSpec(**SMALL), SEQUENCES))


def test_the_name_of_a_network_is_part_of_a_file_name():
    with pytest.raises(ValueError, match="cannot be called"):
        Recorder().keep(None, None, None, name="../other")


def test_a_trial_that_needs_none_is_told_how_to():
    with pytest.raises(ValueError, match="with `needs`"):
        Recorder().trained()


def changed(content, change):
    """The same file with another header, and with a checksum that fits."""
    from recombine.lab.networks import _checksum
    from recombine.lab.settings import canonical

    found = unpack(content)
    header = json.loads(found.pop("header").tobytes())
    del header["sha256"]
    change(header)
    header["sha256"] = _checksum(canonical(header), found)
    return pack(found | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)})


def test_a_damaged_file_is_detected():
    content = pack_network(trained(specs.BiLSTMSpec(units=4), SEQUENCES))
    found = unpack(content)
    name = next(n for n in found if n != "header")
    with pytest.raises(Damaged, match="checksum"):
        unpack_network(pack(found | {name: found[name] + 1}))
    for broken in (content[:-30], b"", b"nonsense" * 100, pack({"header": np.zeros(3, np.uint8)})):
        with pytest.raises(Damaged, match="no kept network"):
            unpack_network(broken)


@pytest.mark.parametrize(
    "name", ["os:system", "subprocess:Popen", "builtins:eval", "recombine.cli:app"]
)
def test_no_name_in_a_file_is_taken_for_a_spec_of_another_package(name):
    content = pack_network(trained(specs.BiLSTMSpec(units=4), SEQUENCES))
    hostile = changed(content, lambda header: header["spec"].update({"class": name}))
    with pytest.raises(UserError, match="this version of recombine has no"):
        unpack_network(hostile)


OWN = """
from dataclasses import dataclass
from pathlib import Path

Path(__file__).with_name("was_run").touch()

@dataclass(frozen=True)
class Own:
    width: int = 3

    def build(self, sizes, key):
        import equinox as eqx
        return eqx.nn.Linear(sizes, self.width, key=key)
"""


def test_a_users_file_runs_only_if_it_is_named(tmp_path):
    from recombine.lab.specs import class_in_file

    file = tmp_path / "own_spec.py"
    file.write_text(OWN)
    content = pack_network(trained(class_in_file(file, "Own")(4), 5))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = shutil.copy(file, elsewhere / "moved_spec.py")
    (elsewhere / "network.npz").write_bytes(
        changed(content, lambda h: h["spec"].update({"class": f"{moved}:Own"}))
    )
    with pytest.raises(UserError, match="only if you name it"):
        read_network(elsewhere / "network.npz")
    assert not (elsewhere / "was_run").exists()
    found = read_network(elsewhere / "network.npz", files=[moved])
    assert (elsewhere / "was_run").exists()
    assert found.spec.width == 4
    assert found.network.weight.shape == (4, 5)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with four networks."""
    folder = tmp_path_factory.mktemp("kept") / "store"
    with Store.create(folder) as opened:
        assert execute(plan([TRAIN]), opened, LocalEngine(2)) == 0
    return folder


def test_a_network_is_loaded_by_study_seed_and_settings(store):
    found = recombine.load(TRAIN, seed=1, rate=0.2, store=store)
    with Store.open(store) as opened:
        (settings,) = opened.settings("tests/train")
        results = opened.results("tests/train", settings)
        weights = results.array("weight", rate=0.2)
    np.testing.assert_array_equal(found.weight, weights[results.seeds.index(1)])


def test_the_default_store_is_that_of_the_command_line(store, monkeypatch):
    monkeypatch.setenv("RECOMBINE_STORE", str(store))
    assert recombine.load(TRAIN, seed=0, rate=0.1, preset="laptop").weight.shape == (3, 4)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"seed": 5}, r"no network of tests/train with seed=5; there are rate=0\.1 \(seed 0, 1\);"),
        ({"seed": 0}, r"2 networks of tests/train with seed=0: say which of rate=0\.1 \(seed 0\);"),
        ({"rate": 0.3}, r"no network of tests/train with rate=0\.3; there are"),
        ({"raet": 0.1}, "no setting 'raet': did you mean 'rate'"),
        ({"preset": "paper"}, "no network 'network' of tests/train at preset paper: run the study"),
        ({"name": "other"}, "no network 'other' of tests/train: run the study first"),
    ],
)
def test_a_network_that_is_not_there_or_not_alone_is_told_in_a_line(store, choice, message):
    with pytest.raises(UserError, match=message) as told:
        recombine.load(TRAIN, store=store, **choice)
    assert "\n" not in str(told.value)


def test_families_and_missing_stores_are_told(tmp_path):
    with pytest.raises(UserError, match="data-router is a family: name one study"):
        recombine.load("data-router")
    with pytest.raises(UserError, match="run a study first"):
        recombine.load("data-router/depth", store=tmp_path / "none")


def test_a_damaged_network_in_a_store_is_told_and_made_again(store, tmp_path):
    folder = shutil.copytree(store, tmp_path / "store")
    (planned,) = plan([TRAIN])
    trial = planned.trials[0]
    file = folder / "networks" / f"{trial.id}.network.npz"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(UserError, match="does not match its checksum"):
        recombine.load(TRAIN, seed=trial.seed, rate=trial.config["rate"], store=folder)
    with Store.open(folder) as opened:
        (outlook,) = look_ahead([planned], opened)
    assert [t.id for t in outlook.todo] == [trial.id]


def test_all_networks_are_exported_with_an_index(store, tmp_path):
    with Store.open(store) as opened:
        assert export_networks(opened, tmp_path / "out") == 4
    index = json.loads((tmp_path / "out" / "index.json").read_text())["networks"]
    assert len(index) == 4
    for one in index:
        assert one["asked_by"][0]["study"] == "tests/train"
        kept = read_network(tmp_path / "out" / one["file"], files=[TRAIN])
        assert (kept.network.weight**2).mean() == pytest.approx(one["metrics"]["final"])
        assert one["sizes"]["fields"] == {"inputs": 4}
