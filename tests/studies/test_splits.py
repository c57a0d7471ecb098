"""The studies of splits: their tables, designs and claims."""

import jax
import numpy as np
import pytest
from made_up import judged, results

from recombine.studies.splits.certificate import NETWORKS, PREDICTORS, SIZES, TASKS, predictions
from recombine.studies.splits.designs import DESIGNS
from recombine.studies.splits.planner import COUNTS, examples_needed
from recombine.studies.splits.random_splits import KINDS, random_splits
from recombine.studies.splits.tables import TABLES

KEY = jax.random.key(0)


@pytest.mark.parametrize("name", TASKS)
def test_a_table_has_all_combinations_and_the_same_inputs_for_the_same_values(name):
    sizes = SIZES[name]
    table = TABLES[name](sizes, 2, key=KEY)
    assert len(table.combinations) == np.prod(sizes)
    assert len(np.unique(table.combinations, axis=0)) == len(table.combinations)
    assert table.x.shape == table.x_test.shape
    assert len(table.x) == len(table.y) == len(table.combination)
    assert np.isfinite(table.y).all()
    if name != "images":
        chosen = table.combinations[table.combination]
        for f, size in enumerate(sizes):
            assert (table.x[:, f, :size].argmax(axis=1) == chosen[:, f]).all()


def test_tables_of_lookup_apply_functions_one_after_another():
    table = TABLES["lookup"]((4, 4, 4), 1, key=KEY)
    out = table.y.argmax(axis=1).reshape(4, 4, 4)
    # Whatever the symbol, the second function does the same to what the first one gives.
    for second in range(4):
        after = {}
        for first in range(4):
            for symbol in range(4):
                seen = tuple(out[symbol, first])
                assert after.setdefault(seen[second], seen) is not None
        assert len(set(out[:, 0, second])) == 4


def test_tables_of_images_show_the_classes_that_they_ask_for():
    table = TABLES["images"]((3, 3, 3), 2, key=KEY)
    labels = table.y.reshape(-1, 3, 3).argmax(axis=2)
    assert (labels == table.combinations[table.combination]).all()
    assert not np.array_equal(table.x, table.x_test)


def test_a_table_with_other_sizes_than_its_task_has_is_refused():
    with pytest.raises(ValueError, match="4 items"):
        TABLES["routing"]((3, 3, 3), 1, key=KEY)
    with pytest.raises(ValueError, match="as many functions"):
        TABLES["lookup"]((3, 4, 4), 1, key=KEY)


def test_random_splits_are_of_all_kinds_and_leave_something_on_both_sides():
    every = np.stack(np.unravel_index(np.arange(64), (4, 4, 4)), axis=1)
    masks = random_splits(every, 40, np.random.default_rng(0))
    assert len(KINDS) == 4
    assert masks.shape == (40, 64)
    assert (masks.sum(axis=1) >= 2).all()
    assert (masks.sum(axis=1) <= 62).all()
    assert np.ptp(masks.mean(axis=1)) > 0.4


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_have_different_combinations_and_begin_as_they_should(name):
    order = DESIGNS[name]((5, 5, 5), 64, np.random.default_rng(0))
    assert order.shape == (64, 3)
    assert len(np.unique(order, axis=0)) == 64
    first = order[:5] if name == "diagonal" else order[:13]
    if name != "random":
        assert all(len(np.unique(first[:, f])) == 5 for f in range(3))
    if name == "stair":
        assert (np.abs(np.diff(first, axis=0)) > 0).sum(axis=1).tolist() == [1] * 12
    if name == "l":
        assert ((first != first[0]).sum(axis=1) <= 1).all()


def test_the_examples_needed_are_read_off_a_line():
    counts = np.array([4, 16, 64])
    assert examples_needed(counts, np.array([0.0, 0.5, 1.0]), 0.5) == pytest.approx(16)
    assert examples_needed(counts, np.array([0.0, 0.5, 1.0]), 0.75) == pytest.approx(32)
    assert examples_needed(counts, np.array([0.8, 0.2, 0.1]), 0.75) == 4
    assert examples_needed(counts, np.array([0.1, 0.2, 0.3]), 0.75) == 128


def test_predictions_are_those_of_the_diagnosis():
    from recombine import splits

    every = np.stack(np.unravel_index(np.arange(27), (3, 3, 3)), axis=1)
    trained = np.arange(27) % 3 > 0
    found = predictions(every, (3, 3, 3), trained)
    report = splits.diagnose(every[trained], every[~trained]).table
    np.testing.assert_allclose(np.sort(found.difficulty), np.sort(report.difficulty))
    assert found.divergence == pytest.approx(report.divergence[0].compounds)


def certificate(**told):
    def values(config, seed):
        found = {"difficulty": 0.9, "divergence": 0.7, "fraction": 0.8, "items": 0.4}
        return {name: v + 0.01 * seed for name, v in (found | told).items()}

    return results("splits/certificate", values)


def test_claims_of_the_certificate_hold_and_fail():
    assert len(PREDICTORS) == 3
    assert len(TASKS) >= 3
    assert len(NETWORKS) >= 4
    study, good = certificate()
    assert [judged(study, good, c.name).verdict for c in study.claims] == ["holds"] * 5
    study, bad = certificate(difficulty=0.2, items=-0.1)
    assert [judged(study, bad, c.name).verdict for c in study.claims] == ["fails"] * 5


def test_the_certificate_has_enough_splits():
    from recombine.lab.registry import load

    study = load("splits/certificate")
    assert len(TASKS) * study.presets["laptop"].seeds * study.config().splits >= 200


@pytest.mark.parametrize(("planned", "verdict"), [(20, "holds"), (50, "fails")])
def test_claims_of_the_planner_hold_and_fail(planned, verdict):
    def values(config, seed):
        needs = {f"{name}_needs": 30 + seed for name in DESIGNS}
        return needs | {"planner_needs": planned + seed}

    study, found = results("splits/planner", values)
    assert {judged(study, found, c.name).verdict for c in study.claims} == {verdict}
    assert max(COUNTS) < 125
