"""Networks made by hand: one code for a symbol generalises, two codes do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, probes, tasks

KEY = jax.random.key(0)
CROSSED = 1 - np.eye(2)


def task_of(variant):
    return getattr(tasks.TableLookupPatterns, variant)(4, 12, longest=4)


def groups_of(task):
    members = task.trained.groups
    return tuple(int(function in members["b"]) for function in range(12))


@pytest.mark.parametrize(("variant", "reads"), [("alternating", CROSSED), ("repeating", np.eye(2))])
def test_two_codes_are_right_in_distribution_and_at_chance_out_of_it(variant, reads):
    task = task_of(variant)
    sets = task.sets(train=2000, iid=1000)
    two = models.CodedLookup.per_group(
        task.lookup.tables, groups_of(task), jnp.asarray(reads, bool), key=KEY
    )
    one = models.CodedLookup.shared(task.lookup.tables, key=KEY)
    accuracy = jax.jit(lambda m, d: (m(d.tokens, d.lengths).argmax(axis=1) == d.labels).mean())
    assert accuracy(two, sets["iid"]) == 1
    assert accuracy(two, sets["ood"]) == pytest.approx(1 / 4, abs=0.06)
    assert accuracy(one, sets["ood"]) == 1


def test_probes_find_the_codes():
    task = tasks.TableLookupPatterns.repeating()
    lookup, groups = task.lookup, np.repeat([0, 1], 16)
    two = models.CodedLookup.per_group(
        lookup.tables, tuple(groups.tolist()), jnp.eye(2, dtype=bool), key=KEY
    )
    one = models.CodedLookup.shared(lookup.tables, key=KEY)
    for network, clusters in ((two, groups), (one, np.zeros(32))):
        vectors = probes.symbol_representations(network.represent, lookup)
        for cosines in np.asarray(probes.cosine_maps(vectors)):
            np.testing.assert_allclose(cosines, np.equal.outer(clusters, clusters), atol=1e-5)
            np.testing.assert_array_equal(probes.symbol_clusters(cosines), clusters)
    readable = np.mean(probes.readable_pairs(two, lookup), axis=0)
    blocks = probes.mean_by_group(readable, groups, groups)
    assert (np.diag(blocks) == 1).all()
    np.testing.assert_allclose(blocks[[0, 1], [1, 0]], 1 / 8, atol=0.04)
    assert probes.readable_pairs(one, lookup, tasks.LabelledSequences.framed).all()


def test_the_readout_is_one_hot_and_the_symbol_may_come_first():
    lookup = tasks.LookupTables([[1, 2, 0], [0, 2, 1]], ("0", "1", "2"), forward=True)
    network = models.CodedLookup.shared(lookup.tables, forward=True, key=KEY)
    items = lookup.write_rows(np.array([[0, 0, 1], [2, 1, -1]]))
    assert [items.text(i) for i in range(2)] == ["0 a b", "2 b"]
    np.testing.assert_allclose(
        network(items.tokens, items.lengths), [[0, 0, 1], [0, 1, 0]], atol=1e-6
    )


def test_functions_without_a_group_are_refused():
    tables = task_of("repeating").lookup.tables
    with pytest.raises(ValueError, match="one of 2 groups"):
        models.CodedLookup.per_group(tables, (0, 1), jnp.eye(2, dtype=bool), key=KEY)
