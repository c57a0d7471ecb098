import jax
import numpy as np
import pytest

from recombine.lab import worker
from recombine.lab.store import ArrayFile, Outcome


def test_an_outcome_comes_back_with_every_bit():
    curves = {"loss": (np.arange(3.0), np.array([0.1, 1 / 3, np.nan]))}
    arrays = ArrayFile("arrays/x.npz", "00", 3, 2**62 + 1, ("a", "b"))
    outcome = Outcome("done", "", {"error": 1 / 3}, curves, arrays, 3, 1.0, 0.5, {"cores": 2})
    message = worker.lines.decode(worker.lines.encode(worker.encode_outcome(outcome)))
    back = worker.decode_outcome(message)
    assert vars(back) | {"curves": {}} == vars(outcome) | {"curves": {}}
    assert back.arrays == arrays
    for ours, theirs in zip(back.curves["loss"], curves["loss"], strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("bound", ["MOST_BYTES", "MOST_MAPS"])
def test_programs_are_let_go_when_they_fill_too_much_and_not_before(monkeypatch, bound):
    @jax.jit
    def double(x):
        return 2 * x

    double(1.0)
    monkeypatch.setattr(worker, "MOST_BYTES", 1 << 60)
    monkeypatch.setattr(worker, "MOST_MAPS", 1 << 60)
    worker.make_room()
    assert double._cache_size() == 1
    monkeypatch.setattr(worker, bound, 0)
    worker.make_room()
    assert double._cache_size() == 0
