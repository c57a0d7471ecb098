"""How experts are used: shares, evenness, pairs, and how chosen experts last or differ."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class Usage(NamedTuple):
    """How much every expert is used."""

    weights: Float[Array, "*layers experts"]
    """The share of all selection weights that goes to an expert."""
    counts: Float[Array, "*layers experts"]
    """The share of all choices that are of an expert."""


def expert_usage(
    chosen: Int[Array, "*layers tokens chosen"],
    weights: Float[Array, "*layers tokens chosen"],
    experts: int,
) -> Usage:
    """The shares of experts in choices, of every layer; they sum to 1 (Figs. 7.3 and F.4)."""
    leading = chosen.shape[:-2]
    ids, amounts = (part.reshape(-1, chosen[..., 0].shape[-1] * chosen.shape[-1])
                    for part in (chosen, weights))  # fmt: skip

    def shares(ids, amounts):
        total = jnp.zeros(experts, amounts.dtype).at[ids].add(amounts)
        return total / jnp.maximum(total.sum(), jnp.finfo(amounts.dtype).tiny)

    by_weight = jax.vmap(shares)(ids, amounts)
    by_count = jax.vmap(shares)(ids, jnp.ones_like(amounts))
    return Usage(by_weight.reshape(*leading, experts), by_count.reshape(*leading, experts))


def relative_perplexity(shares: Float[Array, "*layers experts"]) -> Float[Array, "*layers"]:
    """exp(H(q)) / N of shares q of N experts: 1 if all are used alike, 1 / N if one is."""
    entropy = -jax.scipy.special.xlogy(shares, shares).sum(axis=-1)
    return jnp.exp(entropy) / shares.shape[-1]


def relative_entropy_of_usage(shares: Float[Array, "*layers experts"]) -> Float[Array, "*layers"]:
    """H(q) / log N of shares q of N experts: 1 if all are used alike, 0 if one is."""
    entropy = -jax.scipy.special.xlogy(shares, shares).sum(axis=-1)
    return entropy / jnp.log(shares.shape[-1])


def dead_experts(
    counts: Float[Array, "*layers experts"], *, below: float = 0.01
) -> Float[Array, "*layers"]:
    """The share of experts with less than `below` of the choices that they would have if all were
    used alike."""
    return (counts * counts.shape[-1] < below).mean(axis=-1)


def co_occurrence(
    chosen: Int[Array, "tokens chosen"], experts: int, *, normalised: bool = True
) -> Float[Array, "{experts} {experts}"]:
    """How often two experts are chosen by one token, with 0 on the diagonal (Fig. F.3).

    **Arguments:**

    - `normalised`: divide every row by its sum; else they are symmetric counts.
    """
    pairs = jnp.zeros((experts, experts))
    for k in range(chosen.shape[1]):
        for other in range(chosen.shape[1]):
            if k != other:
                pairs = pairs.at[chosen[:, k], chosen[:, other]].add(1)
    pairs = jnp.where(jnp.eye(experts, dtype=bool), 0, pairs)
    return pairs / jnp.maximum(pairs.sum(axis=1, keepdims=True), 1) if normalised else pairs


def overlap_of_choices(
    one: Int[Array, "*tokens chosen"], other: Int[Array, "*tokens chosen"]
) -> Float[Array, "*tokens"]:
    """The share of a token's chosen experts that are chosen in both: of two layers or steps."""
    return (one[..., :, None] == other[..., None, :]).any(axis=-1).mean(axis=-1)


def expected_overlap(chosen: int, experts: int) -> float:
    """The overlap of choices that have nothing to do with each other."""
    return chosen / experts


def mean_pairwise_cosine(rows: Float[Array, "rows numbers"]) -> Float[Array, ""]:
    """The mean cosine between two different rows, such as the routing weights of experts."""
    norms = jnp.maximum(jnp.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    cosines = (rows / norms) @ (rows / norms).T
    count = len(rows)
    return (cosines.sum() - jnp.trace(cosines)) / (count * (count - 1))


def specialisation(
    chosen: Int[Array, "tokens chosen"], labels: Int[Array, " tokens"], experts: int
) -> Float[Array, ""]:
    """How much a token's label says of its experts, as a share of what there is to say.

    The mutual information of labels (the tokens themselves, say) and choices, divided by the
    entropy of choices: 0 if experts are chosen alike for all labels, 1 if the label decides.
    """
    table = np.zeros((int(labels.max()) + 1, experts))
    np.add.at(table, (np.asarray(labels)[:, None], np.asarray(chosen)), 1)
    joint = table / table.sum()
    of_label, of_expert = joint.sum(1, keepdims=True), joint.sum(0, keepdims=True)
    there = joint > 0
    information = (joint[there] * np.log((joint / (of_label * of_expert + 1e-300))[there])).sum()
    entropy = -(of_expert[of_expert > 0] * np.log(of_expert[of_expert > 0])).sum()
    return jnp.asarray(information / entropy if entropy > 0 else 0.0)
