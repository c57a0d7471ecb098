"""Representations of symbols: asked of networks that are made by hand, and entry by entry."""

import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes, tasks

# Three functions of group 0, two of group 1, on four symbols.
GROUPS = np.array([0, 0, 1, 0, 1])
TABLES = np.array([[1, 2, 3, 0], [3, 1, 0, 2], [0, 1, 3, 2], [2, 0, 1, 3], [1, 0, 2, 3]])
LOOKUP = tasks.LookupTables(TABLES, ("0", "1", "2", "3"))


def applied(tokens):
    """The symbol before and after the last function, that function, and the one before it or -1."""
    functions = tokens - 5
    value = tokens[:, -1] - 1
    for place in reversed(range(1, tokens.shape[1] - 1)):
        value = jnp.asarray(TABLES)[functions[:, place], value]
    earlier = functions[:, 1] if tokens.shape[1] > 2 else jnp.full(len(tokens), -1)
    return value, jnp.asarray(TABLES)[functions[:, 0], value], functions[:, 0], earlier


class Codes:
    """Symbols have one code, or one for each group of functions that only this group can read."""

    def __init__(self, shared):
        self.shared = shared

    def represent(self, tokens, lengths):
        _, value, function, _ = applied(tokens)
        group = jnp.where(self.shared, 0, jnp.asarray(GROUPS)[function])
        return jnp.eye(8)[value + 4 * group] + 0.1

    def __call__(self, tokens, lengths):
        _, value, function, earlier = applied(tokens)
        groups = jnp.asarray(GROUPS)
        readable = self.shared | (groups[function] == groups[earlier])
        return jnp.eye(4)[jnp.where(readable, value, (value + 1) % 4)]


def test_one_code_for_a_symbol_is_one_cluster_and_every_function_reads_it():
    network = Codes(shared=True)
    maps = probes.cosine_maps(probes.symbol_representations(network.represent, LOOKUP))
    np.testing.assert_allclose(maps, np.ones((4, 5, 5)), atol=1e-6)
    for cosines in maps:
        np.testing.assert_array_equal(probes.symbol_clusters(np.asarray(cosines)), np.zeros(5))
    assert probes.readable_pairs(network, LOOKUP).all()


def test_two_codes_for_a_symbol_are_the_groups_and_only_their_own_group_reads_them():
    network = Codes(shared=False)
    maps = probes.cosine_maps(probes.symbol_representations(network.represent, LOOKUP))
    within, across = probes.group_cosines(maps, GROUPS)
    np.testing.assert_allclose(within, 1, atol=1e-6)
    # Eight entries of 0.1, one of them of 1.1; in two codes that one is not the same.
    np.testing.assert_allclose(across, 0.28 / 1.28, atol=1e-6)
    readable = probes.readable_pairs(network, LOOKUP)
    for cosines, right in zip(np.asarray(maps), readable, strict=True):
        clusters = probes.symbol_clusters(cosines)
        np.testing.assert_array_equal(clusters, GROUPS)
        np.testing.assert_array_equal(probes.mean_by_group(right, clusters, GROUPS), np.eye(2))


@pytest.mark.parametrize("framed", [False, True])
def test_representations_and_pairs_are_asked_for_one_by_one(framed):
    """A network of arbitrary answers, and every question written out."""
    weights = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4)))

    def network(tokens, lengths):
        return jnp.sin(3 * tokens.astype(float) @ weights[: tokens.shape[1]])

    frame = tasks.LabelledSequences.framed if framed else None
    vectors = probes.symbol_representations(network, LOOKUP, frame)
    pairs = probes.readable_pairs(network, LOOKUP, frame)
    assert 0.1 < pairs.mean() < 0.5
    names = LOOKUP.functions
    vocabulary = [*LOOKUP.vocabulary, *("BE" if framed else "")]

    def ask(text):
        words = f"B {text} E".split() if framed else text.split()
        tokens = jnp.array([[vocabulary.index(word) for word in words]])
        return np.asarray(network(tokens, jnp.array([len(words)])))[0]

    for f in range(5):
        for symbol in range(4):
            produced = TABLES[f, symbol]
            found = ask(f"{names[f]} {symbol}")
            np.testing.assert_allclose(vectors[produced, f], found, atol=1e-4)
            for g in range(5):
                answer = ask(f"{names[g]} {names[f]} {symbol}").argmax()
                assert pairs[produced, f, g] == (answer == TABLES[g, produced])


def test_cosines_are_of_directions_only_and_nothing_has_no_direction():
    vectors = np.array([[[3.0, 0], [0, 2], [1, 1], [0, 0]]])
    half = np.sqrt(0.5)
    expected = [[1, 0, half, 0], [0, 1, half, 0], [half, half, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(probes.cosine_maps(vectors)[0], expected, atol=1e-6)


def test_means_are_of_the_blocks_of_groups():
    values = np.arange(12.0).reshape(3, 4)
    found = probes.mean_by_group(values, np.array([7, 2, 7]), np.array([0, 1, 1, 1]))
    np.testing.assert_allclose(found, [[4, 6], [(0 + 8) / 2, (1 + 2 + 3 + 9 + 10 + 11) / 6]])
