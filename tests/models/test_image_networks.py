"""Networks that classify images."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import specs

KEY = jax.random.key(0)


def parameters(make):
    network = eqx.filter_eval_shape(make)
    return sum(leaf.size for leaf in jax.tree.leaves(network) if hasattr(leaf, "shape"))


def test_sizes_of_the_thesis():
    sizes = specs.ImageSizes((32, 32, 3), 10)
    assert parameters(lambda: specs.ImageCNNSpec().build(sizes, KEY)) == 390_986
    resnet = parameters(lambda: models.ResNet((32, 32, 3), 10, key=KEY))
    assert resnet == pytest.approx(1.73e6, rel=0.005)


def test_the_cnn_agrees_with_convolutions_of_jax():
    network = models.ImageCNN((9, 8, 2), 4, channels=(3, 5), key=KEY)
    x = jax.random.normal(KEY, (2, 144))
    h = x.reshape(2, 9, 8, 2)
    one, two = network.convolutions

    def convolved(h, layer):
        numbers = ("NHWC", "HWIO", "NHWC")
        made = jax.lax.conv_general_dilated(
            h, layer.kernel, (1, 1), "SAME", dimension_numbers=numbers
        )
        return jax.nn.relu(made + layer.bias)

    h = convolved(h, one)
    h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    expected = network.readout(convolved(h, two).mean(axis=(1, 2)))
    assert np.allclose(network(x), expected, atol=1e-5)


def test_dropout_needs_a_key():
    network = models.ImageCNN((4, 4, 1), 3, channels=(8, 8), key=KEY)
    x = jax.random.normal(KEY, (2, 16))
    assert (network(x) == network(x)).all()
    assert not np.allclose(network(x), network(x, key=KEY))


def test_a_resnet_moves_its_statistics_in_training_only():
    network = models.ResNet((8, 8, 1), 3, blocks=3, channels=(4, 6), key=KEY)
    x, start = jax.random.normal(KEY, (4, 64)), network.initial()
    logits, after = network(x, start)
    assert logits.shape == (4, 3)
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), start, after))
    _, moved = network(x, start, training=True)
    differ = jax.tree.map(lambda a, b: bool((a != b).any()), start, moved)
    assert all(jax.tree.leaves(differ))
