import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, probes, tasks
from recombine.models._direction_kernels import AbstractDirectionKernel, Split

KEY = jax.random.key(0)
ONE = jnp.ones((1, 1), bool)


def normal(*shape, seed=0):
    return jax.random.normal(jax.random.key(seed), shape)


def rule_of(kernel, x, y, modules=1, **options):
    columns = options.pop("columns", jnp.ones((modules, y.shape[1]), bool))
    return learning.KernelDirections(kernel, x, y, columns, KEY, **options)


def split_by_hand(u, v, x1, x2, sigma):
    s1, s2 = (float(x @ u) / float(v @ u) for x in (x1, x2))
    r1, r2 = x1 - s1 * v, x2 - s2 * v
    first = np.exp(-((s1 - s2) ** 2) / (2 * sigma**2))
    return first + np.exp(-float(np.sum((r1 - r2) ** 2)) / (2 * sigma**2))


def test_the_split_kernel_is_equation_73(x64):
    u, v, x = normal(4), normal(4, seed=1), normal(5, 4, seed=2)
    K = models.SplitKernel(sigma=0.7)(Split(u, v), x)
    slow = [[split_by_hand(*map(np.asarray, (u, v, a, b)), 0.7) for b in x] for a in x]
    np.testing.assert_allclose(K, slow, rtol=1e-10)


def test_only_the_direction_of_u_matters_and_the_length_of_v_is_a_bandwidth(x64):
    u, v, x = normal(4), normal(4, seed=1), normal(5, 4, seed=2)
    kernel = models.SplitKernel(sigma=0.7)
    K = kernel(Split(u, v), x)
    np.testing.assert_allclose(kernel(Split(-3 * u, v), x), K, rtol=1e-10)
    # r does not change with the length of v; s is divided by it.
    longer = kernel(Split(u, 2 * v), x)
    s = (x @ u) / (v @ u)
    first = jnp.exp(-((s[:, None] - s) ** 2) / (2 * 0.7**2))
    wider = jnp.exp(-((s[:, None] - s) ** 2) / (2 * 1.4**2))
    np.testing.assert_allclose(longer - K, wider - first, atol=1e-12)


def test_what_a_module_sees_is_taken_out_of_what_the_others_see(x64):
    """For k = m the dual basis has vᵀu_j = 0 for all others."""
    U = normal(4, 4)
    v = jnp.linalg.inv(U)[:, 0]
    x = normal(6, 4, seed=1)
    s = x @ U[0] / (v @ U[0])
    r = x - s[:, None] * v
    np.testing.assert_allclose(r @ U[0], 0, atol=1e-10)
    np.testing.assert_allclose(r @ U[1:].T, x @ U[1:].T, atol=1e-10)


@pytest.mark.parametrize("cosine", [1e-3, 0.3])
def test_u_and_v_are_kept_from_a_right_angle(cosine, x64):
    kernel = models.SplitKernel(least_cosine=cosine)
    u, v = jnp.array([2.0, 0.0]), jnp.array([-1.0, 3.0])
    before, across = Split(u, u), Split(u, v)
    fine = Split(u, jnp.array([1.0, 1.0]))
    np.testing.assert_array_equal(kernel.kept(across, before).v, before.v)
    np.testing.assert_array_equal(kernel.kept(fine, before).v, fine.v)


def test_without_the_guard_v_crosses_the_plane_where_the_kernel_is_not_defined(x64):
    """The objective drives vᵀu to 0. Without a guard it crosses, and the rule says so."""
    target = tasks.SineRegression.random(3, 3, key=KEY)
    x, y = target.sample(200, key=jax.random.key(1))
    start = models.ModularRegressor.random(4, 3, key=jax.random.key(2)).u
    crossings = {}
    for cosine in (0.0, 0.3):
        rule = rule_of(
            models.SplitKernel(least_cosine=jnp.asarray(cosine)), x, y[:, None], 4, batch_size=32,
            optimizer=learning.adam(0.05),
        )  # fmt: skip
        _, curves = learning.train(rule, rule.init(start), 200, every=200)
        crossings[cosine] = curves["crossings"][-1]
        assert any("set least_cosine" in t for t in rule.troubles(curves)) == (cosine == 0)
    assert crossings[0.0] > 0
    assert crossings[0.3] == 0


def test_the_distance_kernel_is_equation_74(x64):
    u, x = normal(3), normal(4, 3, seed=1)
    K = models.DistanceKernel(sigma=0.5)(u, x)
    s = [np.linalg.norm(np.asarray(a - u)) for a in x]
    slow = [[np.exp(-((a - b) ** 2) / 0.5) for b in s] for a in s]
    np.testing.assert_allclose(K, slow, rtol=1e-10)


def test_the_projection_kernel_is_equation_76(x64):
    U, x = normal(6, 2), normal(4, 6, seed=1)
    K = models.ProjectionKernel(sigma=2.0)(U, x)
    p = np.asarray(x @ U)
    slow = [[np.exp(-np.sum((a - b) ** 2) / 8) for b in p] for a in p]
    np.testing.assert_allclose(K, slow, rtol=1e-8)


def test_with_a_bandwidth_of_its_own_the_projection_kernel_does_not_see_scale(x64):
    U, x = normal(6, 2), normal(4, 6, seed=1)
    kernel = models.ProjectionKernel(sigma=None)
    np.testing.assert_allclose(kernel(U, x), kernel(10 * U, x), rtol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "u"),
    [
        (models.SplitKernel(0.8), normal(3)),
        (models.DistanceKernel(0.8), normal(3)),
        (models.ProjectionKernel(None), normal(3, 2)),
    ],
    ids=["split", "distance", "projection"],
)
def test_the_gradient_of_the_objective_agrees_with_finite_differences(kernel, u, x64):
    x, y = normal(8, 3, seed=1).astype(float), normal(8, 1, seed=2).astype(float)
    rule = rule_of(kernel, x, y, batch_size=8)
    start = kernel.start(u.astype(float))
    flat, shape = jax.flatten_util.ravel_pytree(start)
    value = jax.jit(lambda flat: rule.objective(shape(flat), x, y)[0])
    slope = jax.grad(value)(flat)
    for i in range(len(flat)):
        step = 1e-6 * jnp.eye(len(flat))[i]
        difference = (value(flat + step) - value(flat - step)) / 2e-6
        np.testing.assert_allclose(slope[i], difference, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("determinant", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_objective_is_that_of_the_kernel(columns, determinant, x64):
    """Value and slopes by features agree with those by the kernel matrix, pair by pair."""
    x, y = normal(8, 3), normal(8, columns, seed=1)
    start = Split(normal(3, seed=2), normal(3, seed=3))
    rule = rule_of(models.SplitKernel(0.8), x, y, batch_size=8, determinant=determinant, mean=False)

    def matrix(direction, x):
        u, v = direction
        s = (x @ u / (v @ u))[:, None]
        pairs = (z[:, None] - z for z in (s, x - s * v))
        return sum(jnp.exp(-jnp.square(pair).sum(axis=2) / (2 * 0.8**2)) for pair in pairs)

    def plain(direction, x, y):
        K = matrix(direction, x) + 0.1 * jnp.eye(8)
        norm = jnp.trace(y.T @ jnp.linalg.inv(K) @ y)
        return norm + determinant * columns * jnp.linalg.slogdet(K)[1]

    of_all = partial(jax.value_and_grad, argnums=(0, 1, 2))
    (ours, likeness), slopes = of_all(rule.objective, has_aux=True)(start, x, y)
    slow, slow_slopes = of_all(plain)(start, x, y)
    np.testing.assert_allclose(ours, slow, rtol=1e-9)
    for a, b in zip(jax.tree.leaves(slopes), jax.tree.leaves(slow_slopes), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)
    np.testing.assert_allclose(likeness, (matrix(start, x).sum() - 16) / (7 * 16), rtol=1e-9)


def test_modules_learn_as_they_would_alone():
    x, y = normal(16, 3), normal(16, 1, seed=1)
    u = models.random_directions(3, 3, key=KEY)
    # The whole set is the batch, so that keys make no difference.
    several = rule_of(models.SplitKernel(), x, y, 3, batch_size=16, jitter=1.0)
    alone = rule_of(models.SplitKernel(), x, y, 1, batch_size=16, jitter=1.0)
    after, _ = learning.train(several, several.init(u), 3)
    for j in range(3):
        one, _ = learning.train(alone, alone.init(u[j : j + 1]), 3)
        np.testing.assert_allclose(one.directions.u[0], after.directions.u[j], atol=1e-5)


def test_the_literal_step_is_plain_gradient_descent_on_the_sum(x64):
    x, y = normal(8, 3), normal(8, 1, seed=1)
    rule = rule_of(
        models.DistanceKernel(), x, y, batch_size=8, mean=False, optimizer=learning.sgd(1e-3)
    )
    u = normal(1, 3, seed=2)
    after = rule.step(rule.init(u), jnp.asarray(0))
    K = lambda u: models.DistanceKernel()(u, x) + 0.1 * jnp.eye(8)  # noqa: E731
    slope = jax.grad(lambda u: (y.T @ jnp.linalg.inv(K(u)) @ y)[0, 0])(u[0])
    np.testing.assert_allclose(after.directions[0], u[0] - 1e-3 * slope, rtol=1e-8)


def test_a_kernel_without_jitter_is_singular_and_says_so():
    x, y = normal(128, 5), normal(128, 1, seed=1)
    u = normal(2, 5, seed=2)
    bare = rule_of(models.DistanceKernel(), x, y, 2, jitter=0.0)
    assert not jnp.isfinite(bare.step(bare.init(u), jnp.asarray(0)).losses).all()
    _, curves = learning.train(bare, bare.init(u), 2)
    assert bare.troubles(curves)[0].startswith("K is not positive definite with a jitter of 0")
    assert "raise it" in bare.remedy(curves)
    safe = rule_of(models.DistanceKernel(), x, y, 2, jitter=0.1)
    assert jnp.isfinite(safe.step(safe.init(u), jnp.asarray(0)).losses).all()


def test_without_its_norm_kept_a_projection_grows_until_all_inputs_are_unlike():
    class Unkept(AbstractDirectionKernel):
        inner: models.ProjectionKernel

        def start(self, u):
            return u

        def features(self, direction, x):
            return self.inner.features(direction, x)

        def kept(self, direction, before):
            return direction

        def projection(self, direction):
            return direction

    x = normal(64, 8)
    y = jnp.sign(normal(64, 1, seed=2))  # nothing to be found: only growing helps
    start = normal(2, 8, 2, seed=1) / 4
    kernel = models.ProjectionKernel(sigma=2.0)
    seen, troubles = {}, {}
    for name, k in (("kept", kernel), ("unkept", Unkept(kernel))):
        rule = rule_of(k, x, y, 2, batch_size=64, optimizer=learning.adam(0.3))
        state, curves = learning.train(rule, rule.init(start), 300, every=300)
        seen[name] = rule.observe(state)
        troubles[name] = rule.troubles(curves)
    assert seen["unkept"]["likeness"] < 0.03 < seen["kept"]["likeness"]
    assert troubles["kept"] == []
    assert "raise sigma" in troubles["unkept"][-1]
    assert seen["unkept"]["longest"] > 3 * seen["kept"]["longest"]
    np.testing.assert_allclose(
        seen["kept"]["longest"], jax.vmap(jnp.linalg.norm)(start).max(), rtol=1e-5
    )


def test_steps_that_are_too_large_are_noticed():
    x, y = normal(64, 3), normal(64, 1, seed=1)
    rule = rule_of(
        models.DistanceKernel(), x, y, 2, optimizer=learning.sgd(30.0), mean=False,
        batch_size=32, jitter=0.01,
    )  # fmt: skip
    _, curves = learning.train(rule, rule.init(normal(2, 3, seed=2)), 20)
    assert "lower the learning rate" in rule.troubles(curves)[0]


def test_modules_are_fitted_to_the_columns_that_they_may_see():
    x, y = normal(16, 3), normal(16, 4, seed=1)
    columns = jnp.array([[True, True, False, False], [False, False, False, True]])
    rule = rule_of(models.DistanceKernel(), x, y, 2, columns=columns, batch_size=16)
    centred = y - y.mean(axis=0)
    for seed in range(8):
        drawn = rule._targets(y, columns[0], jax.random.key(seed))
        assert any(np.allclose(drawn[:, 0], centred[:, c], atol=1e-6) for c in (0, 1))
    np.testing.assert_allclose(rule._targets(y, columns[1], KEY)[:, 0], centred[:, 3], atol=1e-6)
    whole = rule_of(models.DistanceKernel(), x, y, 2, columns=columns, batch_size=16, together=True)
    np.testing.assert_allclose(
        whole._targets(y, columns[0], KEY), jnp.where(columns[0], centred, 0), atol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 17}, "a batch of 17 of 16 samples"),
        ({"batch_size": 1}, "a batch of 1 of 16 samples"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        rule_of(models.DistanceKernel(), normal(16, 3), normal(16, 1), **options)


def test_directions_come_closer_to_the_true_ones(x64):
    target = tasks.SineRegression.random(3, 3, key=KEY)
    x, y = target.sample(500, key=jax.random.key(1))
    start = models.random_directions(8, 3, key=jax.random.key(2))
    rule = rule_of(models.SplitKernel(least_cosine=0.1), x, y[:, None], 8, batch_size=64)
    state, _ = learning.train(rule, rule.init(start), 150, every=150)
    before, after = (
        probes.module_similarity(u, target.u) for u in (start, rule.projections(state))
    )
    assert after > before + 0.05


DEVICES = "--xla_force_host_platform_device_count=4"
SPREAD = """
import jax, numpy as np
from test_kernel_directions import normal, rule_of
from recombine import learning, models

x, y = normal(20, 3), normal(20, 1, seed=1)
u = normal(2, 3, seed=2)
devices = jax.devices()
two = jax.sharding.Mesh(np.array(devices[:2]), ("modules",))
rules = [
    rule_of(models.SplitKernel(), x, y, modules=2, batch_size=8, mesh=m) for m in (None, two)
]
here, there = (learning.train(rule, rule.init(u), 3, every=3)[0] for rule in rules)
for a, b in zip(*map(jax.tree.leaves, (here, there)), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
try:
    all_of_them = jax.sharding.Mesh(np.array(devices), ("modules",))
    rule_of(models.SplitKernel(), x, y, modules=4, batch_size=8, mesh=all_of_them)
except ValueError as error:
    assert "xla_force_host_platform_device_count" in str(error)
else:
    raise AssertionError("a mesh of all devices never ends")
"""


def test_modules_spread_over_devices_learn_as_on_one():
    subprocess.run(
        [sys.executable, "-c", SPREAD],
        cwd=Path(__file__).parent,
        env=os.environ | {"XLA_FLAGS": " ".join((os.environ["XLA_FLAGS"], DEVICES))},
        check=True,
        timeout=120,
    )
