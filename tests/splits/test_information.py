"""Information in finite tables: inequalities, identities, and cases of equality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recombine import splits
from recombine.splits._information import entropy, marginal

H, I, CI = entropy, splits.mutual_information, splits.conditional_mutual_information
EXACT = 1e-12


def tables(axes):
    """Probabilities, many of them zero."""
    entries = st.one_of(st.just(0.0), st.floats(1e-6, 1))
    shapes = st.tuples(*[st.integers(1, 4)] * axes)
    drawn = shapes.flatmap(lambda shape: hnp.arrays(float, shape, elements=entries))
    return drawn.filter(lambda table: table.sum() > 0).map(lambda table: table / table.sum())


@st.composite
def chains(draw):
    """The table of a Markov chain X → Y → Z."""
    table = draw(tables(2))
    channel = draw(hnp.arrays(float, (table.shape[1], 3), elements=st.floats(1e-6, 1)))
    return table[:, :, None] * (channel / channel.sum(axis=1, keepdims=True))


def slow_information(p):
    """I(A; B) of a table of two variables, term by term."""
    pa, pb = p.sum(axis=1), p.sum(axis=0)
    return sum(
        p[a, b] * np.log2(p[a, b] / (pa[a] * pb[b]))
        for a in range(len(pa))
        for b in range(len(pb))
        if p[a, b] > 0
    )


@given(chains())
def test_no_step_of_a_markov_chain_adds_information(chain):
    assert I(chain, 0, 1) >= I(chain, 0, 2) - EXACT
    assert I(chain, 1, 2) >= I(chain, 0, 2) - EXACT
    assert CI(chain, 0, 2, 1) == pytest.approx(0, abs=EXACT)


@given(tables(2), st.randoms(use_true_random=False))
def test_a_step_that_can_be_undone_keeps_all_information(table, random):
    order = random.sample(range(table.shape[1]), table.shape[1])
    chain = table[:, :, None] * np.eye(len(order))[order]
    assert I(chain, 0, 2) == pytest.approx(I(chain, 0, 1), abs=EXACT)


@given(tables(2))
def test_a_step_to_a_constant_keeps_none(table):
    assert I(table[:, :, None], 0, 2) == pytest.approx(0, abs=EXACT)


@given(tables(3))
def test_information_obeys_the_chain_rule(table):
    assert I(table, (0, 1), 2) == pytest.approx(CI(table, 1, 2, 0) + I(table, 0, 2), abs=EXACT)


@given(tables(3))
def test_information_is_symmetric_and_not_negative(table):
    for first, second in ((0, 1), (0, 2), ((0, 2), 1)):
        assert I(table, first, second) >= -EXACT
        assert I(table, first, second) == pytest.approx(I(table, second, first), abs=EXACT)
    assert CI(table, 0, 1, 2) >= -EXACT
    assert CI(table, 0, 1, 2) <= min(H(table, 0), H(table, 1)) + EXACT


@given(tables(2))
def test_information_is_the_divergence_from_independence(table):
    assert I(table, 0, 1) == pytest.approx(slow_information(table), abs=EXACT)


@given(tables(1), tables(1))
def test_independent_variables_share_nothing_and_their_entropies_add(p, q):
    table = np.outer(p, q)
    assert I(table, 0, 1) == pytest.approx(0, abs=EXACT)
    assert H(table) == pytest.approx(H(p) + H(q), abs=EXACT)


@given(tables(2))
@settings(max_examples=30)
def test_counts_negative_axes_and_other_variables_change_nothing(table):
    found = I(table, 0, 1)
    assert I(7 * table, -2, -1) == pytest.approx(found, abs=EXACT)
    assert I(np.stack([table, table], axis=-1), 0, 1) == pytest.approx(found, abs=EXACT)
    assert I(table, 0, 0) == pytest.approx(H(table, 0), abs=EXACT)


def test_entropies_by_hand():
    assert H(np.ones(8)) == 3
    assert H([[0.5, 0.25], [0.25, 0]]) == 1.5
    assert H([1.0, 0.0]) == 0
    assert H([1, 2]) == pytest.approx(np.log2(3) - 2 / 3)


def test_exclusive_or_tells_only_together():
    x, y = np.mgrid[:2, :2]
    xor = splits.table_of_samples(np.stack([x, y, x ^ y], axis=-1).reshape(4, 3), (2, 2, 2))
    assert (I(xor, 0, 2), I(xor, 1, 2), I(xor, (0, 1), 2), CI(xor, 0, 2, 1)) == (0, 0, 1, 1)


def test_labels_of_pairs_have_the_information_of_their_offsets():
    y, offset = np.mgrid[:10, :10]
    pairs = np.zeros((3, 10, 10))
    for setting, offsets in enumerate((range(2), range(10), range(2, 10))):
        pairs[setting][y, (y + offset) % 10] = np.isin(offset, offsets)
    found = [I(table, 0, 1) for table in pairs]
    assert found == pytest.approx([np.log2(10) - 1, 0, np.log2(10) - 3], abs=EXACT)


def test_a_marginal_sums_over_the_other_variables():
    table = np.arange(24.0).reshape(2, 3, 4)
    assert np.allclose(marginal(table, (2, 0)), table.sum(axis=1) / table.sum())
    assert marginal(table, ()) == pytest.approx(1)


@pytest.mark.parametrize("table", [[0.5, -0.1], [0.0, 0.0], [], [np.inf, 1]])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(ValueError, match="no negative entry and a finite sum above 0"):
        entropy(table)


def test_axes_and_values_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="axes 0 to 1"):
        splits.mutual_information(np.eye(2), 0, 2)
    with pytest.raises(ValueError, match="values from 0 to below"):
        splits.table_of_samples(np.array([[0, 2]]), (2, 2))
