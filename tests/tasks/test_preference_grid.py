import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import splits
from recombine.splits._masks import halves_masks, ring_masks
from recombine.tasks import ForagingGrid, PreferenceGrid

KEY = jax.random.key(0)
MASKS = splits.up_to_k_hot_masks(8, 3)
TASK = PreferenceGrid(jax.random.normal(KEY, (8, 8)), splits.ListedCodes(MASKS), compact=True)
SMALL_WORLD = ForagingGrid(colours=3, objects=2, layout=("..", ".."), horizon=4)


def small(templates=None, masks=((0, 1, 1),), **settings):
    templates = jnp.eye(3) if templates is None else templates
    codes = splits.ListedCodes(np.array(masks, bool))
    return PreferenceGrid(templates, codes, SMALL_WORLD, **settings)


@eqx.filter_jit
def sample(task, size, key=KEY):
    return task.sample(size, key=key)


@pytest.fixture(scope="module")
def episode():
    return sample(TASK, 64)


def test_an_episode_has_a_sample_for_every_state_of_every_instance(episode):
    for part in (episode.support, episode.query):
        assert part.x.shape == (64, 16 * 8, TASK.inputs) == (64, 128, 171)
        assert part.y.shape == (64, 16 * 8, TASK.outputs) == (64, 128, 5)
        assert part.weight.shape == (64, 16 * 8)
        assert set(np.unique(part.weight)) == {0.0, 1.0}
        assert set(np.unique(part.x)) == {0.0, 1.0}
        # An instance starts with a state that counts, and four objects that are there.
        first = np.arange(0, 128, 8)
        assert (part.weight[:, first] == 1).all()
        assert (part.x[:, first].sum(-1) == 5).all()
    assert not np.array_equal(episode.support.x, episode.query.x)


def test_codes_are_the_masks_that_tasks_are_drawn_from(episode):
    assert episode.code.shape == (64, 1, 8)
    listed = set(map(tuple, MASKS.astype(float).tolist()))
    drawn = set(map(tuple, np.asarray(episode.code)[:, 0].tolist()))
    assert drawn <= listed
    assert len(drawn) > 30


def test_preferences_mix_the_templates_by_the_latents_of_the_mask():
    masks = jnp.array(splits.masks_of(["012", "3"], 8))
    # With the unit vectors as templates preferences are the latents themselves.
    eye = PreferenceGrid(jnp.eye(8), TASK.codes)
    latents = eye.preferences(masks, key=KEY)
    assert ((latents > 0.5) & (latents < 1))[masks].all()
    assert not latents[~masks].any()
    np.testing.assert_allclose(
        TASK.preferences(masks, key=KEY), latents @ TASK.templates, rtol=1e-5, atol=1e-6
    )
    prose = PreferenceGrid(jnp.eye(8), TASK.codes, sum_to_one=True).preferences(masks, key=KEY)
    np.testing.assert_allclose(prose.sum(1), [2, 1], rtol=1e-6)


def test_objects_pay_the_preference_for_their_colour():
    preferences = jnp.array([[1.0, -1.0, 2.0], [-1.0, -2.0, -3.0]])
    task = small()

    @jax.jit
    def twice():
        instances = task.world.instances(2 * 50, key=KEY)
        rewards = jnp.repeat(preferences, 50, axis=0)[jnp.arange(100)[:, None], instances.colours]
        shown = task.world.demonstrate(instances, rewards)
        seen = task.world.observe(instances, shown.cell, shown.remaining)
        return (seen, shown.values, shown.visited), task.demonstrations(preferences, 50, key=KEY)

    expected, (x, y, weight) = twice()
    assert x.shape == (2, 50 * 4, task.inputs) == (2, 200, 4 * 4 * (3 + 2))
    for part, whole in zip((x, y, weight), expected, strict=True):
        np.testing.assert_array_equal(part, whole.reshape(part.shape))
    # Who dislikes everything terminates at once.
    assert weight[1].sum() == 50


def test_numbers_of_modules_colours_objects_and_instances_are_free():
    drawn = sample(small(support=3, query=1, compact=True), 5)
    assert drawn.support.x.shape == (5, 3 * 4, 4 * (3 + 1))
    assert drawn.query.x.shape == (5, 1 * 4, 4 * (3 + 1))
    assert drawn.support.y.shape == (5, 3 * 4, 5)
    assert drawn.code.shape == (5, 1, 3)


def test_other_combinations_of_the_same_world_have_the_same_templates():
    task = small(support=1, query=1)
    other = task.on(splits.ListedCodes(np.array([[True, False, False]])))
    np.testing.assert_array_equal(other.templates, task.templates)
    assert other.world == task.world
    np.testing.assert_array_equal(sample(other, 2).code, [[[1, 0, 0]]] * 2)
    with pytest.raises(ValueError, match="codes of 1 layers and 4 modules do not fit"):
        task.on(splits.ListedCodes(np.eye(4, dtype=bool)))


def test_the_supports_of_the_paper_have_its_numbers_of_masks():
    random = splits.random_hold_out(MASKS, key=KEY)
    assert (len(random.train), len(random.held_out)) == (69, 23)
    module = splits.module_hold_out(MASKS)
    assert (len(module.train), len(module.held_out)) == (63, 29)
    assert not module.train[..., -1].any()
    ring, halves = ring_masks(8), halves_masks(8)
    seen = set(map(tuple, np.concatenate([ring, halves]).tolist()))
    unseen = [mask for mask in splits.k_hot_masks(8, 2).tolist() if tuple(mask) not in seen]
    assert (len(ring), len(halves), len(unseen)) == (24, 20, 10)
    for masks in (random.train, module.train, ring, halves):
        assert TASK.on(splits.ListedCodes(masks)).codes.draw(3, key=KEY).shape == (3, 1, 8)


def test_demonstrations_have_the_statistics_of_the_published_world():
    def statistics(seed):
        templates, key = jax.random.split(jax.random.key(seed))
        normal = jax.random.normal(templates, (8, 8))
        task = eqx.tree_at(lambda task: task.templates, TASK, normal)
        y, weight = map(np.asarray, sample(task, 64, key).query[1:])
        states = weight.reshape(-1, 8).sum(-1)
        visited = y[weight == 1]
        losses = [0.5 * ((visited - p) ** 2).sum(-1).mean() for p in (visited.mean(0), 0)]
        return states.mean(), (states == 1).mean(), (states == 8).mean(), *losses

    # They depend on the templates: means of 12 sets of them, beside values of a single one.
    found = np.mean([statistics(seed) for seed in range(12)], axis=0)
    assert found[0] == pytest.approx(5.7, abs=0.5)
    assert found[1] == pytest.approx(0.17, abs=0.06)
    assert found[2] == pytest.approx(0.48, abs=0.09)
    assert found[3] == pytest.approx(1.2, rel=0.35)
    assert found[4] == pytest.approx(2.6, rel=0.35)


def test_sixty_four_bit_numbers_are_kept(x64):
    drawn = sample(small(jnp.eye(3), support=2, query=2), 2)
    assert {leaf.dtype for leaf in jax.tree.leaves(drawn)} == {jnp.dtype("float64")}


def test_templates_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="codes of 1 layers and 3 modules do not fit"):
        small(jnp.ones((4, 3)))
    with pytest.raises(ValueError, match="templates of 5 colours do not fit a world of 3"):
        small(jnp.ones((3, 5)))
    layered = splits.ListedCodes(np.ones((1, 2, 3), bool))
    with pytest.raises(ValueError, match="codes of 2 layers and 3 modules do not fit"):
        PreferenceGrid(jnp.eye(3), layered, SMALL_WORLD)
