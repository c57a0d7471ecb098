import numpy as np
import pytest

from recombine import splits
from recombine.splits._item_support import SUPPORT_KINDS, ItemSupport

SAME = {
    "trained": "trained",
    "within": "supported",
    "undetermined": "undetermined",
    "across": "unconnected",
    "new": "new value",
}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("factors", [2, 3, 4])
def test_kinds_are_the_places_of_the_support_report(seed, factors):
    rng = np.random.default_rng([seed, factors])
    sizes = rng.integers(2, 5, size=factors)
    every = np.stack(np.unravel_index(np.arange(sizes.prod()), sizes), axis=1)
    chosen = rng.permutation(len(every))
    trained = every[chosen[: rng.integers(2, 9)]]
    report = splits.support_report(trained)
    found = ItemSupport(trained, sizes.tolist()).kinds(every)
    places = [SAME[report.judge(item)] for item in every.tolist()]
    assert [SUPPORT_KINDS[k] for k in found] == places


@pytest.mark.parametrize("seed", range(12))
def test_open_effects_are_the_combinations_that_would_determine_all(seed):
    rng = np.random.default_rng(seed)
    trained = np.unique(rng.integers(4, size=(rng.integers(3, 14), 3)), axis=0)
    support = ItemSupport(trained, (4, 4, 4))
    assert support.open_effects == len(splits.support_report(trained).to_determine)


def test_a_sample_of_many_combinations_gives_the_same_answers():
    rng = np.random.default_rng(0)
    trained = np.unique(rng.integers(40, size=(40_000, 4)), axis=0)
    support = ItemSupport(trained, (40,) * 4)
    assert (support.components, support.open_effects) == (1, 0)
    asked = rng.integers(40, size=(500, 4))
    kinds = support.kinds(asked)
    assert set(kinds.tolist()) <= {0, 1}
    known = set(map(tuple, trained.tolist()))
    assert [kind == 0 for kind in kinds] == [tuple(item) in known for item in asked.tolist()]
