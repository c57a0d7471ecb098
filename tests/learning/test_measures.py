"""Loss and accuracy on named sets, by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, tasks

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(5, 2)).astype(np.float32)


def sequences(count, longest, seed, shortest=1):
    random = np.random.default_rng(seed)
    lengths = random.integers(shortest, longest + 1, count)
    tokens = random.integers(1, 5, (count, longest)) * (np.arange(longest) < lengths[:, None])
    labels = random.integers(0, 2, count)
    return tasks.LabelledSequences(tokens, lengths, labels, ("", "a", "b", "c", "d"), 2)


SETS = {"": sequences(40, 5, 0), "valid": sequences(50, 5, 1), "longer": sequences(30, 8, 2, 7)}


def bag(tokens, lengths):
    counts = jnp.arange(tokens.shape[1]) < lengths[:, None]
    return jnp.where(counts[..., None], jnp.asarray(TABLE)[tokens], 0).sum(axis=1)


def expected(scores, labels):
    """Loss and accuracy of scores."""
    scores = np.asarray(scores, float)
    of_label = scores[np.arange(len(labels)), labels]
    loss = np.mean(np.log(np.exp(scores).sum(axis=1)) - of_label)
    return loss, np.mean(scores.argmax(axis=1) == labels)


@pytest.mark.parametrize("batch_size", [7, 512])
def test_sequences_are_measured_as_each_set_would_be_by_itself(batch_size):
    """However many sequences are looked at together, and however wide the widest set is."""
    found = eqx.filter_jit(learning.SequenceAccuracy(SETS, batch_size))(bag)
    assert len(found) == 6
    for name, part in SETS.items():
        prefix = f"{name}_" if name else ""
        tokens = np.asarray(part.tokens)
        scores = [TABLE[row[row > 0]].sum(axis=0) for row in tokens]
        loss, accuracy = expected(scores, np.asarray(part.labels))
        np.testing.assert_allclose(found[f"{prefix}loss"], loss, rtol=1e-5)
        np.testing.assert_allclose(found[f"{prefix}accuracy"], accuracy, rtol=1e-6)


def test_sequences_of_different_vocabularies_are_refused():
    with pytest.raises(ValueError, match="one vocabulary"):
        learning.SequenceAccuracy({"": SETS[""], "other": SETS["valid"].framed()})


def test_sets_of_inputs_are_measured_by_the_loss_that_is_given():
    labels = jnp.arange(6) % 3
    sets = {
        name: tasks.PairBatch(jnp.asarray(RNG.normal(size=(6, 4))), labels, labels)
        for name in ("", "ood")
    }
    W = jnp.asarray(RNG.normal(size=(4, 3)))

    def model(x):
        return x @ W

    found = learning.Accuracy(sets)(model)
    assert set(found) == {"loss", "accuracy", "ood_loss", "ood_accuracy"}
    for prefix, part in (("", sets[""]), ("ood_", sets["ood"])):
        loss, accuracy = expected(model(part.x), np.asarray(labels))
        assert found[f"{prefix}loss"] == pytest.approx(loss, rel=1e-5)
        assert found[f"{prefix}accuracy"] == pytest.approx(accuracy)
    hinge = learning.Accuracy(sets, learning.categorical_hinge)(model)
    assert hinge["ood_loss"] == learning.categorical_hinge(model(sets["ood"].x), labels)


def test_a_network_with_running_statistics_is_measured_with_them():
    labels = jnp.arange(4) % 2

    def model(x, statistics):
        return x - statistics, statistics

    sets = {"": tasks.PairBatch(jnp.eye(4, 2), labels, labels)}
    found = jax.jit(lambda: learning.Accuracy(sets)(model, jnp.array([0.3, 0.1])))()
    loss, _ = expected(np.eye(4, 2) - [0.3, 0.1], np.asarray(labels))
    assert found["loss"] == pytest.approx(loss, rel=1e-5)
