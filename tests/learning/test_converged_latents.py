"""Multi-task learning with converged latents: closed forms, an independent loop, and limits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from recombine import learning, models, probes, splits, tasks
from recombine.tasks._task_latents import discrete_latents

KEY = jax.random.key(0)
SIZES = {"modules": 3, "inputs": 5, "hidden": 4, "outputs": 2}
NETWORK = models.ModularNetwork.random(**SIZES, key=KEY)
TEACHER = tasks.ModularTeacher(NETWORK, splits.masks_of(["0", "1", "2", "01", "12", "20"], 3), True)
Z = discrete_latents(TEACHER.masks)
STUDENT = NETWORK.student(2, 2, key=jax.random.key(1))
START = jax.random.normal(jax.random.key(2), (6,))


def test_the_rate_is_annealed_along_half_a_cosine():
    rates = [float(learning.cosine_annealed(1.0, 0.2, jnp.asarray(t), 8)) for t in range(9)]
    assert rates[0] == pytest.approx(1)
    assert rates[4] == pytest.approx(0.6)
    assert rates[8] == pytest.approx(0.2)
    assert np.all(np.diff(rates) < 0)
    schedule = optax.cosine_decay_schedule(1.0, 8, alpha=0.2)
    assert np.allclose(rates, [schedule(t) for t in range(9)])
    assert float(learning.cosine_annealed(0.3, 0.3, jnp.asarray(5), 8)) == pytest.approx(0.3)


def test_the_loss_of_a_task_is_half_the_mean_squared_error():
    y = jnp.array([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]])
    assert np.allclose(learning.task_losses(y, jnp.zeros_like(y)), [0.5 * 30 / 4, 0])


def test_inference_with_the_teacher_itself_finds_its_latents():
    # Rows of the teacher that are not collinear: no other latent gives the same function.
    inference = learning.LatentInference(300, 0.05, 0.0005, 64)
    start = jnp.full((3,), 0.5)
    z_hat = learning.infer_latents(inference, NETWORK, TEACHER, Z, start, key=KEY)
    assert np.allclose(z_hat, Z, atol=2e-3)


def test_inference_is_independent_adam_on_fresh_batches():
    inference = learning.LatentInference(7, 0.1, 0.02, 16)
    found = learning.infer_latents(inference, STUDENT, TEACHER, Z, START, key=KEY)
    optimiser = optax.adam(optax.cosine_decay_schedule(0.1, 7, alpha=0.2))

    @jax.jit
    def step(z_hat, memory, z, i):
        x = TEACHER.inputs(16, key=jax.random.fold_in(KEY, i))

        def loss(z_hat):
            error = STUDENT(z_hat[None], x) - NETWORK(z[None], x)
            return 0.5 * jnp.mean(error**2)

        updates, memory = optimiser.update(jax.grad(loss)(z_hat), memory)
        return z_hat + updates, memory

    for z, expected in zip(Z, found, strict=True):
        z_hat, memory = START, optimiser.init(START)
        for i in range(7):
            z_hat, memory = step(z_hat, memory, z, i)
        assert np.allclose(z_hat, expected, atol=1e-4)


@pytest.fixture(scope="module")
def fitted():
    rule = learning.PersistentLatents(TEACHER, Z, KEY, 6000, 0.02, 1e-5, batch=32)
    return learning.train(rule, rule.init(STUDENT, START), 6000, every=1000, chunk=6000)


def test_persistent_latents_fit_all_tasks_and_identify_the_modules(fitted):
    state, curves = fitted
    assert curves["loss"][-1] < 1e-6
    F = probes.latent_map(Z, state.z_hat)
    assert probes.module_alignment(NETWORK.Theta, state.student.Theta, F).min() > 0.95


def test_a_student_that_has_identified_the_modules_solves_unseen_mixtures(fitted):
    state, _ = fitted
    z = TEACHER.on(splits.k_hot_masks(3, 3)).latents(8, key=KEY)
    inference = learning.LatentInference(300, 0.05, 0.0005, 64)
    start = state.z_hat.mean(axis=0)
    z_hat = learning.infer_latents(inference, state.student, TEACHER, z, start, key=KEY)
    x = TEACHER.inputs(256, key=jax.random.key(9))
    assert np.all(probes.relative_loss(state.student(z_hat, x), NETWORK(z, x)) < 1e-3)


def test_all_persistent_latents_start_at_one_draw():
    rule = learning.PersistentLatents(TEACHER, Z, KEY, 10)
    state = rule.init(STUDENT, START)
    assert np.all(state.z_hat == START)
    after = eqx.filter_jit(rule.step)(state, jnp.asarray(0))
    assert not np.allclose(after.z_hat[0], after.z_hat[1])


def test_a_step_of_persistent_latents_is_adam_on_weights_and_latents_together():
    rule = learning.PersistentLatents(TEACHER, Z, KEY, 10, 0.1, 0.01, batch=8)
    state = eqx.filter_jit(rule.step)(rule.init(STUDENT, START), jnp.asarray(0))
    # The first step of Adam is the rate times the sign of the gradient.
    x = TEACHER.inputs(8, key=jax.random.fold_in(KEY, 0))

    def loss(student, z_hat):
        return 0.5 * jnp.mean((student(z_hat, x) - NETWORK(Z, x)) ** 2)

    gradients = jax.grad(loss, argnums=(0, 1))(STUDENT, jnp.tile(START, (len(Z), 1)))
    before = STUDENT, jnp.tile(START, (len(Z), 1))
    for old, new, g in zip(
        *map(jax.tree.leaves, (before, (state.student, state.z_hat), gradients)), strict=True
    ):
        clear = jnp.abs(g) > 1e-4
        assert clear.mean() > 0.5
        assert np.allclose((new - old)[clear], -0.1 * jnp.sign(g)[clear], atol=1e-4)


def test_the_gradient_of_reinferred_latents_stops_at_what_inference_finds():
    inference = learning.LatentInference(20, 0.05, 0.05, 32)
    rule = learning.ReinferredLatents(TEACHER, START, inference, KEY, 10, 0.1, num_tasks=0)
    state = eqx.filter_jit(rule.step)(rule.init(STUDENT), jnp.asarray(3))
    _, inference_key, input_key = jax.random.split(jax.random.fold_in(KEY, 3), 3)
    z_hat = learning.infer_latents(inference, STUDENT, TEACHER, Z, START, key=inference_key)
    x = TEACHER.inputs(32, key=input_key)

    def loss(student):
        return 0.5 * jnp.mean((student(z_hat, x) - NETWORK(Z, x)) ** 2)

    rate = float(learning.cosine_annealed(0.1, 1e-6, jnp.asarray(3), 10))
    for old, new, g in zip(
        *map(jax.tree.leaves, (STUDENT, state.student, jax.grad(loss)(STUDENT))), strict=True
    ):
        clear = jnp.abs(g) > 1e-4
        assert clear.mean() > 0.5
        assert np.allclose((new - old)[clear], -rate * jnp.sign(g)[clear], atol=1e-4)


def test_weight_decay_pulls_all_weights_towards_zero():
    inference = learning.LatentInference(2, 0.01, 0.01, 8)
    ends = []
    for decay in (0.0, 0.5):
        rule = learning.ReinferredLatents(
            TEACHER, START, inference, KEY, 10, 0.1, num_tasks=4, weight_decay=decay
        )
        ends.append(eqx.filter_jit(rule.step)(rule.init(STUDENT), jnp.asarray(0)).student)
    for free, decayed, old in zip(*map(jax.tree.leaves, (*ends, STUDENT)), strict=True):
        assert np.allclose(free - decayed, 0.1 * 0.5 * old, atol=1e-6)


def test_reinferred_latents_learn_discrete_and_continuous_tasks():
    inference = learning.LatentInference(30, 0.05, 0.005, 32)
    for discrete in (True, False):
        teacher = tasks.ModularTeacher(NETWORK, TEACHER.masks, discrete)
        rule = learning.ReinferredLatents(teacher, START, inference, KEY, 300, 0.02, num_tasks=6)
        _, curves = learning.train(rule, rule.init(STUDENT), 300, every=100, chunk=300)
        assert curves["loss"][-1] < 0.3 * curves["loss"][0]
