"""Probes of memories, on cases that can be counted."""

import jax.numpy as jnp
import numpy as np

from recombine import probes, tasks

LENGTHS = jnp.array([4, 4])
PHASES = jnp.array([[1, 2, 3, 3, 0], [1, 2, 3, 3, 0]])
PARTS = jnp.array([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
TARGETS = jnp.zeros((2, 5, 2)).at[:, 2].set(1.0)


def bitmaps():
    return tasks.BitmapBatch(jnp.zeros((2, 5, 3)), TARGETS, LENGTHS, PHASES, PARTS)


def test_bits_are_counted_where_an_answer_is_due():
    # One bit of the first sequence's second part is wrong, and everything where nothing is due.
    said = (2 * TARGETS - 1).at[:, 0].set(1.0).at[:, 4].set(1.0).at[0, 3, 0].set(1.0)
    found = probes.bitmap_errors(lambda x, lengths, key=None: said, bitmaps(), parts=3)
    assert found.bits == 1 / 8
    assert found.whole == 0.5
    np.testing.assert_allclose(found.by_part[:2], [0, 0.25])
    assert np.isnan(found.by_part[2])
    right, wrong = np.log1p(np.exp(-1.0)), np.log1p(np.exp(1.0))
    # 16 bits of 8 rows count: 5 of them, wrong ones of the first row and the one above.
    np.testing.assert_allclose(found.loss, (11 * right + 5 * wrong) / 2, rtol=1e-6)
    np.testing.assert_allclose(found.guessed, 4 * np.log(2), rtol=1e-6)


def test_inputs_are_shown_as_plus_and_minus_one():
    seen = []

    def model(x, lengths, key=None):
        seen.append(x)
        return jnp.zeros_like(TARGETS)

    probes.bitmap_errors(model, bitmaps()._replace(inputs=jnp.ones((2, 5, 3)).at[0].set(0)))
    np.testing.assert_array_equal(seen[0][:, 0, 0], [-1, 1])


def test_entropy_is_one_for_all_cells_and_zero_for_one():
    weights = jnp.array([[0.25] * 4, [0.5, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_allclose(probes.entropy(weights), [1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(probes.peak(weights), [0.25, 0.5, 0])


def test_links_are_looked_at_part_by_part_while_an_answer_is_due():
    forward = jnp.zeros((2, 5, 1, 4)).at[:, 2, 0, 0].set(0.8).at[:, 3].set(0.25)
    found = probes.link_use(forward, PHASES == 3, PARTS, 3)
    np.testing.assert_allclose(found.peak[:2], [0.8, 0.25], rtol=1e-6)
    np.testing.assert_allclose(found.entropy[:2], [0, 1], atol=1e-6)
    assert np.isnan(found.peak[2])


def test_means_by_phase():
    values = jnp.arange(5.0)[None, :, None] * jnp.ones((2, 1, 3))
    found = probes.by_phase(values, PHASES)
    np.testing.assert_allclose(found[:4, 0], [4, 0, 1, 2.5])
    assert np.isnan(found[4]).all()


def test_errors_of_stories_count_answer_tokens_task_by_task():
    answers = np.array([[0, 5, 0, 6], [0, 0, 7, 0], [0, 0, 0, 5]], np.int32)
    batch = tasks.StoryBatch(
        np.zeros((3, 4), np.int32), answers, np.full(3, 4, np.int32), np.array([1, 1, 8], np.int32)
    )
    said = np.array([5, 5, 5, 5])
    model = lambda tokens, lengths: jnp.eye(9)[jnp.broadcast_to(said, tokens.shape)]  # noqa: E731
    found = probes.story_errors(model, batch, batch_size=2)
    np.testing.assert_array_equal(found.tasks, [1, 8])
    np.testing.assert_allclose(found.error, [2 / 3, 0])
    assert found.solved() == 1
    np.testing.assert_allclose(found.mean, 1 / 3)
