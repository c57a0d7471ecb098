"""Modules of PyTorch; skipped where it is not installed."""

import numpy as np
import pytest

import recombine
from recombine._errors import UserError

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `torch`)")

SIZE = 4
GRID = np.stack([np.repeat(range(SIZE), SIZE), np.tile(range(SIZE), SIZE)], axis=1)
FACTORS = {"shape": GRID[:, 0], "colour": GRID[:, 1]}
INPUTS = np.eye(SIZE, dtype=np.float32)[GRID].reshape(len(GRID), -1)
PARTS = {"shape": np.arange(2 * SIZE) < SIZE, "colour": np.arange(2 * SIZE) >= SIZE}

pytestmark = pytest.mark.filterwarnings("ignore")


def module():
    made = torch.nn.Sequential(
        torch.nn.Linear(2 * SIZE, 8), torch.nn.Dropout(0.9), torch.nn.Tanh(),
        torch.nn.Linear(8, SIZE),
    )  # fmt: skip
    with torch.no_grad():
        made[0].weight.zero_()
        made[0].weight[:SIZE, :SIZE] = torch.eye(SIZE)
        made[3].weight.copy_(torch.eye(SIZE, 8))
        for layer in (made[0], made[3]):
            layer.bias.zero_()
    return made


def test_a_module_is_asked_in_evaluation_and_left_as_it_was():
    made = module()
    made.train()
    report = recombine.examine(
        made, INPUTS, FACTORS, targets="shape", parts=PARTS, layers=["0", "2"]
    )
    assert made.training
    assert made[1].training
    (output,) = report.outputs
    assert output.scores[0].value == 1
    assert output.leakage == pytest.approx(0, abs=1e-6)
    assert [layer.units for layer in report.layers] == [8, 8]
    assert report.sensitivity["colour"] == pytest.approx(0, abs=1e-6)
    assert report.sensitivity["shape"] > 0


def test_derivatives_by_pytorch_are_those_of_the_converted_module():
    from recombine.examination._readers import jax_sensitivity
    from recombine.examination._torch import TorchReader

    torch.manual_seed(0)
    made = torch.nn.Sequential(torch.nn.Linear(2 * SIZE, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    masks = np.stack(list(PARTS.values()))
    reader = TorchReader(made.eval(), [])
    own = reader._own_sensitivity(INPUTS, masks)
    weights = [w.detach().numpy() for w in made.parameters()]

    def plain(x):
        import jax.numpy as jnp

        return jnp.tanh(x @ weights[0].T + weights[1]) @ weights[2].T + weights[3]

    np.testing.assert_allclose(own, jax_sensitivity(plain, INPUTS, masks), rtol=1e-5)
    np.testing.assert_allclose(reader.sensitivity(INPUTS, masks), own, rtol=1e-4)


def test_an_unknown_layer_is_named_with_the_nearest():
    with pytest.raises(UserError, match="no layer '9' in the module"):
        recombine.examine(module(), INPUTS, FACTORS, layers=["9"])


def test_a_layer_that_cannot_be_converted_is_named():
    pytest.importorskip("torchax", reason="torchax is not installed (extra `torch`)")

    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.from_numpy(np.asarray(x.detach().numpy())) + x

    made = torch.nn.Sequential(torch.nn.Linear(2 * SIZE, SIZE), Odd())
    report = recombine.examine(made, INPUTS, FACTORS, parts=PARTS)
    assert any("layer '1' cannot be converted" in note for note in report.notes), report.notes
    assert report.sensitivity["shape"] > 0


def test_a_recurrent_layer_gives_its_outputs():
    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = torch.nn.GRU(2, 5, batch_first=True)
            self.readout = torch.nn.Linear(5, SIZE)

        def forward(self, x):
            return self.readout(self.gru(x)[0][:, -1])

    report = recombine.examine(Reader(), INPUTS.reshape(-1, SIZE, 2), FACTORS, layers=["gru"])
    assert report.layers[0].units == SIZE * 5
