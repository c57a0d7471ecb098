"""The grouped product is the plain one of every row, and so are its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import _grouped_product as module
from recombine.models import expert_feed_forward, grouped_product
from recombine.models._grouping import BLOCK, grouped

KEYS = jax.random.split(jax.random.key(0), 6)
WIDTH, SIZE = 5, 3


def by_row(x, choice, weights, inner, outer):
    """What every token gets, with matrices of its own."""
    hidden = jax.nn.relu(jnp.einsum("td,tkdg->tkg", x, inner[choice]))
    return jnp.einsum("tk,tkg,tkgd->td", weights, hidden, outer[choice])


def case(tokens, chosen, experts, choice=None):
    if choice is None:
        choice = jax.random.randint(KEYS[0], (tokens, chosen), 0, experts)
    return (
        jax.random.normal(KEYS[1], (tokens, WIDTH)),
        choice,
        jax.random.normal(KEYS[2], (tokens, chosen)),
        jax.random.normal(KEYS[3], (experts, WIDTH, SIZE)),
        jax.random.normal(KEYS[4], (experts, SIZE, WIDTH)),
    )


CASES = {
    "a few tokens": lambda: case(7, 2, 4),
    "experts that nobody chooses": lambda: case(6, 2, 9, jnp.tile(jnp.array([[7, 2]]), (6, 1))),
    "all tokens choose one expert, more than a block": lambda: case(
        BLOCK + 3, 1, 2, jnp.ones((BLOCK + 3, 1), int)
    ),
    "a single expert": lambda: case(3, 1, 1),
}


def agree(function, other, arguments, shape):
    """Whether two functions and their derivatives are the same."""
    pull = jax.random.normal(KEYS[5], shape)

    @jax.jit
    def both(*arguments):
        return tuple(jax.vjp(f, *arguments)[1](pull) for f in (function, other)), tuple(
            f(*arguments) for f in (function, other)
        )

    (ours, plain), (y, plain_y) = both(*arguments)
    for one, two in zip((*ours, y), (*plain, plain_y), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_chosen_experts_and_their_derivatives_are_those_of_every_row_by_itself(name, x64):
    x, choice, *arguments = CASES[name]()
    ours, plain = (lambda x, *a, f=f: f(x, choice, *a) for f in (expert_feed_forward, by_row))
    agree(ours, plain, (x, *arguments), x.shape)


@pytest.mark.parametrize("name", [*CASES][1:3])
def test_a_grouped_product_and_its_derivatives_are_those_of_every_row_by_itself(name, x64):
    x, choice, _, matrices, _ = CASES[name]()
    choice = choice[:, 0]
    agree(
        lambda x, m: grouped_product(x, choice, m),
        lambda x, m: jnp.einsum("nm,nml->nl", x, m[choice]),
        (x, matrices), (len(x), SIZE),
    )  # fmt: skip


def test_finite_differences_agree(x64):
    x, choice, *arguments = case(5, 2, 3)
    directions = [jax.random.normal(KEYS[5], a.shape) for a in (x, *arguments)]

    @jax.jit
    def value(step):
        moved = [a + step * d for a, d in zip((x, *arguments), directions, strict=True)]
        return jnp.sin(expert_feed_forward(moved[0], choice, *moved[1:])).sum()

    slope = (value(1e-6) - value(-1e-6)) / 2e-6
    np.testing.assert_allclose(jax.grad(value)(0.0), slope, rtol=1e-7)


def test_what_an_accelerator_computes_is_the_same(monkeypatch, x64):
    x, choice, weights, inner, outer = CASES["experts that nobody chooses"]()

    def compiled():
        """A program of its own each time."""

        def both(x, choice, weights, inner, outer):
            whole = expert_feed_forward(x, choice, weights, inner, outer)
            return whole, grouped_product(x, choice[:, 0], inner)

        return jax.jit(both)

    ours = compiled()(x, choice, weights, inner, outer)
    monkeypatch.setattr(module, "_has_ragged_dot", lambda: True)
    other = compiled()(x, choice, weights, inner, outer)
    # It is another program.
    assert "ragged_dot" in str(jax.make_jaxpr(compiled())(x, choice, weights, inner, outer))
    for one, two in zip(ours, other, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_no_tokens_give_no_rows():
    x, choice, weights, inner, outer = case(0, 2, 3)
    assert expert_feed_forward(x, choice, weights, inner, outer).shape == (0, WIDTH)
    assert grouped_product(x, choice[:, 0], inner).shape == (0, SIZE)
    gradient = jax.grad(lambda a: expert_feed_forward(x, choice, weights, a, outer).sum())(inner)
    assert not np.any(gradient)


def test_dropped_units_take_no_part_in_the_backward_pass():
    x, choice, weights, inner, outer = case(40, 2, 4)
    weights = jnp.ones_like(weights)
    rate, key = 0.5, jax.random.key(1)

    @jax.jit
    def dropped(outer):
        return expert_feed_forward(x, choice, weights, inner, outer, dropout=rate, key=key)

    # With outgoing weights of 1, what is written is the sum of the units that stay.
    ones = jnp.ones_like(outer)
    whole = jax.jit(expert_feed_forward)(x, choice, weights, inner, ones)
    share = float(dropped(ones).sum() / whole.sum())
    assert abs(share - 1) < 0.25
    assert not np.allclose(dropped(ones), whole)
    np.testing.assert_array_equal(dropped(ones), dropped(ones))
    # The output is linear in the outgoing weights, so that the derivative says what stays.
    derivative = jax.jit(jax.grad(lambda o: dropped(o).sum()))(outer)
    np.testing.assert_allclose((derivative * outer).sum(), dropped(outer).sum(), rtol=1e-3)

    @jax.jit
    def value(x):
        return expert_feed_forward(x, choice, weights, inner, outer, dropout=rate, key=key).sum()

    # ReLU is positively homogeneous: so is the output in the inputs, whatever is dropped.
    np.testing.assert_allclose((jax.grad(value)(x) * x).sum(), value(x), rtol=1e-3)


def test_all_rows_of_a_block_are_of_one_expert():
    choice = jax.random.randint(KEYS[0], (100, 3), 0, 5)
    found = jax.jit(grouped, static_argnums=1)(choice, 5)
    blocks = np.asarray(found.assignments).reshape(-1, BLOCK)
    flat = np.asarray(choice).reshape(-1)
    for block, expert in zip(blocks[: found.used], found.experts, strict=False):
        own = block[block < flat.size]
        assert np.all(flat[own] == expert)
    assert np.all(blocks[found.used :] == flat.size)
    np.testing.assert_array_equal(
        np.asarray(found.assignments)[np.asarray(found.places)], np.arange(300).reshape(100, 3)
    )
    np.testing.assert_array_equal(found.counts, np.bincount(flat, minlength=5))
