"""How much masks over weights share, and how many weights they keep."""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..learning._masked import Masked
from ..learning._weight_mask import WeightMask


class Overlap(NamedTuple):
    """How much two masks share, by layer and over all layers."""

    layers: tuple[str, ...]
    iou: np.ndarray
    """|A ∩ B| / |A ∪ B| of every layer."""
    io_min: np.ndarray
    """|A ∩ B| / min(|A|, |B|) of every layer."""
    total_iou: float
    total_io_min: float


class Sharing(NamedTuple):
    """Which share of a mask's weights others keep, too, by layer and over all layers."""

    layers: tuple[str, ...]
    share: np.ndarray
    total: float


class Histogram(NamedTuple):
    """Counts between edges."""

    edges: np.ndarray
    counts: np.ndarray


def _ratio(count, of):
    """A share; of nothing, 1."""
    count, of = np.asarray(count, float), np.asarray(of, float)
    return np.where(of == 0, 1.0, count / np.where(of == 0, 1, of))


def _counts(mask: WeightMask) -> np.ndarray:
    return np.array([int(kept.sum()) for kept in mask.layers.values()])


def mask_overlap(a: WeightMask, b: WeightMask) -> Overlap:
    """Intersection over union, and over the smaller mask (Section 3.1); 1 where masks are empty."""
    both, union = _counts(a & b), _counts(a | b)
    own, other = _counts(a), _counts(b)
    return Overlap(
        tuple(a.layers),
        _ratio(both, union),
        _ratio(both, np.minimum(own, other)),
        float(_ratio(both.sum(), union.sum())),
        float(_ratio(both.sum(), min(own.sum(), other.sum()))),
    )


def shared_with(mask: WeightMask, others: Sequence[WeightMask]) -> Sharing:
    """The share of a mask's weights that any of the others keeps: |M ∩ ⋃ others| / |M|."""
    if not others:
        raise ValueError("there is no other mask to share with; give one or more")
    union = reduce(lambda a, b: a | b, others)
    both, own = _counts(mask & union), _counts(mask)
    return Sharing(tuple(mask.layers), _ratio(both, own), float(_ratio(both.sum(), own.sum())))


def kept_weights(mask: WeightMask) -> dict[str, int]:
    """How many weights of every layer a mask keeps."""
    return dict(zip(mask.layers, _counts(mask).tolist(), strict=True))


def kept_share(mask: WeightMask) -> float:
    """The share of all weights that a mask keeps."""
    return float(_counts(mask).sum() / sum(kept.size for kept in mask.layers.values()))


def mask_stability(masks: Sequence[WeightMask]) -> float:
    """The mean over pairs of masks of one target of their intersection over union."""
    if len(masks) < 2:
        raise ValueError("stability is of two masks or more")
    return float(np.mean([mask_overlap(a, b).total_iou for a, b in combinations(masks, 2)]))


def mask_histogram(masked: Masked, name: str | None = None, *, bins: int = 500) -> Histogram:
    """How many weights are kept with which probability, between 0 and 1 (Figure B.3)."""
    values = np.concatenate([np.ravel(p) for p in masked.probabilities(name).values()])
    counts, edges = np.histogram(values, bins, (0.0, 1.0))
    return Histogram(edges, counts)


def undecided_share(
    masked: Masked, name: str | None = None, *, between: tuple[float, float] = (0.1, 0.9)
) -> float:
    """The share of weights whose probability of being kept is neither low nor high."""
    low, high = between
    values = np.concatenate([np.ravel(p) for p in masked.probabilities(name).values()])
    return float(np.mean((values > low) & (values < high)))


def removed_per_output(
    control: WeightMask, other: WeightMask, layer: str, *, axis: int = 0
) -> np.ndarray:
    """The share of an output's weights in a control mask that another mask removes (Figure 3.5b).

    **Arguments:**

    - `layer`: the one that makes the outputs.
    - `axis`: where its outputs are: 0 for layers of Equinox, 1 for `Dense`.
    """
    kept, also = (jnp.moveaxis(mask.layers[layer], axis, 0) for mask in (control, other))
    sums = tuple(range(1, kept.ndim))
    return np.where(
        np.asarray(kept.sum(sums)) == 0, 0.0, _ratio((kept & ~also).sum(sums), kept.sum(sums))
    )


def iou_matrix(masks: Mapping[str, WeightMask]) -> np.ndarray:
    """Intersection over union of every mask with every other, over all layers."""
    return np.array(
        [[mask_overlap(a, b).total_iou for b in masks.values()] for a in masks.values()]
    )
