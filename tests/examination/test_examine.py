"""What `recombine.examine` says of networks whose answers are known."""

import json
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recombine
from recombine._errors import UserError

SIZE = 4
GRID = np.stack([np.repeat(range(SIZE), SIZE), np.tile(range(SIZE), SIZE)], axis=1)
FACTORS = {"shape": GRID[:, 0], "colour": GRID[:, 1]}
INPUTS = np.eye(SIZE, dtype=np.float32)[GRID].reshape(len(GRID), -1)
PARTS = {"shape": np.arange(2 * SIZE) < SIZE, "colour": np.arange(2 * SIZE) >= SIZE}


def shape_of(x):
    """Scores of the shape alone."""
    return x[:, :SIZE]


def either(x):
    """Scores that follow the colour where the shape is 0 or 1."""
    return jnp.where(x[:, :2].sum(axis=1, keepdims=True) > 0, x[:, SIZE:], x[:, :SIZE])


def test_an_answer_that_follows_one_factor_depends_on_it_alone():
    for parts in (None, PARTS):
        report = recombine.examine(shape_of, INPUTS, FACTORS, targets="shape", parts=parts)
        (output,) = report.outputs
        assert output.swapped == (parts is not None)
        assert output.needs == ("shape",)
        assert output.bits == {"shape": pytest.approx(2), "colour": pytest.approx(0, abs=1e-9)}
        assert output.leakage == pytest.approx(0, abs=1e-6)
        assert [score.value for score in output.scores] == [1]


def test_leakage_is_what_the_ignored_factor_tells():
    # Of half of the shapes the colour decides, which is 2 bits each; of the others nothing does.
    report = recombine.examine(either, INPUTS, FACTORS, targets="shape", parts=PARTS)
    assert report.outputs[0].leakage == pytest.approx(1)
    assert report.outputs[0].bits["colour"] == pytest.approx(1)
    items = recombine.examine(either, INPUTS, FACTORS, targets="shape")
    assert items.outputs[0].leakage == pytest.approx(1)
    assert set(report.sensitivity) == {"shape", "colour"}


def test_several_outputs_have_a_target_each():
    def both(x):
        return {"what": x[:, :SIZE], "which": x[:, SIZE:]}

    report = recombine.examine(
        both, INPUTS, FACTORS, targets={"what": "shape", "which": "colour"}, parts=PARTS
    )
    assert [o.needs for o in report.outputs] == [("shape",), ("colour",)]
    assert [o.leakage for o in report.outputs] == [pytest.approx(0, abs=1e-6)] * 2
    joined = recombine.examine(
        lambda x: x.reshape(-1, 2, SIZE), INPUTS, FACTORS, targets=["shape", "colour"]
    )
    assert [o.scores[0].value for o in joined.outputs] == [1, 1]


def test_a_target_of_both_factors_needs_both():
    labels = (GRID.sum(axis=1) % SIZE).astype(int)
    report = recombine.examine(lambda x: np.eye(SIZE)[labels], INPUTS, FACTORS, targets=labels)
    assert report.outputs[0].needs == ("shape", "colour")
    assert report.outputs[0].leakage == 0
    assert report.outputs[0].bits["shape"] == pytest.approx(2)


def test_accuracy_is_told_by_the_support_of_combinations():
    # Shapes 0, 1 with colours 0, 1 and shapes 2, 3 with colours 2, 3: two components.
    block = (GRID[:, 0] < 2) == (GRID[:, 1] < 2)
    corner = (GRID == 1).all(axis=1)
    report = recombine.examine(either, INPUTS, FACTORS, targets="shape", train=block & ~corner)
    found = {score.place: score for score in report.outputs[0].scores}
    assert {place: score.combinations for place, score in found.items()} == {
        "trained": 7, "within": 1, "across": 8,
    }  # fmt: skip
    assert found["within"].value == 1  # shape 1 in colour 1
    assert found["across"].value == pytest.approx(0.5)
    assert found["across"].low < 0.5 < found["across"].high
    assert not report.support.connected
    table = [row for row, flag in zip(GRID.tolist(), block & ~corner, strict=True) if flag]
    again = recombine.examine(either, INPUTS, FACTORS, targets="shape", train=table)
    assert again.outputs[0].scores == report.outputs[0].scores


class Adder(eqx.Module):
    """Two codes that are added up, as a layer, in a loop of two steps, and under `vmap`."""

    code: eqx.nn.Linear
    readout: eqx.nn.Linear

    def __init__(self):
        one, two = jax.random.split(jax.random.key(0))
        self.code = eqx.nn.Linear(2 * SIZE, 8, key=one)
        self.readout = eqx.nn.Linear(8, SIZE, key=two)

    def hidden(self, x):
        return jax.vmap(self.code)(x)

    def __call__(self, x):
        @jax.jit
        def run(x):
            def step(carry, _):
                return carry, self.code(carry)

            return jax.lax.scan(step, x, length=2)[1].sum(axis=0)

        return jax.vmap(lambda x: self.readout(run(x)))(x)


def test_a_layer_is_found_by_its_path_through_vmap_jit_and_loops():
    network = Adder()
    report = recombine.examine(network, INPUTS, FACTORS, layers=["code", "readout", "hidden"])
    layers = {layer.name: layer for layer in report.layers}
    assert [layers[name].units for name in ("code", "readout", "hidden")] == [16, 4, 8]

    from recombine.examination._readers import JAXReader

    activity = JAXReader(network, ["code", "readout"]).read((INPUTS,)).layers
    hidden = INPUTS @ np.asarray(network.code.weight).T + np.asarray(network.code.bias)
    np.testing.assert_allclose(activity["code"], np.tile(hidden, 2), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(activity["readout"], network(INPUTS), rtol=1e-5, atol=1e-6)


def test_codes_that_add_up_are_told_from_a_code_per_combination():
    often = np.repeat(np.arange(len(GRID)), 6)
    table = {name: values[often] for name, values in FACTORS.items()}
    apart = np.eye(len(GRID), dtype=np.float32)[often]
    report = recombine.examine(
        shape_of, INPUTS[often], table,
        layers={"sum": lambda x: x, "combination": lambda x: apart[: len(x)]},
    )  # fmt: skip
    added, by_heart = report.layers
    assert added.additive == pytest.approx(1)
    assert added.additive_new == pytest.approx(1)
    assert added.new == {"shape": 1, "colour": 1}
    assert added.overlaps[0][1] == pytest.approx(0, abs=1e-9)
    assert added.parallel["shape"] == pytest.approx(1)
    assert by_heart.additive == pytest.approx(by_heart.additive_by_chance)
    assert by_heart.additive_new < 0
    assert report.held_out_here


def test_a_layer_in_two_calls_has_two_names():
    class Twice(eqx.Module):
        inner: eqx.nn.Linear

        def __call__(self, x):
            return jax.vmap(lambda x: self.inner(self.inner(x)))(x)

    report = recombine.examine(
        Twice(eqx.nn.Linear(8, 8, key=jax.random.key(0))), INPUTS, FACTORS, layers=["inner"]
    )
    assert [layer.name for layer in report.layers] == ["inner, call 1", "inner, call 2"]


def test_an_estimator_of_scikit_learn_answers_in_its_own_words():
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeRegressor

    words = np.array(["ball", "cone", "cube", "ring"])[GRID[:, 0]]
    table = {"shape": words, "colour": GRID[:, 1]}
    fitted = LogisticRegression(C=100).fit(INPUTS, words)
    report = recombine.examine(fitted, INPUTS, table, targets="shape")
    assert report.outputs[0].scores[0].value == 1
    numbers = GRID[:, 0] * 0.5
    regressor = DecisionTreeRegressor(random_state=0).fit(INPUTS, numbers)
    told = recombine.examine(regressor, INPUTS, FACTORS, targets=numbers).outputs[0]
    assert (told.kind, told.unit, told.needs) == ("numbers", "R²", ("shape",))
    assert told.scores[0].value == pytest.approx(1)
    assert told.bits["colour"] == pytest.approx(0, abs=1e-9)


def test_a_network_of_several_inputs_is_called_with_all_of_them():
    report = recombine.examine(
        lambda tokens, lengths: np.eye(SIZE)[tokens[:, 0]] * lengths[:, None],
        (GRID, np.ones(len(GRID))), FACTORS, targets="shape",
    )  # fmt: skip
    assert report.outputs[0].scores[0].value == 1


def test_the_report_is_text_numbers_figures_and_a_page(tmp_path):
    block = (GRID[:, 0] < 2) == (GRID[:, 1] < 2)
    report = recombine.examine(
        either, INPUTS, FACTORS, targets="shape", train=block, parts=PARTS,
        layers={"input": lambda x: x}, title="Shapes <and> colours",
    )  # fmt: skip
    text = str(report)
    for words in ("leakage of what it should ignore: 1.00 bits", "new, values of several",
                  "codes add up", "NOT S2"):  # fmt: skip
        assert words in text
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["outputs"][0]["leakage"] == pytest.approx(1)
    assert document["support"]["connected"] is False
    assert set(report.figures()) == {
        "dependence", "accuracy", "sensitivity", "decodability", "additivity", "overlaps",
    }  # fmt: skip
    page = report.html(tmp_path / "inner" / "report.html").read_text()
    assert "Shapes &lt;and&gt; colours" in page
    assert page.count('class="plots"') == 6
    assert not re.search(r'(src|href)="(?!data:|#)', page.split("<script>")[0]), "needs no file"


class Two(eqx.Module):
    """A layer per factor: its weights are the modules."""

    weight: jax.Array

    def __call__(self, x):
        out = x @ self.weight
        return out[:, :SIZE], out[:, SIZE:]


def test_modules_are_the_weights_that_masks_keep():
    from recombine.learning import WeightMask

    network = Two(jnp.eye(2 * SIZE))
    first = jnp.arange(2 * SIZE) < SIZE
    rows = jnp.broadcast_to(first[:, None], (2 * SIZE, 2 * SIZE))
    masks = {"shape": WeightMask(Two(rows)), "colour": WeightMask(Two(~rows))}
    report = recombine.examine(network, INPUTS, FACTORS, targets=["shape", "colour"], masks=masks)
    shape, colour = report.modules
    assert (shape.kept, shape.overlaps) == (0.5, {"colour": 0})
    assert shape.alone == {"shape": 1, "colour": 0.25}
    assert shape.without == {"shape": 0.25, "colour": 1}
    assert colour.alone == shape.without
    assert "module shape: 50% of the weights" in str(report)
    assert "modules" in report.to_dict()
    with pytest.raises(UserError, match="mask 'a' is a int"):
        recombine.examine(network, INPUTS, FACTORS, masks={"a": 1})
    with pytest.raises(UserError, match="masks are over the weights of an Equinox module"):
        recombine.examine(np.asarray, INPUTS, FACTORS, masks=masks)


REFUSED = {
    "give one row per input": {"inputs": INPUTS[:5]},
    "no layer 'cod'.*did you mean 'code'": {"layers": ["cod"]},
    "is an array of weights": {"layers": ["code.weight"]},
    "outputs of 16 of 16 items are not finite": {"network": lambda x: x * jnp.nan},
    "inputs have numbers that are not finite": {"inputs": INPUTS * np.nan},
    "target 'shap' is no factor: did you mean 'shape'": {"targets": "shap"},
    "train has the shape": {"train": np.ones(3, bool)},
    "no item has a trained combination": {"train": [(7, 7)]},
    "part 'shape' has the shape": {"parts": {"shape": np.ones(3, bool)}},
    "have a number of the input in common": {"parts": dict.fromkeys(FACTORS, INPUTS[0] < 2)},
    "a str is no network": {"network": "resnet"},
    "cannot be found by its name in a plain function": {"network": shape_of, "layers": ["h"]},
    "the first axis must be that of items": {"network": lambda x: x.sum()},
    "is called inside a `while` of JAX": {"layers": ["code"], "network": "loop"},
    "is never called": {"layers": ["readout"], "network": "unused"},
}  # fmt: skip


class Loop(Adder):
    def __call__(self, x):
        def body(carry):
            return carry[0] + 1, jax.vmap(self.code)(x)

        start = 0, jnp.zeros((len(x), 8))
        return jax.lax.while_loop(lambda carry: carry[0] < 2, body, start)[1]


class Unused(Adder):
    def __call__(self, x):
        return jax.vmap(self.code)(x)


@pytest.mark.parametrize("words", REFUSED)
def test_bad_input_is_refused_in_one_line(words):
    given = {"network": Adder(), "inputs": INPUTS, "factors": FACTORS} | REFUSED[words]
    if given["network"] in ("loop", "unused"):
        given["network"] = {"loop": Loop, "unused": Unused}[given["network"]]()
    with pytest.raises(UserError, match=words) as refused:
        recombine.examine(given.pop("network"), given.pop("inputs"), given.pop("factors"), **given)
    assert "\n" not in str(refused.value)
