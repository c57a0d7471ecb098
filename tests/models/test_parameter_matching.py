"""Sizes with which blocks have equally many parameters."""

import pytest

from recombine import models


@pytest.mark.parametrize(
    ("width", "experts", "hidden"),
    [(412, 16, 2053.01), (1024, 32, 4109.5), (512, 16, 2053.5), (412, 128, 16427.6)],
)
def test_dense_networks_match_the_mixtures_of_the_thesis(width, experts, hidden):
    count = models.mixture_parameters(width, experts, 128)
    assert models.matching_hidden(count, width) == pytest.approx(hidden, abs=0.06)


@pytest.mark.parametrize(("width", "hidden", "keys"), [(412, 2053, 62), (1024, 4110, 89)])
def test_product_keys_match_the_dense_networks_of_the_thesis(width, hidden, keys):
    count = models.dense_parameters(width, hidden)
    assert round(models.matching_keys(count, width)) == keys


def test_a_matching_size_gives_the_count_back():
    assert models.matching_hidden(models.dense_parameters(10, 33), 10) == pytest.approx(33)
    assert models.matching_keys(models.product_key_parameters(10, 9, 3), 10, 3) == pytest.approx(9)
