import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate

from recombine import models
from recombine.models._paired_image_cnn import Convolution

KEY = jax.random.key(0)


def slow_scores(network, x):
    """Image by image, filter by filter, window by window."""

    def convolved(h, layer):
        kernel, bias = np.asarray(layer.kernel), np.asarray(layer.bias)
        return np.stack(
            [
                sum(correlate(h[..., i], kernel[..., i, o], "valid") for i in range(h.shape[-1]))
                + bias[o]
                for o in range(len(bias))
            ],
            axis=-1,
        )

    scores = []
    for h in np.asarray(x):
        h = np.maximum(convolved(h, network.convolutions[0]), 0)
        h = np.array(
            [[h[i : i + 2, j : j + 2].max(axis=(0, 1)) for j in range(0, h.shape[1] - 1, 2)]
             for i in range(0, h.shape[0] - 1, 2)]
        )  # fmt: skip
        h = np.maximum(convolved(h, network.convolutions[1]), 0).ravel()
        for layer in network.dense[:-1]:
            h = np.maximum(h @ np.asarray(layer.weight) + np.asarray(layer.bias), 0)
        last = network.dense[-1]
        scores.append(h @ np.asarray(last.weight) + np.asarray(last.bias))
    return np.array(scores)


@pytest.mark.parametrize("shape", [(8, 16, 1), (9, 11, 5)])
def test_scores_agree_with_a_slow_implementation(shape, x64):
    shapes = eqx.filter_eval_shape(
        models.PairedImageCNN, shape, filters=(3, 4), hidden=(6, 5), classes=7, key=KEY
    )
    draw = np.random.default_rng(1).normal
    network = jax.tree.map(lambda leaf: jnp.asarray(draw(size=leaf.shape)), shapes)
    x = jnp.asarray(draw(size=(2, *shape)))
    ours = jax.jit(lambda m, x: m(x))(network, x)
    np.testing.assert_allclose(ours, slow_scores(network, x), rtol=1e-9)


@pytest.fixture(scope="module")
def published():
    """The network of Appendix A, without its numbers."""
    return eqx.filter_eval_shape(models.PairedImageCNN, (28, 56, 1), key=KEY)


def test_the_network_of_the_paper_has_1150090_parameters(published):
    assert sum(leaf.size for leaf in jax.tree.leaves(published)) == 1_150_090


def test_layers_have_the_shapes_of_the_paper(published):
    first, second = published.convolutions
    x = jax.ShapeDtypeStruct((2, 28, 56, 1), jnp.float32)
    h = eqx.filter_eval_shape(lambda c, x: c(x), first, x)
    assert h.shape == (2, 26, 54, 32)
    pooled = jax.ShapeDtypeStruct((2, 13, 27, 32), jnp.float32)
    assert eqx.filter_eval_shape(lambda c, x: c(x), second, pooled).shape == (2, 11, 25, 64)
    assert [d.weight.shape for d in published.dense] == [(17600, 64), (64, 64), (64, 10)]
    assert eqx.filter_eval_shape(lambda m, x: m.features(x), published, x).shape == (2, 64)
    assert eqx.filter_eval_shape(lambda m, x: m(x), published, x).shape == (2, 10)


def test_weights_are_uniform_up_to_the_bound_of_glorot_and_biases_0():
    network = eqx.filter_jit(models.PairedImageCNN)((8, 16, 1), key=KEY)
    fans = [(9 * 1, 9 * 32), (9 * 32, 9 * 64), (320, 64), (64, 64), (64, 10)]
    weights = [c.kernel for c in network.convolutions] + [d.weight for d in network.dense]
    for weight, fan in zip(weights, fans, strict=True):
        bound = (6 / sum(fan)) ** 0.5
        assert np.abs(weight).max() <= bound
        # A uniform number has a standard deviation of bound / √3.
        assert np.std(weight) == pytest.approx(bound / 3**0.5, rel=0.1)
    for layer in (*network.convolutions, *network.dense):
        np.testing.assert_array_equal(layer.bias, 0)


def test_a_convolution_agrees_with_the_library_in_value_and_gradients(x64):
    rng = np.random.default_rng(0)
    for channels in (1, 6):
        layer = Convolution(
            jnp.asarray(rng.normal(size=(3, 3, channels, 4))), jnp.asarray(rng.normal(size=4))
        )
        x = jnp.asarray(rng.normal(size=(2, 6, 7, channels)))

        def library(layer, x):
            y = jax.lax.conv_general_dilated(
                x, layer.kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            return y + layer.bias

        def slopes(f, layer=layer, x=x):
            return jax.jit(jax.value_and_grad(lambda l, x: jnp.sum(f(l, x) ** 3), (0, 1)))(layer, x)

        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-8),
            slopes(lambda layer, x: layer(x)),
            slopes(library),
        )


def test_images_that_are_too_small_are_refused():
    with pytest.raises(ValueError, match="inputs of 7 x 16 are too small"):
        models.PairedImageCNN((7, 16, 1), key=KEY)
