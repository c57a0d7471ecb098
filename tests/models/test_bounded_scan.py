"""A scan that stops early: as many steps as asked for, with the gradient of a plain scan."""

import jax
import jax.numpy as jnp
import numpy as np

from recombine.models._bounded_scan import bounded_scan

XS = jnp.array([2, 0, 1, 1, 2])
WEIGHTS = np.array([[0.5, -1.0], [0.3, 0.2], [1.0, 0.4]])
START = np.array([0.1, -0.2])


def step(weights, carry, x):
    return jnp.tanh(jnp.asarray(weights)[x] + carry * weights[0])


def bounded(weights, start, length):
    return bounded_scan(step, weights, start, XS, length)


def plain(weights, start, length):
    carries = []
    for x in XS[:length]:
        start = step(weights, start, x)
        carries.append(start)
    return jnp.stack(carries + [jnp.zeros(2)] * (len(XS) - length))


def test_it_takes_the_first_steps_and_no_more(x64):
    compiled = jax.jit(bounded)
    np.testing.assert_array_equal(compiled(WEIGHTS, START, jnp.array(0)), 0)
    for length in (1, 3, 5):
        found = compiled(WEIGHTS, START, jnp.array(length))
        np.testing.assert_allclose(found, plain(WEIGHTS, START, length), atol=1e-12)


def test_its_gradient_is_that_of_a_plain_scan(x64):
    heights = jnp.arange(10.0).reshape(5, 2)

    def gradient(scan, length):
        def loss(weights, start):
            return (heights * scan(weights, start, length) ** 2).sum()

        return jax.jit(jax.grad(loss, argnums=(0, 1)))(WEIGHTS, START)

    for ours, theirs in zip(gradient(bounded, jnp.array(4)), gradient(plain, 4), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
