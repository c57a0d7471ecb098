"""Routes to mix are those of a plain implementation that decomposes the mask for every route."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recombine.splits import _mixing_routes
from recombine.splits._mixing_routes import mixing_routes
from recombine.splits._route_graph import joining_routes, route_components, spectral_gap
from recombine.splits._routes import ring_mask

masks = hnp.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12)))


def slowest_mode(trained):
    """The gap, the two slowest modes' singular values, and where the slowest places domains."""
    rows, columns = np.sqrt(trained.sum(1)), np.sqrt(trained.sum(0))
    plain = np.linalg.svd(trained.astype(float), compute_uv=False)
    U, normalised, Vt = np.linalg.svd(trained / np.outer(rows, columns), full_matrices=False)
    gap = 1 - np.sqrt(plain[1] / plain[0] * normalised[1] / normalised[0])
    return gap, normalised[1:3], U[:, 1] / rows, Vt[1] / columns


def furthest(trained, inputs, outputs):
    apart = np.where(trained, -np.inf, (inputs[:, None] - outputs) ** 2)
    i, j = np.argwhere(apart > apart.max() - 1e-9)[0]
    return int(i), int(j)


def mixing_routes_one_decomposition_each(mask, gap):
    trained = mask.copy()
    routes = list(joining_routes(route_components(trained)))
    for route in routes:
        trained[route] = True
    while not (1 in trained.shape or trained.all()):
        reached, _, inputs, outputs = slowest_mode(trained)
        if reached >= gap:
            break
        routes.append(furthest(trained, inputs, outputs))
        trained[routes[-1]] = True
    return tuple(routes)


def check_every_choice(mask, gap):
    """Every choice is the plain one, wherever one mode is slower than all others."""
    routes = mixing_routes(mask, gap)
    joining = joining_routes(route_components(mask))
    assert routes[: len(joining)] == joining
    trained, compared = mask.copy(), 0
    for n, route in enumerate(routes):
        assert not trained[route]
        if n >= len(joining):
            reached, slow, inputs, outputs = slowest_mode(trained)
            assert reached < gap
            if len(slow) == 1 or slow[0] - slow[1] > 1e-6:
                assert route == furthest(trained, inputs, outputs)
                compared += 1
        trained[route] = True
    assert spectral_gap(trained) >= gap or trained.all()
    return compared


@given(masks, st.floats(0, 0.6))
@settings(max_examples=60, deadline=None)
def test_small_masks_have_the_routes_of_the_plain_implementation(mask, gap):
    assert mixing_routes(mask, gap) == mixing_routes_one_decomposition_each(mask, gap)


@pytest.fixture
def tracked(monkeypatch):
    """Masks of any size are tracked, as large ones are."""
    monkeypatch.setattr(_mixing_routes, "_MOST_DECOMPOSED", 0)


THREE_BLOCKS = np.kron(np.eye(3), np.ones((3, 3))).astype(bool)
BETWEEN_TWO_ROUNDINGS = np.zeros((8, 7), bool)
"""Which comes to equal distances of 0.4713799755 and a mode that is alone."""
BETWEEN_TWO_ROUNDINGS[[0, 1, 1, 4, 4, 5, 5], [6, 4, 5, 2, 3, 2, 4]] = True


@given(masks, st.floats(0.05, 0.6))
@example(THREE_BLOCKS, 0.419284521341283)  # reached by a route that changes the largest mode
@example(np.zeros((6, 11), bool), 0.3054440407759617)
@example(BETWEEN_TWO_ROUNDINGS, 0.4241475657463585)
@settings(max_examples=60, deadline=None)
def test_tracked_modes_make_the_plain_choices_in_small_masks(mask, gap):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_mixing_routes, "_MOST_DECOMPOSED", 0)
        check_every_choice(mask, gap)


@pytest.mark.usefixtures("tracked")
@pytest.mark.parametrize("shape", [(70, 70), (66, 90), (90, 66)])
def test_tracked_modes_make_the_plain_choices_in_large_masks(shape):
    mask = np.random.default_rng(0).random(shape) < 3 / 70
    assert check_every_choice(mask, 0.22) > 40


@pytest.mark.usefixtures("tracked")
def test_equally_slow_modes_do_not_keep_a_large_mask_from_the_gap():
    blocks = np.kron(np.eye(10), np.ones((7, 7))).astype(bool)
    check_every_choice(blocks, 0.22)
    check_every_choice(np.asarray(ring_mask(70, 2)), 0.22)


@pytest.mark.usefixtures("tracked")
def test_a_gap_that_is_reached_needs_no_routes():
    assert mixing_routes(np.ones((70, 80), bool), 1.0) == ()
    hub = np.eye(70, dtype=bool)
    hub[:, 0] = True
    assert mixing_routes(hub, 0.22) == ()
