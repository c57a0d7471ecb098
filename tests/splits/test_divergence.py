from collections import Counter
from itertools import combinations

import numpy as np
import polars
import pytest

from recombine.splits._divergence import (
    chernoff_divergence,
    compound_weights,
    table_divergence,
    weighted_divergence,
)
from recombine.splits._encoded_split import EncodedSplit
from recombine.splits._sequence_parts import sequence_parts, tree_parts


def slow(P, Q, alpha):
    p, q = (Counter(side) for side in (P, Q))
    return 1 - sum((p[k] / len(P)) ** alpha * (q[k] / len(Q)) ** (1 - alpha) for k in q)


def test_divergence_of_equal_and_of_disjoint_distributions():
    assert chernoff_divergence([1, 2, 3], [2, 4, 6], 0.1) == pytest.approx(0, abs=1e-12)
    assert chernoff_divergence([1, 0], [0, 5], 0.5) == 1
    # 1 - 2 sqrt(3/4 * 1/4)
    assert chernoff_divergence([3, 1], [1, 3], 0.5) == pytest.approx(1 - np.sqrt(3) / 2)


def test_compounds_that_training_lacks_weigh_more_than_those_it_has_rarely():
    rare = chernoff_divergence([99, 1], [50, 50], 0.1)
    assert rare < chernoff_divergence([1, 0], [50, 50], 0.1) == 1 - 0.5**0.9


@pytest.mark.parametrize("t", [2, 3])
def test_the_divergence_of_a_table_counts_every_set_of_values(t):
    rng = np.random.default_rng(t)
    train, test = rng.integers(3, size=(50, 4)), rng.integers(1, 4, size=(30, 4))
    split = EncodedSplit(tuple("abcd"), (tuple(range(4)),) * 4, train, test)

    def parts(rows, size):
        sets = list(combinations(range(4), size))
        return [(s, tuple(row[list(s)])) for row in rows for s in sets]

    found = table_divergence(split, t)
    assert found.atoms == pytest.approx(slow(parts(train, 1), parts(test, 1), 0.5))
    assert found.compounds == pytest.approx(slow(parts(train, t), parts(test, t), 0.1))


def test_a_compound_that_occurs_only_in_a_larger_one_weighs_nothing():
    # "a b" is always followed by c; "b c" is not always preceded by a.
    found = sequence_parts(polars.Series("t", ["a b c", "a b c", "d b c"])).compounds
    shown = zip(found.item.tolist(), found.compound.tolist(), strict=True)
    weights = dict(zip(shown, compound_weights(found).tolist(), strict=True))
    a_b, b_c, d_b = range(3)
    assert weights[0, a_b] == weights[2, d_b] == 0
    # Two of three times "b c" lies within "a b c", once within "d b c".
    assert weights[0, b_c] == pytest.approx(1 / 3)
    assert weights[2, b_c] == pytest.approx(2 / 3)
    assert all(weight == 1 for (_, n), weight in weights.items() if n > 2)


def test_the_divergence_of_sequences_agrees_with_a_plain_count():
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(list("abcd"), rng.integers(2, 7))) for _ in range(60)]
    parts = sequence_parts(polars.Series("t", texts), longest=2)
    trained = np.arange(60) < 40

    def weights(chosen):
        # Pairs are in nothing larger, so each counts once per item.
        return [
            pair
            for text, side in zip(texts, chosen, strict=True)
            if side
            for pair in {tuple(text.split()[n : n + 2]) for n in range(len(text.split()) - 1)}
        ]

    expected = slow(weights(trained), weights(~trained), 0.1)
    assert weighted_divergence(parts.compounds, trained, 0.1) == pytest.approx(expected)


def test_subtrees_lie_within_those_of_their_node_and_of_its_parent():
    parts = tree_parts(["(and (twice (jump)) (walk))"])
    # and(twice, walk), and(twice(jump), walk), twice(jump)
    assert len(parts.compounds.item) == 3
    pairs = set(zip(parts.compounds.inner.tolist(), parts.compounds.outer.tolist(), strict=True))
    assert pairs == {(0, 1), (2, 1)}
    assert parts.sizes.tolist() == [3]
    assert set(parts.atoms) == {"and", "twice", "jump", "walk"}


@pytest.mark.parametrize("text", ["(a", "a)", "()", "(a) (b)", "((a))", ""])
def test_a_text_that_is_no_tree_is_refused_with_the_reason(text):
    with pytest.raises(ValueError, match="is no tree"):
        tree_parts([text])


def test_pairs_of_sequences_have_both_ends():
    parts = sequence_parts(polars.Series("t", ["a b", "b"]))
    named = [(parts.first[x], parts.second[y]) for x, y in parts.pairs.tolist()]
    expected = [("<start>", "a"), ("a", "b"), ("b", "<end>"), ("<start>", "b"), ("b", "<end>")]
    assert sorted(named) == sorted(expected)
