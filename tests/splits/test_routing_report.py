import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recombine import splits


def test_the_papers_mask_supports_zero_shot_routing():
    report = splits.routing_report(
        splits.ring_mask(7, 4), init_scale=0.2, final_singular_value=1.74, sharing=0.97
    )
    assert report.supports_zero_shot
    assert report.every_input_trained
    assert report.every_output_trained
    assert report.connected
    assert report.fraction == pytest.approx(28 / 49)
    assert report.family == "ring"
    assert report.expected_threshold == 0.4
    assert report.above_threshold
    assert report.well_mixed
    assert report.small_init
    assert report.shares
    assert len(report.reachable) == 21
    assert "can support zero-shot routing" in report.describe()
    assert "NOT" not in report.describe()


def test_one_route_per_domain_fails_for_lack_of_connections():
    report = splits.routing_report(splits.ring_mask(10, 1))
    assert not report.supports_zero_shot
    assert not report.connected
    assert len(report.components) == 10
    assert report.reachable == ()
    assert report.spectral_gap == 0


def test_a_disconnected_mask_is_flagged_with_the_routes_that_would_join_it():
    mask = np.kron(np.eye(2), np.ones((3, 3))).astype(bool)
    report = splits.routing_report(mask)
    assert report.every_input_trained
    assert report.every_output_trained
    assert not report.connected
    assert not report.supports_zero_shot
    assert report.routes_to_connect == ((3, 0),)
    text = report.describe()
    assert "inputs 0, 1, 2 with outputs 0, 1, 2; inputs 3, 4, 5 with outputs 3, 4, 5" in text
    assert "to connect them, also train: 3 -> 0" in text


def test_domains_without_a_route_are_named():
    mask = np.ones((3, 4), bool)
    mask[1] = False
    mask[:, [0, 3]] = False
    report = splits.routing_report(mask)
    assert report.untrained_inputs == (1,)
    assert report.untrained_outputs == (0, 3)
    assert not report.supports_zero_shot
    assert "C1 input domains without a trained route: 1" in report.describe()
    assert "C2 output domains without a trained route: 0, 3" in report.describe()


def test_a_bottleneck_fails_although_half_of_all_routes_are_trained():
    mask = np.kron(np.eye(2), np.ones((5, 5))).astype(bool)
    mask[0, 5] = True
    report = splits.routing_report(mask)
    assert report.connected
    assert report.above_threshold
    assert not report.well_mixed
    assert not report.supports_zero_shot
    assert "mix the domains poorly" in report.describe()


@pytest.mark.parametrize(
    ("M", "K", "supports"),
    [(10, 2, False), (10, 3, False), (10, 4, True), (20, 6, False), (20, 8, True)],
)
def test_rings_are_supported_from_about_forty_percent(M, K, supports):
    report = splits.routing_report(splits.ring_mask(M, K))
    assert report.supports_zero_shot == supports
    assert report.above_threshold == supports


def test_large_initial_weights_and_missing_sharing_are_counted_against_a_good_mask():
    mask = splits.ring_mask(7, 4)
    lazy = splits.routing_report(mask, init_scale=2.5, final_singular_value=2.8)
    assert lazy.relative_init == pytest.approx(2.5 / 2.8)
    assert lazy.small_init is False
    assert not lazy.supports_zero_shot
    assert "lazy regime" in lazy.describe()
    private = splits.routing_report(mask, sharing=0.1)
    assert private.shares is False
    assert not private.supports_zero_shot


def test_unknown_training_is_not_held_against_a_mask():
    report = splits.routing_report(splits.ring_mask(7, 4))
    assert report.small_init is None
    assert report.shares is None
    assert report.supports_zero_shot
    assert "C5 unknown" in report.describe()


def test_a_full_mask_leaves_nothing_to_generalise_to():
    report = splits.routing_report(splits.full_mask(4))
    assert report.supports_zero_shot
    assert report.family == "full"
    assert report.reachable == ()


@given(hnp.arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6))))
@settings(max_examples=40, deadline=None)
def test_following_the_advice_makes_any_mask_support_zero_shot_routing(mask):
    report = splits.routing_report(mask)
    improved = mask.copy()
    for i, j in report.routes_to_mix:
        improved[i, j] = True
    assert splits.routing_report(improved).supports_zero_shot
    assert report.supports_zero_shot == (not report.routes_to_mix)
    assert len(report.routes) == mask.sum()
    assert report.describe().count("\n") >= 5


def test_domains_are_called_what_the_user_calls_them():
    names = {"input_names": ["camera", "lidar", "touch"], "output_names": ["speech", "steering"]}
    text = splits.routing_report(np.eye(3, 2, dtype=bool), **names).describe()
    assert "input domains without a trained route: touch" in text
    assert "inputs camera with outputs speech; inputs lidar with outputs steering" in text
    assert "input touch alone" in text
    assert "lidar -> speech" in text
    with pytest.raises(ValueError, match="2 domains need as many different names"):
        splits.routing_report(np.eye(2, dtype=bool), input_names=["camera"])


def test_the_report_is_frozen():
    report = splits.routing_report(splits.full_mask(2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.fraction = 0.0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="rows and columns"):
        splits.routing_report(np.ones((0, 3), bool))
    with pytest.raises(ValueError, match="together"):
        splits.routing_report(splits.full_mask(2), init_scale=0.2)
