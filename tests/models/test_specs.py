"""Specs build what they describe, start it as published, and load nothing before."""

import dataclasses
import inspect
import subprocess
import sys
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from plain_encoder import KEY, SPECS

from recombine import models
from recombine._spec import known_specs
from recombine.models import specs

ALL = specs.sequence_specs()
ENCODERS = {n: k for n, k in ALL.items() if issubclass(k, specs.AbstractEncoderSpec)}


def built(spec, vocabulary=400, classes=8):
    return eqx.filter_jit(spec.build)(specs.SequenceSizes(vocabulary, classes), KEY)


def parameters(spec, vocabulary, classes=8):
    sizes = specs.SequenceSizes(vocabulary, classes)
    return models.count_parameters(eqx.filter_eval_shape(spec.build, sizes, KEY))


def uniform(numbers, bound):
    """Whether numbers are uniform on ±bound."""
    largest, deviation = np.abs(numbers).max(), np.std(numbers)
    assert largest <= bound * (1 + 1e-6)
    np.testing.assert_allclose(deviation, bound / 3**0.5, rtol=0.08)


def xavier(numbers, fans, gain=1.0):
    uniform(numbers, gain * (6 / fans) ** 0.5)


def test_all_networks_of_the_package_are_found_by_name():
    names = "transformer relative geometric relative-gate position-gate ndr ctlpp-ndr"
    assert set(names.split()) | {"ctlpp-transformer", "lstm", "bi-lstm", "dnc"} <= set(ALL)
    offered = known_specs(specs.AbstractSequenceSpec)
    assert {name: offered.get(name) for name in ALL} == ALL
    assert not any(name.startswith("abstract") for name in offered)
    for kind in ALL.values():
        assert not inspect.isabstract(kind)
        assert hash(kind()) == hash(kind())
        assert kind() == dataclasses.replace(kind())


def test_every_field_has_a_default_and_is_plain_or_a_spec():
    def check(spec):
        for field in dataclasses.fields(spec):
            value = getattr(spec, field.name)
            if hasattr(value, "build"):
                check(value)
            else:
                assert value is None or isinstance(value, bool | int | float | str)

    for kind in ALL.values():
        check(kind())


def test_listing_specs_loads_no_jax():
    code = (
        "import sys, recombine.models.specs as s; s.sequence_specs(); print('jax' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]


def test_a_frame_is_what_a_network_wants_around_its_inputs():
    assert specs.frame_of(specs.NDRSpec()) == (True, True)
    assert specs.frame_of(specs.LSTMSpec()) == (False, False)
    assert specs.frame_of(specs.BiLSTMSpec(end_token=True)) == (False, True)
    assert specs.frame_of(object()) == (True, True)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_shared_block_has_as_many_parameters_at_any_depth(name):
    deep = dataclasses.replace(SPECS[name], layers=20)
    assert parameters(deep, 5) == parameters(SPECS[name], 5)


def test_parameters_are_as_many_as_the_papers():
    """Table E.1: 40 words, an end and, for transformers, a beginning.

    The published relative attention also holds one number that nothing reads.
    """
    assert parameters(specs.CTLPPNDRSpec(), 42) == 673_299
    assert parameters(specs.CTLPPTransformerSpec(), 42) == 155_018 - 1
    assert parameters(specs.BiLSTMSpec(embedding=256, units=128), 41) == 407_816


def test_embeddings_start_as_published():
    deviations = {
        "transformer": 1, "relative": (2 / 128) ** 0.5, "geometric": (2 / 128) ** 0.5,
        "relative-gate": 1, "position-gate": 1, "ndr": 1, "ctlpp-ndr": 1,
        "ctlpp-transformer": (2 / 128) ** 0.5,
    }  # fmt: skip
    for name, deviation in deviations.items():
        weight = built(ALL[name]()).encoder.embedding.weight
        np.testing.assert_allclose(np.std(weight), deviation, rtol=0.02)
    listops = specs.RelativeTransformerSpec(embedding_init="xavier")
    xavier(built(listops).encoder.embedding.weight, 400 + 128)


@pytest.mark.parametrize("name", ["transformer", "relative", "relative-gate", "position-gate"])
def test_softmax_attention_starts_as_published(name):
    spec = ALL[name]()
    attention, d = built(spec).encoder.stack.block.attention, spec.width
    xavier(attention.query.weight, 2 * d)
    xavier(attention.key_value.weight, 3 * d)
    uniform(attention.output.weight, d**-0.5)
    for layer in (attention.query, attention.key_value, attention.output):
        assert layer.bias is None
    if name != "transformer":
        xavier(attention.scores.position, 2 * d)
        np.testing.assert_allclose(attention.scores.scale, (d // spec.heads) ** -0.5)


@pytest.mark.parametrize("name", ["geometric", "ndr"])
def test_geometric_attention_starts_as_published(name):
    spec = dataclasses.replace(ALL[name](), heads=4)
    attention, d = built(spec).encoder.stack.block.attention, spec.width
    for layer in (attention.query, attention.key_value, attention.output):
        xavier(layer.weight, d + d // 4)
    np.testing.assert_array_equal(attention.query.bias, 0)
    assert attention.key_value.bias is attention.output.bias is None


def test_the_attention_of_ctlpp_starts_as_published():
    """0.079 for queries and for keys and values of half of the heads, 0.0625 for the others."""
    attention = built(specs.CTLPPNDRSpec()).encoder.stack.block.attention
    xavier(attention.query.weight, 256 + 64)
    np.testing.assert_allclose(np.std(attention.query.weight), 0.079, atol=0.001)
    xavier(attention.output.weight, 512)
    np.testing.assert_allclose(np.std(attention.output.weight), 0.0625, atol=0.001)
    parts = np.asarray(attention.key_value.weight).reshape(256, 2, 4, 64)
    for part, head in np.ndindex(2, 4):
        xavier(parts[:, part, head], 320 if head < 2 else 512)
    for layer in (attention.query, attention.key_value):
        uniform(layer.bias, 256**-0.5)
    assert attention.output.bias is None


@pytest.mark.parametrize("name", ENCODERS)
def test_feed_forward_networks_and_gates_start_as_published(name):
    """W₂ of the gated relative networks is PyTorch's: a deviation of 0.018."""
    spec = ALL[name]()
    block = built(spec).encoder.stack.block
    gated = isinstance(block, models.CopyGate)
    network, d = block.data if gated else block.feed_forward, spec.width
    fans = d + spec.hidden
    if name == "ctlpp-transformer":
        np.testing.assert_allclose(np.std(network.inner.weight), (4 / fans) ** 0.5, rtol=0.02)
        assert np.abs(network.inner.weight).max() > 1.2 * (12 / fans) ** 0.5
    else:
        xavier(network.inner.weight, fans, gain=2**0.5)
    if name in ("relative-gate", "position-gate"):
        uniform(network.outer.weight, spec.hidden**-0.5)
        np.testing.assert_allclose(np.std(network.outer.weight), 0.018, atol=0.0005)
    else:
        xavier(network.outer.weight, fans, gain=5 / 3 if name == "ndr" else 1.0)
    uniform(network.inner.bias, d**-0.5)
    uniform(network.outer.bias, spec.hidden**-0.5)
    if gated:
        xavier(block.gate.inner.weight, 2 * d, gain=2**0.5)
        xavier(block.gate.outer.weight, 2 * d)
        uniform(block.gate.inner.bias, d**-0.5)
        np.testing.assert_array_equal(block.gate.outer.bias, -3)


def test_gates_start_nearly_closed_with_one_number_per_channel():
    model = built(SPECS["ndr"], 5)
    tokens, lengths = jnp.array([[1, 5, 3, 2, 4], [2, 3, 1, 0, 0]]), jnp.array([5, 3])
    gates = eqx.filter_jit(model.trace)(tokens, lengths).gates
    assert gates.shape == (3, 2, 5, 8)
    # Inputs of a gate are of the order of 1, so that most gates are close to σ(−3) = 0.047.
    assert 0.02 < np.median(gates) < 0.1


def test_rates_reach_the_parts():
    block = built(specs.NDRSpec(width=8, hidden=6, dropout=0.25)).encoder.stack.block
    rates = block.dropout, block.data.dropout, block.gate.dropout, block.attention.scores.dropout
    assert rates == (0.25, 0.25, 0.25, 0.1)
    assert block.gate_dropout == 0.1
    block = built(specs.CTLPPNDRSpec(width=8, hidden=6)).encoder.stack.block
    assert (block.dropout, block.data.dropout, block.gate.dropout) == (0.5, 0.0, 0.0)
    model = built(specs.TransformerSpec(width=8, hidden=6, heads=2))
    assert model.encoder.dropout == 0.1
    assert model.encoder.stack.block.feed_forward.dropout == 0.1


def test_an_attention_of_ones_own_enters_any_encoder():
    class Uniform(models.AbstractScores):
        def __call__(self, targets, queries, keys, mask, *, at=None, key=None):
            shape = (*queries.shape[:3], keys.shape[2])
            mask = jnp.broadcast_to(mask, shape[1:])
            return jnp.broadcast_to(mask / mask.sum(axis=2, keepdims=True), shape)

    @dataclass(frozen=True)
    class UniformSpec(specs.AbstractAttentionSpec):
        def build(self, sizes, key):
            assert sizes.width == 8
            return Uniform()

    for name in ("transformer", "ndr"):
        model = built(dataclasses.replace(SPECS[name], attention=UniformSpec()), 5)
        trace = eqx.filter_jit(model.trace)(jnp.array([[1, 2, 3, 0]]), jnp.array([3]))
        np.testing.assert_allclose(trace.attention[0, 0, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: specs.NDRSpec(width=8, heads=3), "width=8 cannot be cut into heads=3"),
        (lambda: specs.NDRSpec(heads=0), "heads=0 is less than 1"),
        (lambda: specs.NDRSpec(layers=0), "layers=0 is less than 1"),
        (lambda: specs.NDRSpec(test_layers=0), "test_layers=0 is less than 1"),
        (lambda: specs.NDRSpec(dropout=1.0), r"dropout=1\.0 is not below 1"),
        (lambda: specs.NDRSpec(embedding_dropout=-0.1), r"embedding_dropout=-0\.1 is less"),
        (lambda: specs.GeometricAttentionSpec(dropout=2.0), r"dropout=2\.0 is not below"),
        (lambda: specs.RelativeAttentionSpec(dropout=2.0), r"dropout=2\.0 is not below"),
        (lambda: specs.SoftmaxAttentionSpec(dropout=2.0), r"dropout=2\.0 is not below"),
        (lambda: specs.FeedForwardSpec(dropout=2.0), r"dropout=2\.0 is not below"),
        (lambda: specs.CopyGateSpec(gate_dropout=1.0), r"gate_dropout=1\.0 is not"),
        (lambda: specs.HaltingSpec(epsilon=0.0), r"epsilon=0\.0 is not above 0"),
        (lambda: specs.NDRSpec(shared_layers=False, test_layers=9), "needs shared_layers=True"),
        (lambda: specs.LSTMSpec(units=0), "units=0 is less than 1"),
        (lambda: specs.BiLSTMSpec(layers=0), "layers=0 is less than 1"),
        (lambda: specs.BiLSTMSpec(dropout=1.5), r"dropout=1\.5 is not"),
        (lambda: specs.DNCSpec(cells=0), "cells=0 is less than 1"),
    ],
)
def test_sizes_that_cannot_be_are_refused_in_one_line(make, message):
    with pytest.raises(ValueError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)
