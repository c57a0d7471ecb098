"""Selection functions share one code path, and differ as they should."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import specs

KEY = jax.random.key(0)
X = jax.random.normal(KEY, (200, 6))
SIZES = specs.LayerSizes(6, 0, 1, 0.0)


def mixture(**options):
    settings = {"experts": 5, "size": 4, "chosen": 2} | options
    return specs.MixtureSpec(**settings).build(SIZES, KEY)


SELECTIONS = {
    spec.name: spec()
    for spec in (
        specs.SigmoidSelectionSpec, specs.SoftmaxBeforeSelectionSpec,
        specs.SoftmaxAfterSelectionSpec, specs.SinkhornSelectionSpec, specs.NoisySelectionSpec,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", SELECTIONS)
def test_in_evaluation_the_largest_logits_are_chosen(name):
    model = mixture(selection=SELECTIONS[name])
    found = model.select(X)
    np.testing.assert_array_equal(found.chosen, jax.lax.top_k(found.logits, 2)[1])
    assert np.all(found.weights > 0)


def test_softmax_after_top_k_is_the_softmax_over_all_experts_renormalised():
    before = mixture(selection=SELECTIONS["softmax-before"]).select(X).weights
    after = mixture(selection=SELECTIONS["softmax-after"]).select(X).weights
    np.testing.assert_allclose(after, before / before.sum(1, keepdims=True), rtol=1e-5)


def test_sigmoids_do_not_compete_and_softmax_does():
    logits = jnp.array([[0.3, -1.0, 2.0, 0.1]])
    chosen = jnp.array([[2, 0]])

    def slopes(selection):
        weights = lambda z: selection.weights(z, z, chosen)[0]  # noqa: E731
        return jax.jacobian(weights)(logits)[:, 0]

    sigmoid = slopes(models.SigmoidSelection())
    softmax = slopes(models.SoftmaxBeforeSelection())
    for k, e in enumerate((2, 0)):
        others = np.delete(np.arange(4), e)
        assert not np.any(sigmoid[k, others])
        assert np.all(softmax[k, others] < 0)


@pytest.mark.parametrize("name", ["sinkhorn", "noisy"])
def test_training_ranks_otherwise_than_evaluation(name):
    model = mixture(selection=SELECTIONS[name])
    assert not np.array_equal(model.select(X).chosen, model.select(X, key=KEY).chosen)


def test_s_base_weights_by_sigmoids_of_the_logits_in_training_too():
    found = mixture(selection=SELECTIONS["sinkhorn"]).select(X, key=KEY)
    own = jnp.take_along_axis(found.logits, found.chosen, axis=1)
    np.testing.assert_allclose(found.weights, jax.nn.sigmoid(own), rtol=1e-6)


def test_no_dropped_expert_is_chosen_while_enough_are_left():
    model = mixture(experts=20, chosen=1, expert_dropout=0.5)
    chosen = model.select(X, key=KEY).chosen
    first = model.select(X).chosen
    kept = float((chosen == first).mean())
    assert 0.4 < kept < 0.6
    assert len(np.unique(chosen)) > 1


def test_base_loads_are_exactly_equal_in_training():
    model = mixture(experts=5, chosen=1, selection=specs.BaseSelectionSpec())
    found = jax.jit(lambda key: model.select(X, key=key))(KEY)
    np.testing.assert_array_equal(np.bincount(found.chosen[:, 0], minlength=5), 40)
    np.testing.assert_array_equal(model.select(X).chosen[:, 0], found.logits.argmax(1))


def test_base_with_several_experts_per_token_is_refused():
    with pytest.raises(ValueError, match="BASE assigns one expert per token: chosen=2 is not 1"):
        mixture(selection=specs.BaseSelectionSpec())
