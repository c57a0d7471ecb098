"""LSTM: it agrees with a plain loop, and reads sequences up to their lengths."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models

KEY = jax.random.key(0)
LENGTHS = np.array([5, 1, 3])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def plain(lstm, rows):
    """The states of one sequence, element by element, gate by gate."""
    units = lstm.units
    weight, bias = np.asarray(lstm.weight, float), np.asarray(lstm.bias, float)
    hidden, cell, seen = np.zeros(units), np.zeros(units), []
    for x in np.asarray(rows, float):
        pre = np.concatenate([x, hidden]) @ weight + bias
        i, f, g, o = (pre[n * units : (n + 1) * units] for n in range(4))
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        seen.append(hidden)
    return np.array(seen), hidden, cell


def test_an_lstm_agrees_with_a_plain_loop_in_both_directions(x64):
    lstm = models.LSTM(3, 4, key=KEY)
    x = jax.random.normal(KEY, (3, 5, 3))
    both = jax.jit(
        lambda x: [lstm(x, jnp.asarray(LENGTHS), reverse=reverse) for reverse in (False, True)]
    )(x)
    for reverse, (hidden, last) in enumerate(both):
        for row, length in enumerate(LENGTHS):
            read = x[row, :length][:: -1 if reverse else 1]
            seen, end, cell = plain(lstm, read)
            seen = seen[::-1] if reverse else seen
            np.testing.assert_allclose(hidden[row, :length], seen, atol=1e-12)
            np.testing.assert_array_equal(hidden[row, length:], 0)
            np.testing.assert_allclose(last.hidden[row], end, atol=1e-12)
            np.testing.assert_allclose(last.cell[row], cell, atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_derivative_is_that_of_every_operation(reverse, x64):
    lstm = models.LSTM(3, 4, key=KEY)
    x = jax.random.normal(KEY, (3, 5, 3))
    of_hidden = jax.random.normal(jax.random.key(1), (3, 5, 4))
    of_last = jax.random.normal(jax.random.key(2), (2, 3, 4))

    def by_scan(lstm, x):
        hidden, last = lstm(x, jnp.asarray(LENGTHS), reverse=reverse)
        return jnp.sum(hidden * of_hidden) + jnp.sum(jnp.stack(last) * of_last)

    def by_steps(lstm, x):
        loss = 0.0
        for row, length in enumerate(LENGTHS):
            state = lstm.start(1)
            for t in range(length)[:: -1 if reverse else 1]:
                read = jnp.concatenate([x[row, t], state.hidden[0]])
                state = lstm.update((read @ lstm.weight + lstm.bias)[None], state.cell)
                loss += jnp.sum(state.hidden[0] * of_hidden[row, t])
            loss += jnp.sum(jnp.concatenate(state) * of_last[:, row])
        return loss

    ours, theirs = (jax.jit(jax.grad(f, argnums=(0, 1)))(lstm, x) for f in (by_scan, by_steps))
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_gates_start_without_bias_but_for_the_forget_gate():
    lstm = models.LSTM(3, 4, key=KEY)
    np.testing.assert_array_equal(lstm.bias, np.repeat([0, 1, 0, 0], 4))
    assert lstm.weight.shape == (7, 16)
    assert np.abs(lstm.weight).max() <= np.sqrt(6 / (7 + 16))


def test_open_and_closed_gates_keep_or_drop_the_cell():
    lstm = models.LSTM(1, 1, key=KEY)
    cell = jnp.array([[0.5]])
    kept = lstm.update(jnp.array([[-50.0, 50.0, 1.0, 50.0]]), cell)
    np.testing.assert_allclose(kept.cell, 0.5)
    np.testing.assert_allclose(kept.hidden, np.tanh(0.5), rtol=1e-6)
    new = lstm.update(jnp.array([[50.0, -50.0, 1.0, -50.0]]), cell)
    np.testing.assert_allclose(new.cell, np.tanh(1.0), rtol=1e-6)
    np.testing.assert_allclose(new.hidden, 0, atol=1e-6)
