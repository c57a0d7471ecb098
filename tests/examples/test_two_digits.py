"""The guide's network of PyTorch on two digits; skipped where PyTorch is not installed."""

import importlib.util
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `torch`)")
pytestmark = pytest.mark.filterwarnings("ignore")
FILE = Path(__file__).parents[2] / "examples" / "two_digits" / "two_digits.py"


def test_the_network_uses_the_hint_that_it_should_ignore(tmp_path):
    spec = importlib.util.spec_from_file_location("two_digits", FILE)
    two_digits = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = two_digits
    spec.loader.exec_module(two_digits)
    torch.manual_seed(0)
    report = two_digits.examined(two_digits.train(two_digits.network(), steps=200))
    (output,) = report.outputs
    assert output.needs == ("left",)
    assert output.bits["left"] > 1.5
    assert output.leakage > 0.5
    trained, new = output.scores
    assert trained.value > new.value + 0.1
    assert [layer.name for layer in report.layers] == ["2", "4", "7"]
    assert report.sensitivity["right"] < report.sensitivity["left"]
    assert report.html(tmp_path / "report.html").stat().st_size > 1e6
