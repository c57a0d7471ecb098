"""Parts of one's own, one file each, enter studies from the command line."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models.specs import SequenceSizes

ROOT = Path(__file__).parents[2]
ALIBI = "examples/alibi/alibi.py"
OWN = "examples/own_network/own_network.py"


def load(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


alibi, own_network = load(ALIBI), load(OWN)


def random(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def recombine(store, *words):
    """What the command line prints."""
    command = [sys.executable, "-m", "recombine.cli", *map(str, words), "--store", str(store)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("study", "condition"),
    [("data-router/table-lookup", "direction=backward"), ("ctlpp/patterns", "variant=R")],
)
@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (("model=relative", f"model.attention={ALIBI}:Alibi"), ("relative", "alibi")),
        ((f"model={OWN}:OwnNetwork",), ("ownnetwork",)),
    ],
    ids=["attention", "network"],
)
def test_a_part_of_ones_own_enters_a_study_from_the_command_line(
    study, condition, settings, names, tmp_path
):
    store = tmp_path / "store"
    chosen = [word for setting in (*settings, condition) for word in ("--set", setting)]
    recombine(store, "run", study, "--preset", "smoke", *chosen)
    table = tmp_path / "results.csv"
    recombine(store, "export", "--to", table)
    _, *rows = table.read_text().replace("-", "").replace("_", "").lower().splitlines()
    assert rows
    assert all(name in row for row in rows for name in names)
    claims = json.loads(
        recombine(store, "claims", study, "--json", "--load", OWN, "--load", ALIBI)
    )["claims"]
    assert {claim["verdict"] for claim in claims} == {"undecided"}


def test_a_network_of_ones_own_stands_in_the_report_beside_one_of_the_paper(tmp_path):
    store, site = tmp_path / "store", tmp_path / "site"
    study = "data-router/table-lookup"
    recombine(store, "run", study, "--preset", "smoke", "--set", f"model=lstm,{OWN}:OwnNetwork")
    recombine(store, "report", "--out", site, "--load", OWN)
    (page,) = site.rglob("table-lookup.html")
    text = page.read_text()
    for figure in ("table", "by-length", "learning"):
        assert f'data-name="data-router-table-lookup-{figure}"' in text
    assert text.count("own_network.py:OwnNetwork") > 3


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16])
def test_slopes_are_the_published_geometric_sequence(heads):
    found = np.asarray(alibi.slopes(heads))
    assert found[0] == pytest.approx(2 ** (-8 / heads))
    np.testing.assert_allclose(found[1:] / found[:-1], found[0], rtol=1e-6)
    assert found[-1] == pytest.approx(2**-8)


def test_slopes_of_eight_heads_are_halves_of_each_other():
    printed = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    np.testing.assert_allclose(alibi.slopes(8), printed, rtol=1e-6)


def test_alibi_is_the_softmax_of_contents_minus_a_penalty_per_distance():
    queries, keys = random(2, 3, 5, 4), random(2, 3, 5, 4, seed=1)
    lengths = np.array([5, 3, 1])
    mask = jnp.asarray((np.arange(5) < lengths[:, None])[:, None, :])
    weights = np.asarray(alibi.Alibi().build(None, None)(None, queries, keys, mask))
    for head, slope in enumerate((2**-4, 2**-8)):
        for item, target in np.ndindex(3, 5):
            sources = range(lengths[item])
            q, k = np.asarray(queries)[head, item, target], np.asarray(keys)[head, item]
            logits = [q @ k[source] / 2 - slope * abs(target - source) for source in sources]
            expected = np.exp(logits) / np.exp(logits).sum()
            row = weights[head, item, target]
            np.testing.assert_allclose(row[: lengths[item]], expected, rtol=1e-5)
            assert not row[lengths[item] :].any()


def test_alibi_reads_the_same_from_one_target_as_from_all():
    queries, keys = random(2, 3, 5, 4), random(2, 3, 5, 4, seed=1)
    scores, mask = alibi.Alibi(power=2.0).build(None, None), jnp.ones((3, 1, 5), bool)
    at = jnp.array([[4], [0], [2]])
    one = jnp.take_along_axis(queries, at[None, :, :, None], axis=2)
    of_all = scores(None, queries, keys, mask)
    of_one = scores(None, one, keys, mask, at=at)
    expected = jnp.take_along_axis(of_all, at[None, :, :, None], axis=2)
    np.testing.assert_allclose(of_one, expected, rtol=1e-6)
    last = scores(None, queries[:, :, -2:], keys, mask)
    np.testing.assert_allclose(last, of_all[:, :, -2:], rtol=1e-6)


def test_the_own_network_is_a_loop_over_tokens_that_does_not_read_padding():
    sizes = SequenceSizes(vocabulary=6, classes=3)
    model = own_network.OwnNetwork(width=4).build(sizes, jax.random.key(0))
    tokens, lengths = jnp.array([[2, 6, 1], [3, 0, 0]]), jnp.array([3, 1])
    logits = model(tokens, lengths)
    assert logits.shape == (2, 3)

    def layer(dense, *parts):
        return np.concatenate(parts) @ np.asarray(dense.weight) + np.asarray(dense.bias)

    for item in range(2):
        h = np.zeros(4)
        for token in np.asarray(tokens)[item, : lengths[item]]:
            x = np.asarray(model.embedding)[token - 1]
            f = 1 / (1 + np.exp(-layer(model.gate, x, h)))
            h = (1 - f) * h + f * np.tanh(layer(model.update, x, f * h))
        np.testing.assert_allclose(logits[item], layer(model.readout, h), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model(tokens[1:, :1], lengths[1:]), logits[1:], rtol=1e-5)
