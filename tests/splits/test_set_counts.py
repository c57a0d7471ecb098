from itertools import combinations

import numpy as np
import pytest

from recombine.splits import _set_counts
from recombine.splits._encoded_split import EncodedSplit
from recombine.splits._set_counts import SetCounts
from recombine.splits._tway_coverage import tway_coverage


@pytest.mark.parametrize("listed", [2**24, 3], ids=["listed", "found"])
def test_counts_are_those_of_a_plain_loop(listed, monkeypatch):
    monkeypatch.setattr(_set_counts, "_LISTED", listed)
    rng = np.random.default_rng(0)
    items, others = rng.integers(4, size=(60, 3)), rng.integers(4, size=(40, 3))
    counts = SetCounts(items, (0, 2), (4, 4, 4))
    plain = [sum(tuple(i[[0, 2]]) == tuple(o[[0, 2]]) for i in items) for o in others]
    assert counts.of(others).tolist() == plain
    assert counts.possible == 16


@pytest.mark.parametrize("t", [2, 3])
def test_coverage_is_that_of_a_plain_loop(t):
    rng = np.random.default_rng(t)
    train, test = rng.integers(3, size=(12, 4)), rng.integers(3, size=(6, 4))
    split = EncodedSplit(tuple("abcd"), (tuple(range(3)),) * 4, train, test)
    found = tway_coverage(split, t, split.tested)
    for one, chosen in zip(found.sets, combinations(range(4), t), strict=True):
        seen = {tuple(row[list(chosen)]) for row in train}
        asked = {tuple(row[list(chosen)]) for row in test}
        assert (one.possible, one.covered) == (3**t, len(seen))
        assert (one.asked, one.asked_covered) == (len(asked), len(seen & asked))
    assert found.share == sum(s.covered for s in found.sets) / sum(s.possible for s in found.sets)
