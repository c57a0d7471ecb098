"""Masks over the weights of a network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, tasks
from recombine._errors import UserError
from recombine.learning._gate_sampling import cheap_uniform
from recombine.learning._mask_steps import ADAM_EPS
from recombine.models._norms import LayerNorm

KEY = jax.random.key(0)
EXAMPLES = tasks.Examples(jnp.eye(4), jnp.eye(4)[:, :1], jnp.ones(4))


def mlp(*sizes):
    return models.MLP(sizes, key=KEY)


class Block(eqx.Module):
    """One of everything that a filter must tell apart."""

    embedding: models.Embedding
    linear: eqx.nn.Linear
    norm: LayerNorm
    stacked_bias: jax.Array
    number: int = 3


def block():
    linear = eqx.nn.Linear(3, 2, key=KEY)
    return Block(models.Embedding(jnp.ones((5, 3))), linear, LayerNorm(2), jnp.ones((2, 2)))


def kinds(**options):
    chosen = learning.maskable(block(), **options)
    return {
        "embedding": chosen.embedding.weight, "matrix": chosen.linear.weight,
        "norm": chosen.norm.scale and chosen.norm.offset,
        "bias": chosen.linear.bias and chosen.stacked_bias,
    }  # fmt: skip


def test_matrices_and_norms_are_masked_by_default_and_the_rest_if_asked_for():
    assert kinds() == {"embedding": False, "matrix": True, "norm": True, "bias": False}
    everything = kinds(biases=True, embeddings=True)
    assert everything == dict.fromkeys(everything, True)
    assert kinds(norms=False)["norm"] is False


def test_a_filter_that_matches_nothing_names_what_there_is():
    with pytest.raises(UserError, match=r"matches no weights.*layers\[0\]\.weight"):
        learning.Masked(mlp(2, 3, 1), lambda leaf: False)


def test_a_mask_applies_inverts_and_combines():
    network = mlp(2, 3, 1)
    mask = learning.WeightMask.full(network)
    assert list(mask.layers) == ["layers[0].weight", "layers[1].weight"]
    none = ~mask
    assert all(not kept.any() for kept in none.layers.values())
    assert eqx.tree_equal(mask.apply(network), network)
    assert not none.apply(network).layers[0].weight.any()
    assert eqx.tree_equal(none.apply(network).layers[0].bias, network.layers[0].bias)
    assert eqx.tree_equal(mask & none, none)
    assert eqx.tree_equal(mask | none, mask)


def test_names_of_masks_are_checked():
    with pytest.raises(ValueError, match="a name of its own"):
        learning.Masked(mlp(2, 1), names=("a", "a"))
    with pytest.raises(ValueError, match="there is no mask 'c'; there are a, b"):
        learning.Masked(mlp(2, 1), names=("a", "b")).mask("c")


def test_thresholds_and_probabilities_are_those_of_the_logits():
    masked = learning.Masked(mlp(2, 1), logit=2.0)
    assert masked.mask().layers["layers[0].weight"].all()
    np.testing.assert_allclose(masked.probabilities()["layers[0].weight"], 0.8808, atol=1e-4)
    away = eqx.tree_at(lambda m: m.logits.layers[0].weight, masked, -jnp.ones((1, 2, 1)))
    assert not away.mask().layers["layers[0].weight"].any()
    np.testing.assert_array_equal(away(jnp.ones((3, 2))), jnp.zeros((3, 1)))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 3.0])
def test_a_weight_is_kept_with_the_probability_of_its_logit_at_every_temperature(temperature):
    logits = jnp.broadcast_to(jnp.array([-3.0, -0.5, 0.0, 2.0])[:, None], (4, 100_000))
    words = jax.random.bits(KEY, (2,), jnp.uint32)
    kept = learning.sampled_weights(jnp.ones(logits.shape), logits, words, temperature)
    assert set(np.unique(kept)) == {0.0, 1.0}
    p = np.asarray(jax.nn.sigmoid(logits[:, 0]))
    assert (np.abs(kept.mean(axis=1) - p) < 4 * np.sqrt(p * (1 - p) / 100_000)).all()


@pytest.mark.parametrize("temperature", [0.3, 1.0, 3.0])
def test_the_gradient_is_that_of_the_relaxed_sample(temperature):
    """∂b/∂l = s (1 - s) / τ, with s from the same noise, and w times it for the weight w·b."""
    words, shape = jnp.array([3, 5], jnp.uint32), (50,)
    weights, logits = jnp.linspace(-1, 1, 50), jnp.linspace(-4, 4, 50)

    def total(weights, logits):
        return learning.sampled_weights(weights, logits, words, temperature).sum()

    of_weights, of_logits = jax.grad(total, (0, 1))(weights, logits)
    u = cheap_uniform(words, shape)
    s = jax.nn.sigmoid((logits - jnp.log(u / (1 - u))) / temperature)
    np.testing.assert_allclose(of_logits, weights * s * (1 - s) / temperature, atol=1e-5)
    np.testing.assert_array_equal(of_weights, s > 0.5)


def test_certain_logits_have_finite_gradients():
    logits = jnp.array([-1e4, 1e4])
    slope = jax.grad(lambda l: learning.sampled_weights(jnp.ones(2), l, KEY_WORDS).sum())(logits)
    assert np.isfinite(slope).all()


KEY_WORDS = jnp.array([1, 2], jnp.uint32)


def test_cheap_numbers_are_uniform_and_independent():
    words = jax.random.bits(KEY, (64, 2), jnp.uint32)
    u = np.asarray(jax.vmap(lambda w: cheap_uniform(w, (4096,)))(words))
    assert u.min() > 0
    assert u.max() <= 1
    counts = np.histogram(u, 64, (0, 1))[0]
    assert np.square(counts - 4096).sum() / 4096 < 63 + 5 * np.sqrt(2 * 63)
    centred = (u - u.mean()) / u.std()
    for pair in ((centred[:, 1:], centred[:, :-1]), (centred[1:], centred[:-1])):
        assert abs((pair[0] * pair[1]).mean()) < 5 / np.sqrt(u.size)
    assert abs((centred[:, 1:] * centred[:, :-1])[..., ::2].mean()) < 7 / np.sqrt(u.size)


def descent(masked, *, beta=0.1, rate=0.1, samples=2, data=EXAMPLES, **options):
    return learning.mask_descent(
        learning.half_squared_loss, learning.Drawn(data), masked, beta=beta, batch_size=4,
        rate=rate, samples=samples, key=KEY, **options,
    )  # fmt: skip


def after(rule, masked, steps=30):
    return learning.train(rule, rule.init(masked), steps, every=steps)[0].model


def test_weights_are_as_before_bit_for_bit():
    network = mlp(4, 8, 1)
    learned = after(descent(learning.Masked(network)), learning.Masked(network))
    assert eqx.tree_equal(learned.network, network)
    assert not np.array_equal(jax.tree.leaves(learned.logits)[0], np.full((1, 4, 8), 2.0))


def test_useless_weights_go_and_needed_ones_stay():
    """y = x₀: of a linear map's weights one is needed."""
    network = eqx.tree_at(
        lambda n: n.layers[0].weight, mlp(4, 1), jnp.array([[1.0], [1e-3], [1e-3], [1e-3]])
    )
    learned = after(descent(learning.Masked(network), beta=0.02), learning.Masked(network), 60)
    np.testing.assert_array_equal(
        learned.mask().layers["layers[0].weight"][:, 0], [True, False, False, False]
    )


def test_a_mask_is_the_same_whichever_masks_are_trained_beside_it():
    network = mlp(4, 8, 1)
    alone, both = (learning.Masked(network, names=names) for names in (("b",), ("a", "b")))
    logits = [m.logits.layers[0].weight[-1] for m in (after(descent(x), x) for x in (alone, both))]
    np.testing.assert_allclose(*logits, atol=1e-5)


def test_masks_at_a_time_do_not_matter():
    masked = learning.Masked(mlp(4, 8, 1), names=("a", "b", "c"))
    found = [jax.tree.leaves(after(descent(masked, parallel=n), masked, 10).logits) for n in (1, 3)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_prices_are_per_mask_and_linear_in_the_logits():
    """Without a task every logit has the gradient α; Adam moves it by α / (α + ε) of its rate."""
    masked = learning.Masked(mlp(4, 2, 1), names=("cheap", "dear", "tiny"))
    betas = jnp.array([1e-3, 1.0, 4e-8])

    def nothing(network, batch, key):
        return jnp.zeros(())

    rule = learning.mask_descent(
        nothing, learning.Drawn(EXAMPLES), masked, beta=betas, batch_size=4, rate=0.1, key=KEY,
        clip_norm=100.0,
    )  # fmt: skip
    learned = after(rule, masked, 10)
    moved = 2 - np.asarray(learned.logits.layers[0].weight[:, 0, 0])
    alpha = np.asarray(betas) / 4
    np.testing.assert_allclose(moved, 10 * 0.1 * alpha / (alpha + ADAM_EPS), rtol=1e-3)
    assert moved[2] < 0.55 < 0.99 < moved[0]


def test_the_steps_that_a_useless_weight_needs():
    assert learning.steps_to_remove(0.1, 128, 0.01) == pytest.approx(200, rel=1e-4)
    assert learning.steps_to_remove(1e-6, 512, 0.01) == pytest.approx(200 / 0.1634, rel=1e-3)
    learning.check_mask_steps(201, 0.1, 128, 0.01)
    with pytest.raises(UserError, match=r"200 steps remove no weight.*higher rate"):
        learning.check_mask_steps(200, 0.1, 128, 0.01)


def test_the_gradient_of_each_mask_is_clipped_on_its_own():
    gradient = {"w": jnp.array([[3.0, 4.0], [0.3, 0.4]])}
    clipped, _ = learning.clip_masks(1.0).update(gradient, learning.clip_masks(1.0).init(gradient))
    np.testing.assert_allclose(clipped["w"], [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_the_loss_has_the_gradient_of_its_definition():
    """Against a plain loop over samples whose gradient is taken of the whole."""
    masked = learning.Masked(mlp(4, 3, 1), names=("a", "b"))
    loss = learning.MaskLoss(learning.half_squared_loss, 0.01, samples=2, weights=True)
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), EXAMPLES)

    def plainly(masked):
        words = masked.words(jax.random.split(KEY)[0], 2)
        total = 0.0
        for m in range(2):
            logits = jax.tree.map(lambda l, m=m: l[m], masked.logits)
            for k in range(2):
                part = jax.tree.map(lambda x, k=k: x[2 * k : 2 * k + 2], EXAMPLES)
                network = masked.sampled(logits, words[m, k])
                total += learning.half_squared_loss(network, part) / 2
        return total + 0.01 * sum(jnp.sum(l) for l in jax.tree.leaves(masked.logits))

    (value, _), slope = eqx.filter_value_and_grad(loss, has_aux=True)(masked, batch, KEY)
    plain, slope_of_plain = eqx.filter_value_and_grad(plainly)(masked)
    np.testing.assert_allclose(value, plain, rtol=1e-5)
    for one, other in zip(*map(jax.tree.leaves, (slope, slope_of_plain)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_batches_of_masks_must_fit():
    masked = learning.Masked(mlp(4, 1), names=("a", "b"))
    short = learning.Targets({"a": learning.Drawn(EXAMPLES, 4), "b": learning.Drawn(EXAMPLES, 2)})
    with pytest.raises(ValueError, match="'a' and 'b' differ in shape"):
        short(jnp.array(0), KEY)
    with pytest.raises(ValueError, match="no batches for the masks b"):
        learning.mask_descent(
            learning.half_squared_loss, learning.Targets({"a": learning.Drawn(EXAMPLES)}), masked,
            beta=1.0, batch_size=4, key=KEY,
        )  # fmt: skip
    with pytest.raises(ValueError, match="samples=3 do not divide a batch of 4"):
        descent(masked, samples=3).init(masked)
    with pytest.raises(ValueError, match="are a Shuffled"):
        learning.Targets({"a": learning.Shuffled(EXAMPLES, 2)})


def test_a_measurement_of_every_mask_is_that_of_its_network():
    masked = after(descent(learning.Masked(mlp(4, 8, 1), names=("a", "b")), rate=0.5),
                   learning.Masked(mlp(4, 8, 1), names=("a", "b")))  # fmt: skip
    measure = learning.EachMask(lambda n: {"error": learning.half_squared_loss(n, EXAMPLES)})
    alone = [learning.half_squared_loss(masked.apply(name), EXAMPLES) for name in masked.names]
    np.testing.assert_allclose(measure(masked)["error"], alone, rtol=1e-5)


def test_the_largest_price_that_leaves_enough_is_chosen():
    found = learning.choose_beta([1e-2, 1e-4, 1e-3], [0.5, 0.99, 0.96], 1.0)
    assert found.beta == 1e-3
    np.testing.assert_allclose(found.share, [0.99, 0.96, 0.5])
    with pytest.raises(UserError, match=r"no beta leaves 95%.*the smallest, 0\.01, leaves 50%"):
        learning.choose_beta([1e-2, 1e-1], [0.5, 0.2], 1.0)


def test_occupied_weights_stay_while_the_next_task_learns_the_free_ones():
    network, fresh = mlp(4, 6, 1), models.MLP((4, 6, 1), key=jax.random.key(9))
    masked = learning.Masked(network, learning.maskable(network, biases=True))
    mask = masked.mask()
    first, second = (mask.kept.layers[i].weight for i in (0, 1))
    occupied = eqx.tree_at(
        lambda m: (m.kept.layers[0].weight, m.kept.layers[1].weight), mask,
        (first.at[:2].set(False), second.at[:3].set(False)),
    )  # fmt: skip
    following = learning.next_task(
        masked, fresh, occupied, exempt=["layers[0].weight"], free_logit=-1.0
    )
    np.testing.assert_array_equal(following.network.layers[0].weight, fresh.layers[0].weight)
    w = following.network.layers[1].weight
    np.testing.assert_array_equal(w[:3], fresh.layers[1].weight[:3])
    np.testing.assert_array_equal(w[3:], network.layers[1].weight[3:])
    assert following.logits.layers[1].weight[0, :, 0].tolist() == [-1, -1, -1, 2, 2, 2]
    assert (following.logits.layers[0].weight == 2).all()
    rule = descent(following, weights=True)
    learned = after(rule, following).network
    np.testing.assert_array_equal(learned.layers[1].weight[3:], w[3:])
    assert not np.array_equal(learned.layers[1].weight[:3], w[:3])
    assert not np.array_equal(learned.layers[0].weight, following.network.layers[0].weight)


def test_masks_learn_with_networks_of_equinox():
    network = eqx.nn.MLP(4, 1, 5, 1, key=KEY)

    def loss(network, batch, key):
        return jnp.mean((jax.vmap(network)(batch.x) - batch.y) ** 2)

    masked = learning.Masked(network)
    rule = learning.mask_descent(
        loss, learning.Drawn(EXAMPLES), masked, beta=0.1, batch_size=4, samples=2, key=KEY
    )
    assert after(rule, masked, 5).layers == ("layers[0].weight", "layers[1].weight")
