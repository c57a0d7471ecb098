import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import LinearGenerator, NonlinearGenerator

KEY = jax.random.key(0)
SIZES = (3, 4, 4, 4, 2)
MAKE = eqx.filter_jit(models.mlp_hypernetwork)
CALL = eqx.filter_jit(lambda model, x, fast: model(x, fast))
NETWORK = eqx.filter_jit(lambda model, fast: model.network(fast))
GENERATORS = {"linear": LinearGenerator.create, "nonlinear": NonlinearGenerator.create}


def random_like(shapes, seed=1):
    """Random numbers for all floating-point arrays, so that no bias is 0 and no scale 1."""
    draw = np.random.default_rng(seed).normal

    def filled(leaf):
        if not hasattr(leaf, "dtype"):
            return leaf
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            return jnp.asarray(np.arange(leaf.size, dtype=leaf.dtype)[::-1])
        return jnp.asarray(draw(size=leaf.shape))

    return jax.tree.map(filled, shapes)


def random_model(make, *arguments, **options):
    """As `make` makes it, with random numbers: without compiling."""
    return random_like(eqx.filter_eval_shape(make, *arguments, key=KEY, **options))


def inputs(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape))


def slow_norm(norm, x):
    centred = x - sum(x) / len(x)
    variance = sum(v * v for v in centred) / len(x)
    return centred / np.sqrt(variance + 1e-5) * np.asarray(norm.scale) + np.asarray(norm.offset)


def slow_vector(generator, e):
    """The parameters of one layer from its embedding."""
    e = np.asarray(e)
    e = e * np.sqrt(len(e)) / np.sqrt(sum(v * v for v in e))
    if isinstance(generator, LinearGenerator):
        return sum(e[m] * np.asarray(generator.bank)[m] for m in range(len(e)))
    x = slow_norm(generator.norms[0], e)
    for n, layer in enumerate(generator.layers):
        x = x @ np.asarray(layer.weight) + np.asarray(layer.bias)
        x = slow_norm(generator.norms[n + 1], x)
        x = np.array([v if v > 0 else np.exp(v) - 1 for v in x])
    return x @ np.asarray(generator.head.weight)


def slow_outputs(model, fast, sizes, x):
    """x^l = ReLU(x^{l-1} W_l / √d_{l-1} + b_l), and a linear readout plus c."""
    vectors = [
        slow_vector(generator, e)
        for generator, group in zip(model.generators, fast.embeddings, strict=True)
        for e in group
    ]
    for layer, vector in enumerate(vectors):
        a, b = sizes[layer], sizes[layer + 1]
        assert len(vector) == a * b + b
        x = x @ vector[: a * b].reshape(a, b) / np.sqrt(a) + vector[a * b :]
        x = x if layer == len(vectors) - 1 else np.maximum(x, 0)
    offset = [rest for rest in fast.rest if rest is not None]
    return x + sum(map(np.asarray, offset))


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("sizes", [SIZES, (3, 4, 2)])
def test_outputs_agree_with_a_slow_implementation(name, sizes, x64):
    model = random_model(models.mlp_hypernetwork, sizes, 5, GENERATORS[name])
    fast = random_like(model.initial(), seed=2)
    x = inputs(6, 3)
    expected = slow_outputs(model, fast, sizes, np.asarray(x))
    assert len(jax.tree.leaves(fast.rest)) == (name == "linear")
    np.testing.assert_allclose(eqx.filter_jit(model)(x, fast), expected, rtol=1e-10)


def test_hidden_layers_share_a_bank_and_have_an_embedding_each():
    model = random_model(models.mlp_hypernetwork, SIZES, 5)
    assert [e.shape for e in model.embeddings] == [(1, 5), (2, 5), (1, 5)]
    assert [g.bank.shape for g in model.generators] == [(5, 16), (5, 20), (5, 10)]
    fast = model.initial()
    first, second = NETWORK(model, fast).layers[1:3]
    assert not np.allclose(first.weight, second.weight)
    one = jnp.broadcast_to(fast.embeddings[1][:1], (2, 5))
    embeddings = (fast.embeddings[0], one, fast.embeddings[2])
    alike = NETWORK(model, fast._replace(embeddings=embeddings)).layers
    np.testing.assert_array_equal(alike[1].weight, alike[2].weight)
    np.testing.assert_array_equal(alike[1].bias, alike[2].bias)


def test_one_hidden_layer_needs_no_hidden_generator():
    model = random_model(models.mlp_hypernetwork, (3, 4, 2), 5)
    assert [g.bank.shape for g in model.generators] == [(5, 16), (5, 10)]


def test_embeddings_start_uniform_with_a_variance_of_one_over_their_number():
    model = MAKE((1, 1, 1, 1, 1, 1), 20_000, key=KEY)
    for embeddings, number in zip(model.embeddings, (1, 3, 1), strict=True):
        assert len(embeddings) == number
        assert np.var(embeddings) == pytest.approx(1 / number, rel=0.03)
        assert np.abs(embeddings).max() == pytest.approx(np.sqrt(3 / number), rel=1e-3)


def test_linearly_generated_weights_start_with_088_of_unit_std():
    model = MAKE((60, 80, 80, 60), 16, key=KEY)
    assert np.std(model.generators[1].bank) == pytest.approx(0.8796 / 4, rel=0.02)
    for layer in NETWORK(model, model.initial()).layers:
        assert np.std(layer.weight) == pytest.approx(0.8796, rel=0.05)
        assert np.std(layer.bias) == pytest.approx(0.8796, rel=0.25)


def test_nonlinearly_generated_weights_start_with_071_of_unit_std():
    """0.88 for truncation, times √E[ELU(u)²] = 0.803 of a normal u."""
    keys = jax.random.split(KEY, 40)
    make = jax.vmap(
        lambda key: NonlinearGenerator.create(8, 500, key=key)(
            jax.random.normal(jax.random.fold_in(key, 1), (1, 8))
        )
    )
    drawn = np.asarray(jax.jit(make)(keys))
    assert drawn.std() == pytest.approx(0.8796 * 0.803, rel=0.05)


@pytest.mark.parametrize("differentiate_norm", [False, True])
def test_the_length_of_an_embedding_does_not_matter(differentiate_norm, x64):
    model = random_model(
        models.mlp_hypernetwork, (3, 4, 2), 5, differentiate_norm=differentiate_norm
    )
    x = inputs(6, 3)

    def output(scale):
        fast = model.initial()
        longer = tuple(scale * e for e in fast.embeddings)
        return CALL(model, x, fast._replace(embeddings=longer))

    np.testing.assert_allclose(output(7.0), output(1.0), rtol=1e-9)


def test_differentiating_the_norm_takes_the_radial_part_out_of_the_gradient(x64):
    x = inputs(6, 3)

    def gradient(differentiate_norm):
        model = random_model(
            models.mlp_hypernetwork, (3, 4, 2), 5, differentiate_norm=differentiate_norm
        )
        fast = model.initial()
        found = jax.jit(jax.grad(lambda f: jnp.sum(model(x, f) ** 2)))(fast)
        return list(zip(fast.embeddings, found.embeddings, strict=True))

    for (e, constant), (_, through) in zip(gradient(False), gradient(True), strict=True):
        e, constant, through = (np.asarray(a)[0] for a in (e, constant, through))
        assert abs(e @ constant) > 0.1 * np.linalg.norm(e) * np.linalg.norm(constant)
        np.testing.assert_allclose(through, constant - e * (e @ constant) / (e @ e), rtol=1e-9)


def shapes_of_rest(**options):
    """Of the fast parameters that are not embeddings."""
    model = eqx.filter_eval_shape(models.mlp_hypernetwork, SIZES, 5, key=KEY, **options)
    return [leaf.shape for leaf in jax.tree.leaves(model.rest)]


def test_an_offset_is_fast_and_by_default_only_with_a_linear_generator():
    assert shapes_of_rest() == [(2,)]
    assert shapes_of_rest(offset=False) == []
    assert shapes_of_rest(generator=NonlinearGenerator.create) == []
    assert shapes_of_rest(generator=NonlinearGenerator.create, offset=True) == [(2,)]


def test_biases_that_are_not_generated_are_fast():
    biases = [(4,), (4,), (4,), (2,)]
    assert shapes_of_rest(generate_biases=False) == [*biases, (2,)]
    assert shapes_of_rest(generate_biases=False, generator=NonlinearGenerator.create) == biases


@pytest.mark.parametrize("generate_biases", [True, False])
def test_what_is_not_generated_starts_from_0_and_is_used_as_it_is(generate_biases):
    @jax.jit
    def networks(key):
        model = models.mlp_hypernetwork((3, 4, 2), 5, generate_biases=generate_biases, key=key)
        fast = model.initial()
        moved = fast._replace(rest=jax.tree.map(lambda a: a + 1.0, fast.rest))
        return model.network(fast), model.network(moved)

    start, moved = networks(KEY)
    assert np.all(start.offset == 0)
    assert np.all(moved.offset == 1)
    for before, after in zip(start.layers, moved.layers, strict=True):
        assert np.all(before.weight != 0)
        np.testing.assert_array_equal(before.weight, after.weight)
        if generate_biases:
            assert np.all(before.bias != 0)
            np.testing.assert_array_equal(before.bias, after.bias)
        else:
            assert np.all(before.bias == 0)
            assert np.all(after.bias == 1)


class Picture(eqx.Module):
    """A target of its own kind: a convolution, a norm, an activation as a leaf, and an order."""

    convolution: eqx.nn.Conv2d
    norm: eqx.nn.LayerNorm
    readout: list[eqx.nn.MLP]
    order: jax.Array

    def __init__(self, *, key):
        keys = jax.random.split(key)
        self.convolution = eqx.nn.Conv2d(1, 2, 2, key=keys[0])
        self.norm = eqx.nn.LayerNorm(8)
        self.readout = [eqx.nn.MLP(8, 3, 4, 1, activation=jnp.tanh, key=keys[1])]
        self.order = jnp.arange(8)[::-1]

    def __call__(self, x):
        def one(row):
            h = self.convolution(row.reshape(1, 3, 3)).reshape(-1)
            return self.readout[0](self.norm(h)[self.order])

        return jax.vmap(one)(x)


def test_any_network_can_be_the_target(x64):
    target = random_model(Picture)
    groups = ((lambda t: t.convolution,), (lambda t: t.readout[0],))
    make = eqx.filter_jit(models.Hypernetwork)
    model = make(target, groups, LinearGenerator.create, 5, key=KEY)
    assert all(eqx.is_array(leaf) for leaf in jax.tree.leaves(model))
    fast = model.initial()
    # The norm's scale and offset are fast; they start as in the target.
    assert models.count_parameters(fast) == 5 + 5 + 8 + 8
    first, second = (
        slow_vector(generator, e[0])
        for generator, e in zip(model.generators, fast.embeddings, strict=True)
    )
    expected = eqx.tree_at(
        lambda t: [
            parameter
            for layer in (t.convolution, *t.readout[0].layers)
            for parameter in (layer.weight, layer.bias)
        ],
        target,
        [
            jnp.asarray(part.reshape(shape))
            for part, shape in zip(
                [*np.split(first, [8]), *np.split(second, [32, 36, 48])],
                [(2, 1, 2, 2), (2, 1, 1), (4, 8), (4,), (3, 4), (3,)],
                strict=True,
            )
        ],
    )
    x = inputs(4, 9)
    np.testing.assert_allclose(
        eqx.filter_jit(model)(x, fast), eqx.filter_jit(expected)(x), rtol=1e-10
    )


def test_a_generator_of_ones_own_can_be_passed():
    class Constant(models.AbstractGenerator):
        value: jax.Array

        @classmethod
        def create(cls, embedding, parameters, *, key):
            return cls(jnp.arange(float(parameters)))

        def __call__(self, embeddings):
            return jnp.broadcast_to(self.value, (len(embeddings), len(self.value)))

    model = MAKE((2, 3, 1), 4, Constant.create, key=KEY)
    layers = model.network(model.initial()).layers
    np.testing.assert_array_equal(layers[0].weight, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(layers[0].bias, [6, 7, 8])
    np.testing.assert_array_equal(layers[1].weight, [[0], [1], [2]])


def test_groups_that_cannot_be_generated_are_refused():
    target = random_model(models.MLP, (3, 4, 2))

    def make(*groups, embedding=5):
        return models.Hypernetwork(target, groups, LinearGenerator.create, embedding, key=KEY)

    first, second = (lambda t: t.layers[0]), (lambda t: t.layers[1])
    with pytest.raises(ValueError, match="must have the same shapes"):
        make([first, second])
    with pytest.raises(ValueError, match="in two groups"):
        make([first], [lambda t: t.layers[0].bias])
    with pytest.raises(ValueError, match="has no parameters"):
        make([first], [lambda t: t.offset])
    for wrong in ([], [[]]):
        with pytest.raises(ValueError, match="needs an embedding size of 1 or more, and layers"):
            make(*wrong)
    with pytest.raises(ValueError, match="needs an embedding size of 1 or more, and layers"):
        make([first], embedding=0)


def test_sizes_that_a_generator_cannot_share_are_refused():
    with pytest.raises(ValueError, match="need one width"):
        models.mlp_hypernetwork((3, 4, 5, 2), 5, key=KEY)
    with pytest.raises(ValueError, match="needs a hidden layer"):
        models.mlp_hypernetwork((3, 2), 5, key=KEY)
