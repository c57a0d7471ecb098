import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.data import prototypes
from recombine.learning import RouteClassification, mean_cross_entropy, train
from recombine.models import GatedClassifier, UnsharedClassifier
from recombine.probes import route_accuracies
from recombine.splits import permuted_ring_mask
from recombine.tasks import ImageRouting, pixel_permutations, random_labels

M = 4


@functools.cache
def small_task():
    data = prototypes(classes=5, shape=(4, 4), train=60, test=40, noise=0.2, key=jax.random.key(0))
    return ImageRouting(data, pixel_permutations(M, 16), random_labels(M, 5, key=jax.random.key(1)))


def small_model(gain=1.0, **options):
    return GatedClassifier(M, 16, 6, 5, gain=gain, key=jax.random.key(2), **options)


def small_rule(mask=None, learning_rate=0.1, seed=3, **options):
    mask = permuted_ring_mask(M, 2, key=jax.random.key(9)) if mask is None else mask
    return RouteClassification(
        small_task(), mask, learning_rate, jax.random.key(seed), batch=8, observed=20, **options
    )


def slow_loss(model, batch, mask):
    """Route by route, each as a network of its own."""

    def module(layers, index, h):
        for n, layer in enumerate(layers):
            h = model.activation(h) if n else h
            W, b = layer.weight, layer.bias
            h = h @ W.T + b if index is None else h @ W[index].T + b[index]
        return h

    losses = []
    for i, j in np.argwhere(np.asarray(mask)):
        h = module(model.encoders, i, batch.inputs[:, i])
        z = module(model.decoders, j, module(model.hidden, None, h))
        right = z[np.arange(len(z)), batch.labels[:, j]]
        losses.append(jnp.mean(jnp.log(jnp.exp(z).sum(1)) - right))
    return sum(losses) / len(losses)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("layers", [1, 2])
def test_loss_and_gradient_agree_with_a_loop_over_routes(layers):
    rule = small_rule()
    model = small_model(gain=2.0, layers_per_module=layers, activation=jax.nn.leaky_relu)
    batch = rule.task.sample(3, key=jax.random.key(4))
    ours, gradient = jax.jit(jax.value_and_grad(rule.loss))(model, batch)
    slow, slow_gradient = jax.jit(jax.value_and_grad(lambda m, b: slow_loss(m, b, rule.mask)))(
        model, batch
    )
    assert np.isclose(ours, slow, rtol=1e-10)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(slow_gradient), strict=True):
        assert np.allclose(a, b, rtol=1e-8, atol=1e-10)
        assert np.abs(a).max() > 0


@pytest.mark.usefixtures("x64")
def test_the_gradient_agrees_with_finite_differences():
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.normal(size=(3, M, M, 5)) * 3)
    labels = jnp.asarray(rng.integers(0, 5, (3, M)))
    mask = jnp.asarray(rng.random((M, M)) < 0.5)
    gradient = jax.grad(lambda z: 2 * mean_cross_entropy(z, labels, mask))(logits)
    direction = jnp.asarray(rng.normal(size=logits.shape))
    up = mean_cross_entropy(logits + 1e-5 * direction, labels, mask)
    down = mean_cross_entropy(logits - 1e-5 * direction, labels, mask)
    assert np.isclose((gradient * direction).sum(), 2 * (up - down) / 2e-5, rtol=1e-7)
    assert not gradient[:, ~mask].any()
    assert np.all(jnp.abs(gradient[:, mask]).max(-1) > 0)


def test_cross_entropy_of_equal_logits_is_the_log_of_the_number_of_classes():
    labels, mask = jnp.zeros((3, 2), int), jnp.eye(2, dtype=bool)
    assert np.isclose(mean_cross_entropy(jnp.full((3, 2, 2, 7), 2.5), labels, mask), np.log(7))


def test_cross_entropy_of_large_logits_is_finite():
    logits = jnp.zeros((1, 1, 1, 3)).at[..., 0].set(1e4)
    mask = jnp.ones((1, 1), bool)
    right, wrong = jnp.array([[0]]), jnp.array([[1]])
    assert mean_cross_entropy(logits, right, mask) == 0
    assert mean_cross_entropy(logits, wrong, mask) == 1e4
    assert np.isfinite(jax.grad(mean_cross_entropy)(logits, wrong, mask)).all()


@pytest.mark.usefixtures("x64")
def test_two_steps_are_gradient_descent_with_momentum_on_the_drawn_batches():
    rule = small_rule(learning_rate=0.2, momentum=0.7)
    model = small_model()
    state = rule.init(model)
    velocity = jax.tree.map(jnp.zeros_like, model)
    slow_gradient = jax.jit(jax.grad(lambda m, b: slow_loss(m, b, rule.mask)))
    step = eqx.filter_jit(rule.step)
    for t in range(2):
        batch = rule.task.sample(8, key=jax.random.fold_in(rule.key, t))
        gradient = slow_gradient(model, batch)
        velocity = jax.tree.map(lambda v, g: 0.7 * v + g, velocity, gradient)
        model = jax.tree.map(lambda w, v: w - 0.2 * v, model, velocity)
        state = step(state, jnp.asarray(t))
    for a, b in zip(jax.tree.leaves(state.model), jax.tree.leaves(model), strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-12)


def test_one_step_changes_nothing_in_domains_without_a_trained_route():
    mask = jnp.zeros((M, M), bool).at[1, 2].set(True)
    rule = small_rule(mask)
    before = small_model()
    after = eqx.filter_jit(rule.step)(rule.init(before), jnp.asarray(0)).model
    encoders, decoders = (
        np.asarray(getattr(before, part)[0].weight) != np.asarray(getattr(after, part)[0].weight)
        for part in ("encoders", "decoders")
    )
    assert np.array_equal(encoders.any((1, 2)), [False, True, False, False])
    assert np.array_equal(decoders.any((1, 2)), [False, False, True, False])


def test_observations_are_the_losses_and_accuracies_of_the_first_images():
    rule = small_rule()
    model = small_model(gain=3.0)
    seen = eqx.filter_jit(rule.observe)(rule.init(model))
    accuracies = np.asarray(jax.jit(route_accuracies)(model, rule.task.first_test(20)))
    mask = np.asarray(rule.mask)
    assert np.isclose(seen["trained_accuracy"], accuracies[mask].mean())
    assert np.isclose(seen["untrained_accuracy"], accuracies[~mask].mean())
    slow = jax.jit(lambda m, b: slow_loss(m, b, mask))(model, rule.task.first_train(20))
    assert np.isclose(seen["loss"], slow, rtol=1e-5)


def test_untrained_accuracy_is_nan_where_every_route_is_trained():
    rule = small_rule(jnp.ones((M, M), bool))
    seen = eqx.filter_jit(rule.observe)(rule.init(small_model()))
    assert np.isnan(seen["untrained_accuracy"])
    assert np.isfinite(seen["trained_accuracy"])


def test_training_on_most_routes_teaches_all_of_them():
    rule = small_rule(~jnp.eye(M, dtype=bool))
    _, curves = train(rule, rule.init(small_model(gain=0.3)), 500, every=100)
    assert curves["loss"][0] > 1.5
    assert curves["loss"][-1] < 0.1
    assert curves["trained_accuracy"][-1] > 0.9
    assert curves["untrained_accuracy"][-1] > 0.9


def test_an_unshared_network_learns_its_matched_pairs_and_no_crossed_one():
    rule = small_rule(jnp.eye(M, dtype=bool))
    model = UnsharedClassifier(M, 16, 6, 5, gain=0.3, key=jax.random.key(2))
    _, curves = train(rule, rule.init(model), 500, every=100)
    assert curves["trained_accuracy"][-1] > 0.9
    assert curves["untrained_accuracy"][-1] < 0.5


def test_the_same_key_gives_the_same_numbers_and_another_key_others():
    def run(seed):
        rule = small_rule(seed=seed)
        return train(rule, rule.init(small_model()), 20, every=10)[0].model

    first, again, other = run(3), run(3), run(4)
    for a, b, c in zip(*map(jax.tree.leaves, (first, again, other)), strict=True):
        assert np.array_equal(a, b)
        assert not np.array_equal(a, c)


def test_masks_rates_gains_and_keys_share_one_compilation():
    traces = 0

    @eqx.filter_jit
    def step(rule, state, t):
        nonlocal traces
        traces += 1
        return rule.step(state, t)

    for K, rate, gain, seed in ((1, 0.1, 1.0, 3), (2, 0.02, 3.0, 4), (3, 0.3, 0.1, 5)):
        mask = permuted_ring_mask(M, K, key=jax.random.key(seed))
        rule = small_rule(mask, jnp.asarray(rate), seed)
        step(rule, rule.init(small_model(gain=gain)), jnp.asarray(0))
    assert traces == 1
