"""Products in which every row has a matrix of its own, one of a few: work for active experts only.

On a CPU, rows are grouped by expert into blocks, and a loop takes one block at a time: it gathers
the block's rows, multiplies them by the matrices of its expert, and writes them down. The backward
pass is one loop, too. Whatever a token gets from its experts is then gathered, not scattered.
On accelerators the same is left to `jax.lax.ragged_dot`, which is dense on a CPU.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dropout import kept
from ._grouping import BLOCK, Grouping, grouped


def grouped_product(
    rows: Float[Array, "rows inputs"],
    choice: Int[Array, " rows"],
    matrices: Float[Array, "experts inputs outputs"],
) -> Float[Array, "rows outputs"]:
    """Every row times the matrix that it chose: the operator CVMM of Appendix F.

    Σ_m rows[n, m] matrices[choice[n], m, l]. Its cost does not grow with the number of experts.
    """
    if not len(rows):
        return jnp.zeros((0, matrices.shape[2]), rows.dtype)
    if _has_ragged_dot():
        order, counts = _sorted(choice, len(matrices))
        return jax.lax.ragged_dot(rows[order], matrices, counts)[jnp.argsort(order)]
    return _product(rows, matrices, grouped(choice[:, None], len(matrices)))


def expert_feed_forward(
    x: Float[Array, "tokens width"],
    choice: Int[Array, "tokens chosen"],
    weights: Float[Array, "tokens chosen"],
    inner: Float[Array, "experts width size"],
    outer: Float[Array, "experts size width"],
    *,
    dropout: float = 0.0,
    key: PRNGKeyArray | None = None,
) -> Float[Array, "tokens width"]:
    """What the chosen experts make of every token: Σ_k weights_k ReLU(x inner_k) outer_k, Eq. 7.9.

    **Arguments:**

    - `choice`: the experts of every token.
    - `dropout`: the rate at which hidden units of chosen experts are dropped.
    - `key`: for dropout; None for none.
    """
    if not len(x):
        return jnp.zeros_like(x)
    words = None if key is None or dropout == 0 else jax.random.key_data(key)
    rate = 0.0 if words is None else dropout
    if _has_ragged_dot():
        return _by_ragged_dot(x, choice, weights, inner, outer, words, rate)
    return _experts(x, weights, inner, outer, grouped(choice, len(inner)), words, rate)


def _has_ragged_dot() -> bool:
    """Whether `jax.lax.ragged_dot` multiplies the rows of a group by their own matrix only."""
    return jax.default_backend() != "cpu"


def _sorted(choice, experts: int):
    """The order of choices by expert, and how many each expert has."""
    order = jnp.argsort(choice, stable=True)
    return order, jnp.zeros(experts, jnp.int32).at[choice].add(1)


def _by_ragged_dot(x, choice, weights, inner, outer, words, rate: float):
    """`expert_feed_forward` on an accelerator."""
    tokens, chosen = choice.shape
    order, counts = _sorted(choice.reshape(-1), len(inner))
    hidden = jax.nn.relu(jax.lax.ragged_dot(x[order // chosen], inner, counts))
    if words is not None:
        mask = kept(hidden.shape, rate, key=jax.random.wrap_key_data(words))
        hidden = jnp.where(mask, hidden / (1 - rate), 0)
    hidden = hidden * weights.reshape(-1)[order][:, None]
    parts = jax.lax.ragged_dot(hidden, outer, counts)[jnp.argsort(order)]
    return parts.reshape(tokens, chosen, -1).sum(axis=1)


def _block(array, b):
    """The rows of a block."""
    return jax.lax.dynamic_slice_in_dim(array, b * BLOCK, BLOCK)


def _put(array, rows, b):
    """An array with the rows of a block written down."""
    return jax.lax.dynamic_update_slice_in_dim(array, rows, b * BLOCK, 0)


def _tokens(grouping: Grouping) -> Int[Array, " rows"]:
    """The token of every row; of a row that fills up, the last one."""
    last, chosen = grouping.places.size - 1, grouping.places.shape[1]
    return jnp.minimum(grouping.assignments, last) // chosen


def _by_row(values: Float[Array, "tokens chosen"], grouping: Grouping) -> Float[Array, " rows"]:
    """The numbers of assignments, row by row; 0 for rows that fill up."""
    flat = jnp.append(values.reshape(-1), jnp.zeros(1, values.dtype))
    return flat[grouping.assignments]


def _summed(rows: Float[Array, "rows width"], grouping: Grouping) -> Float[Array, "tokens width"]:
    """The sum of the rows of every token: the derivative of a gather, as gathers."""
    return sum(rows[grouping.places[:, k]] for k in range(grouping.places.shape[1]))  # type: ignore


@jax.custom_vjp
def _product(rows, matrices, grouping):
    return _product_forward(rows, matrices, grouping)[0]


def _product_forward(rows, matrices, grouping):
    tokens = _tokens(grouping)

    def body(b, out):
        return _put(out, rows[_block(tokens, b)] @ matrices[grouping.experts[b]], b)

    empty = jnp.zeros((len(tokens), matrices.shape[2]), rows.dtype)
    out = jax.lax.fori_loop(0, grouping.used, body, empty)
    return out[grouping.places[:, 0]], (rows, matrices, grouping)


def _product_backward(saved, gradient):
    rows, matrices, grouping = saved
    tokens = _tokens(grouping)
    real = (grouping.assignments < len(rows))[:, None]

    def body(b, carry):
        of_rows, of_matrices = carry
        e, chosen = grouping.experts[b], _block(tokens, b)
        own = jnp.where(_block(real, b), gradient[chosen], 0)
        of_matrices = of_matrices.at[e].add(rows[chosen].T @ own)
        return _put(of_rows, own @ matrices[e].T, b), of_matrices

    empty = jnp.zeros((len(tokens), rows.shape[1]), rows.dtype), jnp.zeros_like(matrices)
    of_rows, of_matrices = jax.lax.fori_loop(0, grouping.used, body, empty)
    return of_rows[grouping.places[:, 0]], of_matrices, None


_product.defvjp(_product_forward, _product_backward)


@partial(jax.custom_vjp, nondiff_argnums=(6,))
def _experts(x, weights, inner, outer, grouping, words, rate):
    return _experts_forward(x, weights, inner, outer, grouping, words, rate)[0]


def _experts_forward(x, weights, inner, outer, grouping, words, rate):
    tokens, by_row = _tokens(grouping), _by_row(weights, grouping)

    def body(b, carry):
        hidden, out = carry
        e = grouping.experts[b]
        own = jax.nn.relu(x[_block(tokens, b)] @ inner[e])
        if words is not None:
            key = jax.random.fold_in(jax.random.wrap_key_data(words), b)
            own = jnp.where(kept(own.shape, rate, key=key), own / (1 - rate), 0)
        weighted = own * _block(by_row, b)[:, None]
        return _put(hidden, own, b), _put(out, weighted @ outer[e], b)

    count, size = len(tokens), inner.shape[2]
    empty = jnp.zeros((count, size), x.dtype), jnp.zeros((count, x.shape[1]), x.dtype)
    hidden, out = jax.lax.fori_loop(0, grouping.used, body, empty)
    return _summed(out, grouping), (x, hidden, by_row, inner, outer, grouping)


def _experts_backward(rate, saved, gradient):
    x, hidden, by_row, inner, outer, grouping = saved
    tokens = _tokens(grouping)

    def body(b, carry):
        of_x, of_weights, of_inner, of_outer = carry
        e, chosen = grouping.experts[b], _block(tokens, b)
        own, weight, pull = _block(hidden, b), _block(by_row, b)[:, None], gradient[chosen]
        back = pull @ outer[e].T
        of_weights = _put(of_weights, (back * own).sum(axis=1), b)
        # A row that fills up has weight 0, and gives nothing to its expert.
        of_outer = of_outer.at[e].add((own * weight).T @ pull)
        # Units that were dropped are 0, as are those that ReLU has cut.
        back = jnp.where(own > 0, back * (weight / (1 - rate)), 0)
        of_inner = of_inner.at[e].add(x[chosen].T @ back)
        return _put(of_x, back @ inner[e].T, b), of_weights, of_inner, of_outer

    empty = (
        jnp.zeros((len(tokens), x.shape[1]), x.dtype),
        jnp.zeros(len(tokens), by_row.dtype),
        jnp.zeros_like(inner),
        jnp.zeros_like(outer),
    )
    of_x, of_weights, of_inner, of_outer = jax.lax.fori_loop(0, grouping.used, body, empty)
    of_weights = of_weights[grouping.places.reshape(-1)].reshape(grouping.places.shape)
    return _summed(of_x, grouping), of_weights, of_inner, of_outer, None, None


_experts.defvjp(_experts_forward, _experts_backward)
