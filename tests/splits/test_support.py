from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recombine import splits
from recombine.splits._support import discrete_sample_condition


@st.composite
def masks(draw):
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 7)))
    drawn = draw(hnp.arrays(bool, shape))
    drawn[~drawn.any(1), draw(st.integers(0, shape[1] - 1))] = True
    return drawn


def by_search_over_masks(masks):
    """The definition: nodes are masks, edges join masks that overlap."""
    left, parts = set(range(len(masks))), []
    while left:
        part = frontier = {left.pop()}
        while frontier:
            frontier = {k for k in left for l in frontier if (masks[k] & masks[l]).any()}
            left -= frontier
            part = part | frontier
        parts.append(frozenset(np.flatnonzero(masks[list(part)].any(0)).tolist()))
    return set(parts)


def by_union_find_over_modules(masks):
    parent = list(range(masks.shape[1]))

    def root(m):
        while parent[m] != m:
            m = parent[m]
        return m

    for mask in masks:
        first, *others = np.flatnonzero(mask)
        for m in others:
            parent[root(m)] = root(first)
    seen = np.flatnonzero(masks.any(0))
    parts = {}
    for m in seen:
        parts.setdefault(root(m), set()).add(int(m))
    return {frozenset(part) for part in parts.values()}


@settings(deadline=None)
@given(masks())
def test_components_are_those_of_a_search_over_masks_and_of_union_find_over_modules(masks):
    support = splits.connected_support(masks)
    found = {frozenset(part) for part in support.components}
    assert found == by_search_over_masks(masks) == by_union_find_over_modules(masks)
    assert len(found) == len(support.components)
    assert bool(support) == (len(found) == 1)
    assert list(support.components) == sorted(support.components)
    assert support.unseen == splits.compositional_support(masks).unseen
    assert set(support.unseen) == set(range(masks.shape[1])) - set().union(*found)


@settings(deadline=None)
@given(masks(), st.data())
def test_a_mask_that_overlaps_never_disconnects_and_never_hides_a_module(masks, data):
    anchor = data.draw(st.sampled_from(np.flatnonzero(masks.any(0)).tolist()))
    added = data.draw(hnp.arrays(bool, masks.shape[1]))
    added[anchor] = True
    before, after = (splits.connected_support(m) for m in (masks, np.vstack([masks, added])))
    assert len(after.components) <= len(before.components)
    assert set(after.unseen) <= set(before.unseen)


@settings(deadline=None)
@given(masks(), st.randoms())
def test_neither_the_order_of_tasks_nor_repetition_matters(masks, random):
    order = random.choices(range(len(masks)), k=5) + random.sample(range(len(masks)), len(masks))
    assert splits.connected_support(masks[order]) == splits.connected_support(masks)


def test_the_papers_example_falls_apart_unless_the_halves_are_joined():
    apart = ["01", "12", "34", "45"]
    support = splits.connected_support(splits.masks_of(apart, 6))
    assert not support
    assert support.components == ((0, 1, 2), (3, 4, 5))
    assert splits.compositional_support(splits.masks_of(apart, 6))
    joined = splits.connected_support(splits.masks_of([*apart, "23"], 6))
    assert joined
    assert joined.components == (tuple(range(6)),)


def test_a_module_that_is_never_used_is_named_and_does_not_disconnect():
    support = splits.connected_support(splits.masks_of(["01", "13"], 5))
    assert support
    assert support.unseen == (2, 4)
    compositional = splits.compositional_support(splits.masks_of(["01", "13"], 5))
    assert not compositional
    assert compositional.unseen == (2, 4)


def test_layers_are_judged_one_by_one_unless_asked_across():
    first, second = splits.masks_of(["01", "12"], 3), splits.masks_of(["0", "1"], 3)
    codes = np.stack([first, second], axis=1)
    support = splits.connected_support(codes)
    assert not support
    assert support.components == (((0, 0), (0, 1), (0, 2)), ((1, 0),), ((1, 1),))
    assert support.unseen == ((1, 2),)
    assert splits.compositional_support(codes).unseen == ((1, 2),)
    across = splits.connected_support(codes, across_layers=True)
    assert across
    assert across.components == (((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)),)


def test_single_modules_in_two_layers_are_disconnected_in_each():
    codes = splits.layered_codes(splits.k_hot_masks(4, 1), 2)
    assert len(splits.connected_support(codes).components) == 8
    assert splits.connected_support(codes, across_layers=True)


def test_codes_of_one_layer_are_judged_as_their_masks():
    masks = splits.masks_of(["01", "23"], 4)
    components = splits.connected_support(masks[:, None]).components
    assert components == (((0, 0), (0, 1)), ((0, 2), (0, 3)))
    assert not splits.connected_support(masks)


def test_pairs_with_their_single_modules_are_enough_and_pairs_alone_are_not():
    pairs = splits.masks_of(["01", "12"], 3)
    alone = discrete_sample_condition(pairs / np.sqrt(2), pairs)
    assert not alone
    assert [(f.modules, f.directions, f.needed) for f in alone.families] == [
        ((0, 1), 1, 3),
        ((1, 2), 1, 3),
    ]
    every = np.vstack([np.eye(3, dtype=bool), pairs])
    enough = discrete_sample_condition(every.astype(float), every)
    assert enough
    assert [f.contained for f in enough.families] == [True, True, True, False, False]
    assert all(f.directions == f.needed for f in enough.families)


def test_tasks_that_are_multiples_of_one_another_count_once():
    mask = np.ones((1, 2), bool)
    latents = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -3.0], [2.0, 0.0], [0.0, 0.0]])
    (family,) = discrete_sample_condition(latents, mask).families
    assert family.directions == 2
    assert not family


def test_enough_tasks_in_special_position_are_not_enough():
    mask = np.ones((1, 3), bool)
    in_a_plane = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 2, 0]]
    (family,) = discrete_sample_condition(np.array(in_a_plane, float), mask).families
    assert family.directions == 5
    assert not family
    assert discrete_sample_condition(np.array([*in_a_plane, [1, 1, 1]], float), mask)


@settings(deadline=None)
@given(
    hnp.arrays(int, st.tuples(st.integers(1, 5), st.integers(2, 3)), elements=st.integers(-1, 1))
)
def test_general_position_is_found_wherever_brute_force_finds_it(latents):
    d = latents.shape[1]
    expected = any(
        all(abs(np.linalg.det(latents[list(some)])) > 0.5 for some in combinations(chosen, d))
        for chosen in combinations(range(len(latents)), d + 1)
    )
    condition = discrete_sample_condition(latents.astype(float), np.ones((1, d), bool))
    assert bool(condition) == expected


def test_tasks_drawn_at_random_are_in_general_position():
    rng = np.random.default_rng(0)
    mask = np.ones((1, 6), bool)
    assert discrete_sample_condition(rng.exponential(size=(7, 6)), mask)
    assert not discrete_sample_condition(rng.exponential(size=(6, 6)), mask)


@pytest.mark.parametrize(
    ("codes", "mistake"),
    [
        (np.zeros((2, 3), bool), "task 0 uses no module in layer 0"),
        (np.zeros((0, 3), bool), "none of them empty"),
        (np.ones((1, 1, 1, 1), bool), r"shape \(1, 1, 1, 1\)"),
    ],
)
def test_a_mistake_is_named(codes, mistake):
    for condition in (splits.connected_support, splits.compositional_support):
        with pytest.raises(ValueError, match=mistake):
            condition(codes)
