"""Masks over weights: algebra, overlap, effects, and when conclusions may be drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, probes
from recombine._errors import UserError

KEY = jax.random.key(0)
NETWORK = models.MLP((2, 2, 1), key=KEY)
FIRST, LAST = "layers[0].weight", "layers[1].weight"


def mask(first, last):
    """Two layers, of 2 by 2 and 2 by 1 weights."""
    full = learning.WeightMask.full(NETWORK)
    leaves = [jnp.array(first, bool).reshape(2, 2), jnp.array(last, bool).reshape(2, 1)]
    return learning.WeightMask(jax.tree.unflatten(jax.tree.structure(full.kept), leaves))


A = mask([1, 1, 1, 0], [1, 0])
B = mask([1, 0, 0, 1], [0, 1])


def rows(m):
    return [np.ravel(kept).astype(int).tolist() for kept in m.layers.values()]


def test_masks_are_inverted_restricted_and_replaced_by_layer():
    assert rows(probes.invert_mask(A)) == [[0, 0, 0, 1], [0, 1]]
    assert rows(probes.invert_mask(A, [FIRST])) == [[0, 0, 0, 1], [1, 0]]
    assert rows(probes.invert_mask(A, lambda name: name == LAST)) == [[1, 1, 1, 0], [0, 1]]
    assert rows(probes.restrict_mask(A, [FIRST])) == [[1, 1, 1, 0], [1, 1]]
    assert rows(probes.replace_in_mask(A, B, [LAST])) == [[1, 1, 1, 0], [0, 1]]
    assert rows(probes.replace_in_mask(A, None, [FIRST])) == [[1, 1, 1, 1], [1, 0]]
    halves = probes.half_masks(A, [FIRST])
    assert rows(halves["early"]) == [[1, 1, 1, 0], [1, 1]]
    assert rows(halves["late"]) == [[1, 1, 1, 1], [1, 0]]


def test_layers_that_are_not_there_are_named():
    with pytest.raises(UserError, match=r"no layer is called 'first'; there are layers\[0\]"):
        probes.invert_mask(A, ["first"])
    with pytest.raises(UserError, match="the filter matches no layer"):
        probes.invert_mask(A, lambda name: False)


def test_overlap_by_hand():
    found = probes.mask_overlap(A, B)
    assert found.layers == (FIRST, LAST)
    np.testing.assert_allclose(found.iou, [1 / 4, 0])
    np.testing.assert_allclose(found.io_min, [1 / 2, 0])
    assert found.total_iou == pytest.approx(1 / 6)
    assert found.total_io_min == pytest.approx(1 / 3)
    nothing = mask([0, 0, 0, 0], [0, 0])
    assert probes.mask_overlap(nothing, nothing).total_iou == 1


def test_sharing_counts_and_stability_by_hand():
    found = probes.shared_with(A, [B, mask([0, 1, 0, 0], [0, 0])])
    np.testing.assert_allclose(found.share, [2 / 3, 0])
    assert found.total == pytest.approx(2 / 4)
    assert probes.kept_weights(A) == {FIRST: 3, LAST: 1}
    assert probes.kept_share(A) == pytest.approx(4 / 6)
    assert probes.mask_stability([A, A, B]) == pytest.approx((1 + 2 / 6) / 3)
    np.testing.assert_allclose(probes.iou_matrix({"a": A, "b": B}), [[1, 1 / 6], [1 / 6, 1]])
    with pytest.raises(ValueError, match="no other mask"):
        probes.shared_with(A, [])
    with pytest.raises(ValueError, match="two masks or more"):
        probes.mask_stability([A])


def test_removed_weights_per_output_by_hand():
    """Outputs are the columns of `Dense`: of the control's weights, B lacks one each."""
    np.testing.assert_allclose(probes.removed_per_output(A, B, FIRST, axis=1), [1 / 2, 1])
    np.testing.assert_allclose(probes.removed_per_output(A, B, FIRST, axis=0), [1 / 2, 1])
    np.testing.assert_allclose(probes.removed_per_output(A, B, LAST, axis=0), [1, 0])


def test_histograms_are_of_probabilities():
    masked = learning.Masked(NETWORK, logit=0.0)
    found = probes.mask_histogram(masked, bins=4)
    assert found.counts.tolist() == [0, 0, 6, 0]
    assert probes.undecided_share(masked) == 1
    assert probes.undecided_share(learning.Masked(NETWORK, logit=5.0)) == 0


def test_operations_are_confused_as_counted_by_hand():
    """Of three requests for +, one is answered by ×, and one result is the same for both."""
    plus, times = (
        jnp.array([[0, 5], [2, 1], [4, 0], [1, 1]]),
        jnp.array([[0, 6], [2, 1], [3, 0], [1, 2]]),
    )
    answers = jnp.array([[0, 6], [2, 1], [9, 9], [1, 2]])
    found = probes.operation_confusion(answers, [plus, times], jnp.array([0, 0, 0, 1]))
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3, 1 / 3], [0, 1, 0]])
    with pytest.raises(ValueError, match="operation 1 is never requested"):
        probes.operation_confusion(answers, [plus, times], jnp.zeros(4, int))


def test_a_class_that_is_removed_by_hand():
    control = probes.class_confusion(jnp.array([0, 0, 1, 1]), jnp.array([0, 0, 1, 1]), 2)
    removed = probes.class_confusion(jnp.array([1, 0, 1, 1]), jnp.array([0, 0, 1, 1]), 2)
    found = probes.class_removal(control, removed, 0)
    assert (found.drop, found.collateral) == (0.5, 0.0)
    np.testing.assert_allclose(found.difference, [[-0.5, 0.5], [0, 0]])
    both = np.array([[0.5, 0.5], [0.1, 0.9]])
    assert probes.class_removal(control, both, 0).collateral == pytest.approx(0.2)
    with pytest.raises(ValueError, match="no samples of class 1"):
        probes.class_confusion(jnp.array([0]), jnp.array([0]), 2)


def test_conclusions_need_a_control_mask_that_leaves_95_percent():
    assert probes.module_gate(1.0, 0.96).valid
    closed = probes.module_gate(1.0, 0.94)
    assert not closed.valid
    with pytest.raises(UserError, match=r"leaves 94\.0% of the accuracy, and must leave 95%"):
        closed.check()
    assert "right on 90.0%" in probes.module_gate(0.9, 0.9).reason


def test_networks_under_masks_are_measured_together():
    x = jnp.eye(2)
    found = probes.under_masks(NETWORK, {"a": A, "b": B}, lambda n: {"y": n(x)})
    for name, m in (("a", A), ("b", B)):
        np.testing.assert_allclose(found[name]["y"], m.apply(NETWORK)(x), rtol=1e-6)


def test_masks_that_are_not_learned_keep_as_many_as_asked_for():
    largest = probes.magnitude_mask(NETWORK, 3)
    kept = jnp.concatenate([jnp.ravel(jnp.abs(NETWORK.layers[i].weight)) for i in (0, 1)])
    chosen = jnp.concatenate([jnp.ravel(x) for x in largest.layers.values()])
    assert chosen.sum() == 3
    assert kept[chosen].min() > kept[~chosen].max()
    assert sum(probes.kept_weights(probes.random_mask(NETWORK, 4, key=KEY)).values()) == 4
    with pytest.raises(ValueError, match="kept=7 is not between 0 and"):
        probes.magnitude_mask(NETWORK, 7)


def test_saliency_finds_the_weights_that_an_output_depends_on():
    network = models.MLP((2, 2), key=KEY)
    found = probes.saliency_mask(
        network, lambda n, example: n(example[None])[0, :1], jnp.eye(2) + 1, 2, key=KEY
    )
    assert found.layers[FIRST].tolist() == [[True, False], [True, False]]
