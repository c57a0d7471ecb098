import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, probes, tasks
from recombine.learning._direction_pursuit import _spectrum, _wave, grouped_directions

KEY = jax.random.key(0)


def target_of(k, m, omega, seed=1):
    """`k` modules with the waves `omega` each."""
    u = tasks.SineRegression.random(k, m, key=jax.random.key(seed)).u
    ones = jnp.ones((k, len(omega)))
    return tasks.SineRegression(ones, ones * jnp.asarray(omega), 0.3 * ones, u)


def pursued(target, samples, waves, **settings):
    x, y = target.sample(samples, key=jax.random.key(2))
    rule = learning.DirectionPursuit(x, y, KEY, **{"places": 4096, "climbers": 32} | settings)
    state, seen = learning.train(rule, rule.init(waves), waves + 2)
    return rule, state, seen


def test_the_spectrum_is_that_of_the_residual(x64):
    x, r = jax.random.normal(KEY, (20, 3)), jax.random.normal(jax.random.key(1), (20,))
    w = 5 * jax.random.normal(jax.random.key(2), (4, 3))
    slow = [abs(sum(r[n] * np.exp(-1j * float(v @ x[n])) for n in range(20))) ** 2 for v in w]
    np.testing.assert_allclose(_spectrum(w, x, r), slow, atol=5e-3)


def test_the_quick_cosine_is_a_cosine(x64):
    turns = jnp.linspace(-3, 3, 1001)
    np.testing.assert_allclose(_wave(turns), jnp.cos(2 * jnp.pi * turns), atol=2e-4)


def test_directions_of_high_frequencies_are_found(x64):
    """Random directions are out of sight: the correlation of their waves is below exp(−10)."""
    target = target_of(2, 3, (7.0, 9.0))
    rule, state, seen = pursued(target, 300, 6, reach=12.0)
    found = rule.directions(state, 6)
    assert found.shape == (2, 3)
    assert probes.module_similarity(found, target.u) > 0.999
    assert probes.module_similarity(target.u, found) > 0.999
    assert state.best_held_out < 1e-4 * float(rule.y.var())
    np.testing.assert_array_equal(seen["best_held_out"], np.minimum.accumulate(seen["held_out"]))


def test_frequencies_come_with_directions(x64):
    rule, state, _ = pursued(target_of(1, 2, (3.0,)), 100, 1)
    np.testing.assert_allclose(np.linalg.norm(state.best.w[0]), 3, atol=1e-2)
    residual = rule.y - state.best(rule.x)
    np.testing.assert_allclose(residual, 0, atol=2e-2)


def test_held_out_samples_are_not_fitted(x64):
    x, y = target_of(1, 2, (3.0,)).sample(40, key=KEY)
    states = []
    for targets in (y, y.at[30:].set(7.0)):
        rule = learning.DirectionPursuit(x, targets, KEY, places=64, climbers=8, share=0.25)
        states.append(rule.step(rule.init(2), jnp.asarray(0)))
    np.testing.assert_array_equal(states[0].waves.w, states[1].waves.w)
    assert states[0].held_out != states[1].held_out


def test_waves_along_one_direction_are_one_direction():
    w = np.array([[3.0, 0, 0], [0, 1.0, 0], [-9.0, 0.01, 0], [0, 0, 2.0]])
    found = grouped_directions(w, np.array([1.0, 1.5, 2.0, 0.001]), 5, 0.95, 0.01)
    assert np.abs(found @ np.eye(3)).round(2).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert len(grouped_directions(w, np.ones(4), 1, 0.95, 0.01)) == 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"share": 0.0}, "a share of 0 of 16 samples"),
        ({"share": 0.99}, "a share of 0.99 of 16 samples"),
        ({"climbers": 9, "places": 8}, "9 climbers from 8 places"),
    ],
)
def test_bad_settings_are_named(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        learning.DirectionPursuit(jnp.ones((16, 2)), jnp.ones(16), KEY, **settings)
