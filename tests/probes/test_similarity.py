import jax
import numpy as np
import pytest

from recombine import probes
from recombine.probes._similarity import centred_cosine, similarity_blocks


def random_activity(M=3, items=4, hidden=6, seed=0):
    return np.random.default_rng(seed).normal(size=(M, items, hidden))


def test_blocks_are_dot_products_of_items_across_domains(x64):
    H = random_activity()
    blocks = similarity_blocks(H)
    assert blocks.shape == (3, 3, 4, 4)
    for i in range(3):
        for j in range(3):
            for a in range(4):
                for b in range(4):
                    expected = np.dot(H[i, a], H[j, b])
                    assert blocks[i, j, a, b] == pytest.approx(float(expected))


def test_the_matrix_holds_the_blocks_domain_by_domain(x64):
    H = random_activity()
    np.testing.assert_allclose(
        probes.similarity_matrix(H)[4:8, 8:12], similarity_blocks(H)[1, 2], atol=1e-12
    )


def test_identical_domains_share_everything(x64):
    H = np.broadcast_to(random_activity(1), (5, 4, 6))
    assert probes.sharing_index(H) == pytest.approx(1)
    np.testing.assert_allclose(probes.off_diagonal_cosines(H), np.ones(20))
    assert probes.distance_ratio(H) == pytest.approx(0, abs=1e-12)
    assert centred_cosine(H) == pytest.approx(1)


def test_orthogonal_codes_share_nothing(x64):
    H = np.zeros((2, 3, 6))
    H[0, :, :3] = np.eye(3)
    H[1, :, 3:] = np.eye(3)
    assert probes.sharing_index(H) == pytest.approx(0)
    assert centred_cosine(H) == pytest.approx(0)
    assert probes.distance_ratio(H) == pytest.approx(1)


def test_sharing_measures_amount_and_cosine_measures_shape(x64):
    # A common code, and in each domain an equally strong part of its own.
    common = np.eye(3, 9)
    own = [np.eye(3, 9, k=3), np.eye(3, 9, k=6)]
    H = np.stack([common + part for part in own])
    assert probes.sharing_index(H) == pytest.approx(0.5)
    np.testing.assert_allclose(probes.off_diagonal_cosines(H), [1, 1])


def test_a_turned_code_is_not_shared(x64):
    H = np.stack([np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.0]])])
    assert probes.sharing_index(H) == pytest.approx(0)
    np.testing.assert_allclose(probes.off_diagonal_cosines(H), [0, 0], atol=1e-15)


def test_centring_removes_what_all_items_have_in_common(x64):
    H = random_activity(2, 50, 8)
    shifted = H + 10.0
    assert centred_cosine(shifted) == pytest.approx(float(centred_cosine(H)))
    assert abs(centred_cosine(H)) < 0.2


def test_measures_do_not_depend_on_rotation_or_scale(x64):
    H = random_activity()
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    for probe in (
        probes.sharing_index,
        probes.off_diagonal_cosines,
        probes.distance_ratio,
        centred_cosine,
    ):
        np.testing.assert_allclose(probe(3 * H @ Q), probe(H), atol=1e-12)


def test_measures_can_be_taken_inside_a_compiled_program(x64):
    H = random_activity()
    together = jax.jit(lambda H: (probes.sharing_index(H), probes.off_diagonal_cosines(H)))
    index, cosines = together(H)
    assert index == pytest.approx(float(probes.sharing_index(H)))
    np.testing.assert_allclose(cosines, probes.off_diagonal_cosines(H), atol=1e-12)


def test_a_single_domain_has_no_pairs():
    assert np.isnan(probes.sharing_index(random_activity(1)))
