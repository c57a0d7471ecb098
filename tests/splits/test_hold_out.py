from itertools import product

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import splits

KEY = jax.random.key(0)


def words(codes):
    return {tuple("".join(map(str, np.flatnonzero(mask))) for mask in code) for code in codes}


def goals():
    return splits.FactorTable.of(
        list(product(range(4), range(2), range(5), range(5))),
        factors=("quadrant", "interaction", "maze", "object"),
    )


@settings(max_examples=25, deadline=None)
@given(
    M=st.integers(3, 6),
    layers=st.integers(1, 2),
    fraction=st.floats(0.2, 0.6),
    seed=st.integers(0, 99),
)
def test_a_random_split_parts_the_codes_and_trains_every_module(M, layers, fraction, seed):
    codes = splits.layered_codes(splits.up_to_k_hot_masks(M, 2), layers)
    split = splits.random_hold_out(codes, fraction, key=jax.random.key(seed))
    assert len(split.held_out) == int(fraction * len(codes) + 1e-9)
    assert words(split.train) | words(split.held_out) == words(codes)
    assert not words(split.train) & words(split.held_out)
    assert split.train.any(0).all()
    assert split.compositional


def test_a_quarter_of_the_preference_masks_is_held_out():
    split = splits.random_hold_out(splits.up_to_k_hot_masks(8, 3), key=KEY)
    assert split.train.shape == (69, 1, 8)
    assert split.held_out.shape == (23, 1, 8)


def test_a_random_split_depends_on_its_key_and_on_nothing_else():
    codes = splits.up_to_k_hot_masks(8, 3)
    first, again = (splits.random_hold_out(codes, key=KEY) for _ in range(2))
    other = splits.random_hold_out(codes, key=jax.random.key(1))
    assert np.array_equal(first.train, again.train)
    assert words(first.train) != words(other.train)


def test_splits_that_lose_a_module_are_drawn_again_and_counted():
    codes = splits.up_to_k_hot_masks(4, 2)
    drawn = [splits.random_hold_out(codes, 0.7, key=jax.random.key(s)) for s in range(20)]
    assert all(split.compositional for split in drawn)
    assert max(split.redraws for split in drawn) > 0


def test_a_code_with_a_module_of_its_own_is_always_trained():
    codes = splits.masks_of(["01", "12", "02", "3"], 4)
    for seed in range(10):
        split = splits.random_hold_out(codes, key=jax.random.key(seed))
        assert ("3",) in words(split.train)


@pytest.mark.parametrize(
    ("codes", "fraction", "mistake"),
    [
        (splits.k_hot_masks(4, 1), 0.25, "module 0 of layer 0 occurs once.*hold out fewer"),
        (splits.k_hot_masks(6, 2), 0.9, "hardly ever contain every module; hold out fewer"),
        (splits.k_hot_masks(3, 2), 0.25, "hold out a larger one"),
        (splits.k_hot_masks(3, 2), 1.0, "between 0 and 1"),
        (splits.masks_of(["01", "01", "01", "01"], 2), 0.5, "list a code once"),
    ],
)
def test_an_impossible_random_split_says_why(codes, fraction, mistake):
    with pytest.raises(ValueError, match=mistake):
        splits.random_hold_out(codes, fraction, key=KEY)


def test_a_module_of_the_last_layer_is_held_out():
    codes = splits.layered_codes(splits.up_to_k_hot_masks(8, 2), 2)
    split = splits.module_hold_out(codes)
    assert (len(split.train), len(split.held_out)) == (1008, 288)
    assert split.held_out[:, 1, 7].all()
    assert not split.train[:, 1, 7].any()
    assert split.train[:, 0, 7].any()
    assert not split.compositional


def test_a_module_of_all_layers_is_held_out():
    codes = splits.layered_codes(splits.up_to_k_hot_masks(8, 2), 2)
    split = splits.module_hold_out(codes, layers="all")
    assert (len(split.train), len(split.held_out)) == (28**2, 36**2 - 28**2)
    assert not split.train[:, :, 7].any()


def test_a_module_of_the_preference_masks_is_held_out():
    split = splits.module_hold_out(splits.up_to_k_hot_masks(8, 3))
    assert (len(split.train), len(split.held_out)) == (63, 29)


@pytest.mark.parametrize(
    ("codes", "arguments", "mistake"),
    [
        (splits.k_hot_masks(3, 1), {"module": 3}, "module 3 is not among modules 0 to 2"),
        (
            splits.k_hot_masks(3, 1),
            {"layers": 1},
            "layers is 'last', 'all' or one of 0 to 0, not 1",
        ),
        (splits.masks_of(["0", "01"], 3), {}, "no code uses module -1"),
        (splits.k_hot_masks(3, 3), {}, "none is left to train on"),
    ],
)
def test_an_impossible_module_hold_out_says_why(codes, arguments, mistake):
    with pytest.raises(ValueError, match=mistake):
        splits.module_hold_out(codes, **arguments)


def test_connected_and_disconnected_preference_masks_leave_ten_pairs():
    connected, disconnected = splits.connected_split(), splits.disconnected_split()
    assert (len(connected.train), len(disconnected.train)) == (24, 20)
    assert connected.connected
    assert not disconnected.connected
    pairs = ["04", "05", "14", "15", "16", "25", "26", "27", "36", "37"]
    for split in (connected, disconnected):
        assert split.compositional
        assert words(split.held_out) == {(pair,) for pair in pairs}


@pytest.mark.parametrize(
    ("coupling", "trained", "held_out"),
    [("half and count", 104, 698), ("half", 200, 682), ("none", 400, 644)],
)
def test_connected_and_disconnected_codes_of_two_layers(coupling, trained, held_out):
    connected = splits.connected_split(layers=2, coupling=coupling)
    disconnected = splits.disconnected_split(layers=2, coupling=coupling)
    assert (len(connected.train), len(disconnected.train)) == (576, trained)
    assert len(connected.held_out) == held_out
    assert words(connected.held_out) == words(disconnected.held_out)
    assert connected.connected
    assert not disconnected.connected
    every = words(splits.layered_codes(splits.up_to_k_hot_masks(8, 2), 2))
    assert words(connected.train) | words(disconnected.train) | words(connected.held_out) == every


def test_coupled_layers_have_the_same_half_and_as_many_modules():
    for first, second in words(splits.disconnected_split(layers=2).train):
        assert len(first) == len(second)
        assert len({module < "4" for module in first + second}) == 1


def test_splits_by_connectedness_need_codes_to_hold_out():
    with pytest.raises(ValueError, match="take more modules"):
        splits.connected_split(4)


def test_a_thinned_split_keeps_its_support_and_its_held_out_codes():
    connected = splits.connected_split(layers=2)
    size = len(splits.disconnected_split(layers=2).train)
    thin = connected.thinned(size, key=KEY)
    assert thin.train.shape == (104, 2, 8)
    assert words(thin.train) < words(connected.train)
    assert thin.compositional
    assert thin.connected
    assert np.array_equal(thin.held_out, connected.held_out)
    few = splits.connected_split().thinned(8, key=KEY)
    assert few.connected
    assert few.redraws > 0


def test_too_few_codes_cannot_keep_the_support():
    split = splits.connected_split()
    with pytest.raises(ValueError, match="keep more"):
        split.thinned(3, key=KEY)
    with pytest.raises(ValueError, match="24 trained codes to choose 25 from"):
        split.thinned(25, key=KEY)


def test_held_out_codes_are_chosen_by_their_number_of_modules():
    codes = splits.layered_codes(splits.up_to_k_hot_masks(4, 2), 2)
    split = splits.random_hold_out(codes, key=KEY)
    for k in (1, 2):
        chosen = split.held_out_with(k)
        assert (chosen.sum(-1) == k).all()
        assert words(chosen) <= words(split.held_out)
        expected = {code for code in words(split.held_out) if {len(mask) for mask in code} == {k}}
        assert words(chosen) == expected
    assert split.held_out_with(4).shape == (1, 2, 4)
    assert split.held_out_with(5) is None


def test_codes_with_more_modules_than_the_split_are_all_new():
    split = splits.connected_split(layers=2)
    every = split.held_out_with(4, most=5000)
    assert every.shape == (70**2, 2, 8)
    drawn = split.held_out_with(4, most=300, key=KEY)
    assert drawn.shape == (300, 2, 8)
    assert (drawn.sum(-1) == 4).all()
    assert words(drawn) <= words(every)
    np.testing.assert_allclose(drawn.mean(0), 0.5, atol=0.12)
    with pytest.raises(ValueError, match="give a key"):
        split.held_out_with(4)


def test_there_may_be_no_held_out_code_with_all_modules():
    codes = splits.up_to_k_hot_masks(3, 3)
    full = codes.all(1)
    assert splits.Split(codes[full][:, None], codes[~full][:, None]).held_out_with(3) is None
    assert splits.Split(codes[~full][:, None], codes[full][:, None]).held_out_with(3).all()


def test_goals_are_held_out_at_random_with_every_value_trained():
    table = goals()
    split = splits.random_hold_out(table.codes, key=KEY)
    assert split.train.shape == (150, 4, 5)
    assert split.held_out.shape == (50, 4, 5)
    assert split.train.any(0).sum(1).tolist() == [4, 2, 5, 5]
    assert split.compositional
    assert split.connected_across_layers
    assert not split.connected
    assert set(table.of_codes(split.train)) | set(table.of_codes(split.held_out)) == set(table)


def test_goals_of_a_quadrant_are_held_out():
    table = goals()
    layer, module = table.find("quadrant", 3)
    split = splits.module_hold_out(table.codes, module, layers=layer)
    assert (len(split.train), len(split.held_out)) == (150, 50)
    assert {goal[0] for goal in table.of_codes(split.held_out)} == {3}
    assert not split.compositional


def test_a_split_refuses_codes_that_do_not_fit():
    codes = splits.k_hot_masks(3, 1)[:, None]
    with pytest.raises(ValueError, match="1 held-out codes are trained as well"):
        splits.Split(codes, codes[:1])
    with pytest.raises(ValueError, match="train at least one"):
        splits.Split(codes[:0], codes)
