import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recombine import splits
from recombine.splits._mixing_routes import mixing_routes
from recombine.splits._route_graph import (
    joining_routes,
    mask_family,
    route_components,
    spectral_gap,
)

masks = hnp.arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 7)))


def as_mask(rows):
    return np.array([[c == "x" for c in row] for row in rows.split()])


def components_by_matrix_powers(mask):
    """The number of components from the reachability matrix of the whole graph."""
    M_in, M_out = mask.shape
    adjacency = np.eye(M_in + M_out)
    adjacency[:M_in, M_in:] = mask
    adjacency[M_in:, :M_in] = mask.T
    reach = np.linalg.matrix_power(adjacency, M_in + M_out) > 0
    return len(np.unique(reach, axis=0))


def test_components_name_the_domains_that_share_routes():
    parts = route_components(as_mask("x..x .x.. x... ...."))
    assert [(part.inputs, part.outputs) for part in parts] == [
        ((0, 2), (0, 3)),
        ((1,), (1,)),
        ((3,), ()),
        ((), (2,)),
    ]


@given(masks)
@settings(max_examples=60, deadline=None)
def test_components_are_those_of_the_reachability_matrix(mask):
    parts = route_components(mask)
    assert len(parts) == components_by_matrix_powers(mask)
    assert sorted(i for part in parts for i in part.inputs) == list(range(mask.shape[0]))
    assert sorted(j for part in parts for j in part.outputs) == list(range(mask.shape[1]))


@given(masks)
@settings(max_examples=60, deadline=None)
def test_joining_routes_connect_a_mask_with_as_few_as_can_be(mask):
    parts = route_components(mask)
    routes = joining_routes(parts)
    assert len(routes) == len(parts) - 1
    joined = mask.copy()
    for i, j in routes:
        assert not joined[i, j]
        joined[i, j] = True
    assert components_by_matrix_powers(joined) == 1


@pytest.mark.parametrize(("M", "K"), [(7, 4), (10, 2), (10, 4), (20, 8)])
def test_gap_of_a_ring_is_the_closed_form(M, K):
    expected = 1 - np.sin(np.pi * K / M) / (K * np.sin(np.pi / M))
    assert spectral_gap(splits.ring_mask(M, K)) == pytest.approx(expected, abs=1e-12)


def test_gap_is_one_if_all_partners_are_the_same_and_zero_if_parts_are_apart():
    assert spectral_gap(splits.full_mask(5)) == pytest.approx(1)
    assert spectral_gap(np.ones((1, 4), bool)) == 1
    assert spectral_gap(splits.diagonal_mask(5)) == 0


def test_a_bottleneck_is_worse_than_few_routes():
    halves = np.kron(np.eye(2), np.ones((5, 5))).astype(bool)
    halves[0, 5] = True
    hub = np.eye(10, dtype=bool)
    hub[:, 0] = True
    assert halves.sum() > 2 * hub.sum()
    assert spectral_gap(halves) < 0.05 < 0.5 < spectral_gap(hub)


@given(masks, st.floats(0, 0.6))
@settings(max_examples=40, deadline=None)
def test_mixing_routes_reach_the_gap(mask, gap):
    mixed = mask.copy()
    for i, j in mixing_routes(mask, gap):
        assert not mixed[i, j]
        mixed[i, j] = True
    assert spectral_gap(mixed) >= gap or mixed.all()


@given(st.integers(4, 12), st.data())
@settings(max_examples=40, deadline=None)
def test_a_ring_is_recognised_in_any_order_of_its_domains(M, data):
    K = data.draw(st.integers(1, M - 1))
    rows = data.draw(st.permutations(range(M)))
    columns = data.draw(st.permutations(range(M)))
    ring = np.asarray(splits.ring_mask(M, K))
    assert mask_family(ring[rows][:, columns]) == "ring"


def test_two_small_rings_are_regular_but_not_a_ring():
    two = np.kron(np.eye(2), np.asarray(splits.ring_mask(4, 2))).astype(bool)
    assert mask_family(two) == "regular"


def test_every_ring_has_neighbours_but_not_every_mask_with_neighbours_is_a_ring():
    # Offsets 0, 1, 3 modulo 7, the Fano plane: every two inputs share exactly one output.
    fano = np.isin((np.arange(7) - np.arange(7)[:, None]) % 7, [0, 1, 3])
    assert mask_family(fano) == "regular"


@pytest.mark.parametrize(
    ("mask", "family"),
    [
        (np.ones((3, 2), bool), "full"),
        (np.zeros((3, 3), bool), "other"),
        (as_mask("xx.. ..xx"), "regular"),
        (as_mask("xx. .xx ..x"), "other"),
    ],
)
def test_families_of_small_masks(mask, family):
    assert mask_family(mask) == family


def test_random_regular_masks_are_mostly_not_rings():
    keys = jax.random.split(jax.random.key(0), 10)
    families = [mask_family(splits.random_regular_mask(12, 3, key=k)) for k in keys]
    assert families.count("regular") >= 9
