"""Tables in which outputs keep to their inputs, and tables in which they do not."""

import numpy as np
import pytest

from recombine import splits


def product_table(*channels):
    """P(Y_1 | X_1) P(Y_2 | X_2) ..."""
    K = len(channels)
    factors = [
        channel.reshape([len(channel) if a == k else channel.shape[1] if a == K + k else 1
                         for a in range(2 * K)])
        for k, channel in enumerate(channels)
    ]  # fmt: skip
    return np.prod(np.broadcast_arrays(*factors), axis=0)


def certain(f):
    """The table of a function of two bits."""
    table = np.zeros((2, 2, 2, 2))
    for a in (0, 1):
        for b in (0, 1):
            table[(a, b, *f(a, b))] = 1
    return table


def slow_holds(table):
    """The definition, one conditional probability after another."""
    K = table.ndim // 2
    for i in range(K):
        seen = {}
        for x in np.ndindex(table.shape[:K]):
            for rest in np.ndindex(*(table.shape[K + k] for k in range(K) if k != i)):
                chosen = [*rest[:i], slice(None), *rest[i:]]
                p = table[(*x, *chosen)]
                if p.sum() > 0:
                    seen.setdefault(x[i], []).append(p / p.sum())
        if any(not np.allclose(p, ps[0]) for ps in seen.values() for p in ps):
            return False
    return True


@pytest.mark.parametrize("shapes", [[(2, 2), (2, 2)], [(3, 2), (2, 4)], [(2, 2), (3, 2), (2, 3)]])
def test_a_product_of_channels_passes(shapes):
    rng = np.random.default_rng(0)
    table = product_table(*(rng.dirichlet(np.ones(y), size=x) for x, y in shapes))
    report = splits.conditional_independence(table)
    assert report.holds
    assert report.leaks == ()
    assert slow_holds(table)
    assert np.all(np.diag(report.dependence) > 0.01)


def test_exclusive_or_fails_by_one_bit():
    report = splits.conditional_independence(certain(lambda a, b: (a ^ b, b)))
    assert not report.holds
    assert report.leaks == ((0, 1),)
    assert np.allclose(report.dependence, [[1, 1], [0, 1]])
    assert np.allclose(report.coupling, 0)
    assert "output 0 depends on input 1 (1 bit)" in str(report)


def test_outputs_that_share_a_coin_fail_though_no_input_leaks():
    table = np.zeros((2, 2, 2, 2))
    table[..., 0, 0] = table[..., 1, 1] = 0.5
    report = splits.conditional_independence(table)
    assert report.leaks == ()
    assert np.allclose(report.coupling, 1)
    assert not report.holds
    assert not slow_holds(table)
    assert "output 1 depends on the other outputs (1 bit)" in str(report)


def test_the_report_says_what_the_definition_says():
    rng = np.random.default_rng(1)
    for _ in range(20):
        channels = rng.dirichlet(np.ones(2), size=(2, 2))
        table = product_table(*channels)
        if rng.random() < 0.5:
            other = product_table(*rng.dirichlet(np.ones(2), size=(2, 2)))
            table[0, 1] = other[0, 1]
        assert splits.conditional_independence(table).holds == slow_holds(table)


def test_a_tolerance_lets_small_dependences_pass():
    table = certain(lambda a, b: (a, b)) * 0.99 + certain(lambda a, b: (b, a)) * 0.01
    assert not splits.conditional_independence(table).holds
    assert splits.conditional_independence(table, tolerance=0.2).holds


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (np.ones((2, 2, 2)), "give 2 K axes"),
        (np.ones((2, 2, 2, 2)), "divide by their sums, which go from 4 to 4"),
        (np.eye(2) * 2 - 0.5, "sum to 1"),
    ],
)
def test_what_is_no_conditional_table_is_refused(table, why):
    with pytest.raises(ValueError, match=why):
        splits.conditional_independence(table)
