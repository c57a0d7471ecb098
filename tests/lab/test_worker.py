import numpy as np

from recombine.lab import worker
from recombine.lab.outcome import Outcome
from recombine.lab.stored_files import ArrayFile


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
