"""Learned directions against true ones."""

import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes
from recombine.probes._directions import sign_aligned


def slow_score(u_hat, u):
    lengths = np.linalg.norm(u_hat, axis=1), np.linalg.norm(u, axis=1)
    best = []
    for a, length in zip(np.asarray(u_hat), lengths[0], strict=True):
        best.append(max(abs(np.asarray(u) @ a) / lengths[1] / length))
    return sum(best) / len(best)


def test_the_score_is_1_for_true_directions_in_any_order_sign_and_length(x64):
    u = np.random.default_rng(0).normal(size=(4, 6))
    u_hat = np.array([2.0, -1, 0.3, -5, 1])[:, None] * u[[2, 0, 3, 1, 2]]
    assert probes.module_similarity(u_hat, u) == pytest.approx(1, abs=1e-12)


def test_the_score_is_that_of_the_definition(x64):
    rng = np.random.default_rng(0)
    u_hat, u = rng.normal(size=(7, 4)), rng.normal(size=(3, 4))
    expected = pytest.approx(slow_score(u_hat, u), abs=1e-12)
    assert probes.module_similarity(u_hat, u) == expected
    assert probes.module_similarity(jnp.asarray(u_hat), jnp.asarray(u)) == expected


def test_a_direction_between_two_scores_the_cosine_of_its_angle():
    u = jnp.eye(2)
    assert probes.module_similarity(jnp.ones((1, 2)), u) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize(
    ("m", "chance"), [(2, 0.810), (3, 0.752), (5, 0.671), (7, 0.626), (10, 0.572)]
)
def test_chance_is_that_of_random_directions(m, chance):
    exact = probes.chance_similarity(m, m)
    assert exact == pytest.approx(chance, abs=0.005)
    rng = np.random.default_rng(m)
    scores = [slow_score(rng.normal(size=(10, m)), rng.normal(size=(m, m))) for _ in range(2000)]
    assert exact == pytest.approx(np.mean(scores), abs=4 * np.std(scores) / 2000**0.5)


def test_chance_has_its_closed_forms():
    assert probes.chance_similarity(2, 2) == pytest.approx(8 / np.pi**2, abs=1e-7)
    # In three dimensions the cosine is uniform, and the largest of k has the mean k / (k + 1).
    for k in (1, 3, 8):
        assert probes.chance_similarity(k, 3) == pytest.approx(k / (k + 1), abs=1e-9)
    assert probes.chance_similarity(4, 1) == 1
    with pytest.raises(ValueError, match="must be 1 or more"):
        probes.chance_similarity(0, 3)


def test_signs_are_those_of_the_closest_true_direction():
    u = jnp.eye(3)
    u_hat = jnp.array([[-2.0, 1.0, 0.5], [0.2, 0.9, -0.3], [0.1, 0.2, -0.4]])
    aligned = sign_aligned(u_hat, u)
    assert np.array_equal(aligned, u_hat * jnp.array([-1, 1, -1])[:, None])
    again = sign_aligned(-u_hat, u)
    assert np.array_equal(again, aligned)


@pytest.mark.parametrize("by_cosine", [False, True])
def test_an_embedding_is_deterministic_and_separates_planted_clusters(by_cosine):
    u = np.eye(10, dtype=np.float32)[:3]
    signs = np.where(np.arange(21) % 2, 1, -1)[:, None]
    near = np.random.default_rng(0).normal(np.repeat(u, 7, axis=0), 0.05)
    u_hat = (signs * near).astype(np.float32)
    one, again = (probes.embed_directions(u_hat, u, by_cosine=by_cosine) for _ in range(2))
    assert np.array_equal(one.learned, again.learned)
    assert one.learned.shape == (21, 2)
    assert one.true.shape == (3, 2)
    distances = np.linalg.norm(one.learned[:, None] - one.true, axis=-1)
    assert np.array_equal(distances.argmin(1), np.repeat(np.arange(3), 7))
    other = probes.embed_directions(u_hat, u, by_cosine=by_cosine, seed=1)
    assert not np.allclose(other.learned, one.learned)


def test_a_perplexity_of_more_than_the_directions_is_refused():
    with pytest.raises(ValueError, match="perplexity of 5 needs more than 4 directions"):
        probes.embed_directions(jnp.eye(3)[:2], jnp.eye(3)[:2])
