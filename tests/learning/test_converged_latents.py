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
UNTRAINED = STUDENT, jnp.tile(START, (len(Z), 1))


def inference_of(steps, first, last, batch_size):
    optimizer = learning.adam(learning.Cosine(first, last, steps))
    return learning.LatentInference(steps, optimizer, batch_size)


def persistent(steps, first=1e-2, last=1e-5, batch_size=128):
    optimizer = learning.adam(learning.Cosine(first, last, steps))
    return learning.persistent_latents(TEACHER, Z, optimizer, steps, batch_size=batch_size, key=KEY)


def reinferred(teacher, inference, steps, rate, num_tasks, weight_decay=0.0):
    optimizer = learning.adamw(learning.Cosine(rate, 1e-6, steps), weight_decay=weight_decay)
    return learning.reinferred_latents(
        teacher, START, inference, optimizer, steps, num_tasks=num_tasks, key=KEY
    )


def test_the_loss_of_a_task_is_half_the_mean_squared_error():
    y = jnp.array([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]])
    assert np.allclose(learning.task_losses(y, jnp.zeros_like(y)), [0.5 * 30 / 4, 0])


def test_inference_with_the_teacher_itself_finds_its_latents():
    # Rows of the teacher that are not collinear: no other latent gives the same function.
    inference = inference_of(300, 0.05, 0.0005, 64)
    start = jnp.full((3,), 0.5)
    z_hat = learning.infer_latents(inference, NETWORK, TEACHER, Z, start, key=KEY)
    assert np.allclose(z_hat, Z, atol=2e-3)


def test_inference_is_independent_adam_on_fresh_batches():
    inference = inference_of(7, 0.1, 0.02, 16)
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
    rule = persistent(6000, 0.02, batch_size=32)
    return learning.train(rule, rule.init(UNTRAINED), 6000, every=1000, chunk=6000)


def test_persistent_latents_fit_all_tasks_and_identify_the_modules(fitted):
    state, curves = fitted
    student, z_hat = state.model
    assert curves["loss"][-1] < 1e-6
    F = probes.latent_map(Z, z_hat)
    assert probes.module_alignment(NETWORK.Theta, student.Theta, F).min() > 0.95


def test_a_student_that_has_identified_the_modules_solves_unseen_mixtures(fitted):
    student, table = fitted[0].model
    z = TEACHER.on(splits.k_hot_masks(3, 3)).latents(8, key=KEY)
    inference = inference_of(300, 0.05, 0.0005, 64)
    start = table.mean(axis=0)
    z_hat = learning.infer_latents(inference, student, TEACHER, z, start, key=KEY)
    x = TEACHER.inputs(256, key=jax.random.key(9))
    assert np.all(probes.relative_loss(student(z_hat, x), NETWORK(z, x)) < 1e-3)


def test_persistent_latents_of_different_tasks_part_from_one_start():
    rule = persistent(10)
    _, z_hat = eqx.filter_jit(rule.step)(rule.init(UNTRAINED), jnp.asarray(0)).model
    assert not np.allclose(z_hat[0], z_hat[1])


def test_a_step_of_persistent_latents_is_adam_on_weights_and_latents_together():
    rule = persistent(10, 0.1, 0.01, batch_size=8)
    state = eqx.filter_jit(rule.step)(rule.init(UNTRAINED), jnp.asarray(0))
    # The first step of Adam is the rate times the sign of the gradient.
    x = TEACHER.inputs(8, key=jax.random.fold_in(KEY, 0))

    def loss(student, z_hat):
        return 0.5 * jnp.mean((student(z_hat, x) - NETWORK(Z, x)) ** 2)

    gradients = jax.grad(loss, argnums=(0, 1))(*UNTRAINED)
    for old, new, g in zip(*map(jax.tree.leaves, (UNTRAINED, state.model, gradients)), strict=True):
        clear = jnp.abs(g) > 1e-4
        assert clear.mean() > 0.5
        assert np.allclose((new - old)[clear], -0.1 * jnp.sign(g)[clear], atol=1e-4)


def test_the_gradient_of_reinferred_latents_stops_at_what_inference_finds():
    inference = inference_of(20, 0.05, 0.05, 32)
    rule = reinferred(TEACHER, inference, 10, 0.1, num_tasks=0)
    state = eqx.filter_jit(rule.step)(rule.init(STUDENT), jnp.asarray(3))
    _, inference_key, input_key = jax.random.split(jax.random.fold_in(KEY, 3), 3)
    z_hat = learning.infer_latents(inference, STUDENT, TEACHER, Z, START, key=inference_key)
    x = TEACHER.inputs(32, key=input_key)

    def loss(student):
        return 0.5 * jnp.mean((student(z_hat, x) - NETWORK(Z, x)) ** 2)

    rate = 0.1  # that of the first update, whatever the step's number
    for old, new, g in zip(
        *map(jax.tree.leaves, (STUDENT, state.model, jax.grad(loss)(STUDENT))), strict=True
    ):
        clear = jnp.abs(g) > 1e-4
        assert clear.mean() > 0.5
        assert np.allclose((new - old)[clear], -rate * jnp.sign(g)[clear], atol=1e-4)


def test_weight_decay_pulls_all_weights_towards_zero():
    inference = inference_of(2, 0.01, 0.01, 8)
    ends = []
    for decay in (0.0, 0.5):
        rule = reinferred(TEACHER, inference, 10, 0.1, num_tasks=4, weight_decay=decay)
        ends.append(eqx.filter_jit(rule.step)(rule.init(STUDENT), jnp.asarray(0)).model)
    for free, decayed, old in zip(*map(jax.tree.leaves, (*ends, STUDENT)), strict=True):
        assert np.allclose(free - decayed, 0.1 * 0.5 * old, atol=1e-6)


def test_reinferred_latents_learn_discrete_and_continuous_tasks():
    inference = inference_of(30, 0.05, 0.005, 32)
    for discrete in (True, False):
        teacher = tasks.ModularTeacher(NETWORK, TEACHER.masks, discrete)
        rule = reinferred(teacher, inference, 300, 0.02, num_tasks=6)
        _, curves = learning.train(rule, rule.init(STUDENT), 300, every=100, chunk=300)
        assert curves["loss"][-1] < 0.3 * curves["loss"][0]
