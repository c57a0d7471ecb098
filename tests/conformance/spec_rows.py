"""A small network of every spec: with its defaults, and with each of its switches turned."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from model_rows import KEY, Row, numbers, squared
from rows import Table

from recombine._spec import AbstractSpec, is_registered, is_spec, known_specs, spec_name
from recombine.models import specs

SMALL = {"width": 8, "hidden": 6, "heads": 2, "layers": 2, "test_layers": None,
         "embedding": 3, "units": 4, "cells": 3, "word": 2, "largest": 3, "keys": 3, "experts": 3,
         "size": 2, "chosen": 3, "channels": (3, 4, 5)}  # fmt: skip
"""Sizes of small networks; a spec takes those that it has a field for."""
TOKENS, LENGTHS = jnp.array([[1, 5, 3, 2, 4], [2, 3, 1, 0, 0]]), jnp.array([5, 3])


def small(spec: Any) -> Any:
    """The spec with small sizes."""
    fields = (field.name for field in dataclasses.fields(spec))
    names = {name for name in fields if not is_spec(getattr(spec, name))}
    sizes: dict[str, Any] = {name: n for name, n in SMALL.items() if name in names}
    several = {name: (n,) for name, n in sizes.items()
               if isinstance(getattr(spec, name), tuple) and not isinstance(n, tuple)}  # fmt: skip
    return dataclasses.replace(spec, **sizes | several)


def drawn(build, sizes):
    """The network that a spec describes, with normal numbers for weights. Nothing is compiled."""
    network = eqx.filter_eval_shape(build, sizes, KEY)
    generator = np.random.default_rng(0)

    def draw(leaf):
        is_array = isinstance(leaf, jax.ShapeDtypeStruct)
        numbers = generator.normal(scale=0.5, size=leaf.shape) if is_array else leaf
        return jnp.asarray(numbers, leaf.dtype) if is_array else leaf

    return jax.tree.map(draw, network)


HALVES = "of the last layer, the published code reads the backward direction alone"
UNREAD = {
    specs.BiLSTMSpec(reads_halves=True): dict.fromkeys(
        (".directions[1][0].weight", ".directions[1][0].bias", ".second_biases[1][0]"), HALVES
    ),
}
"""For weights that nothing reads, by their paths in a network: the reason."""


def sequence_network(spec):
    network = drawn(spec.build, specs.SequenceSizes(vocabulary=5, classes=4))
    unread = {small(one): paths for one, paths in UNREAD.items()}
    return Row(network, lambda m: squared(m(TOKENS, LENGTHS)), unread.get(spec, {}))


def language_network(spec):
    """A language model that reads a segment with a memory of another one."""
    network = drawn(spec.build, specs.LanguageSizes(vocabulary=6))

    def read(model):
        memory = model(TOKENS, model.memory(*TOKENS.shape)).memory
        return squared(model(TOKENS[:, ::-1], memory).logits[:, :, :2])

    return Row(network, read)


def router(**part):
    """A mixture of experts in which one part is that of a spec, and its term of balance."""
    spec = small(dataclasses.replace(specs.MixtureSpec(), **part))
    if isinstance(spec.selection, specs.BaseSelectionSpec):
        spec = dataclasses.replace(spec, chosen=1)
    layer = drawn(spec.build, specs.LayerSizes(8, 6, 2, 0.0))

    def read(layer):
        y, extras = layer(numbers(4, 10, 8))
        return squared(y) + extras["balance"]

    in_training = {".selection.noise.weight": "there is noise in training only"}
    return Row(layer, read, in_training if spec.selection.name == "noisy" else {})


def meta_network(spec):
    network = drawn(spec.build, specs.VectorSizes(inputs=4, outputs=3))
    return Row(network, lambda m: squared(m(numbers(2, 4), m.initial())))


def translator(spec):
    network = drawn(spec.build, specs.TranslationSizes(words=5, symbols=3))
    outputs, lengths = jnp.array([[1, 3, 2, 0], [2, 1, 0, 0]]), jnp.array([4, 3])
    # Lengths of inputs count an end.
    inputs, input_lengths = jnp.pad(TOKENS, ((0, 0), (0, 1))), LENGTHS + 1
    return Row(network, lambda m: squared(m(inputs, input_lengths, outputs, lengths)))


def number_network(spec):
    """A network that computes with two results of two digits each."""
    network = drawn(spec.build, specs.NumberSizes(inputs=6, results=2, digits=2))
    return Row(network, lambda m: squared(m(numbers(5, 6))))


def image_network(spec):
    network = drawn(spec.build, specs.ImageSizes((8, 8, 1), 4))
    return Row(network, lambda m: squared(m(numbers(6, 64))))


def transducer(spec):
    """A network that writes at every step."""
    inner = {f.name: small(getattr(spec, f.name)) for f in dataclasses.fields(spec)
             if is_spec(getattr(spec, f.name))}  # fmt: skip
    spec = dataclasses.replace(spec, **inner)
    network = drawn(spec.build, specs.TransducerSizes(inputs=3, outputs=4))
    return Row(network, lambda m: squared(m(numbers(2, 5, 3), LENGTHS)))


def encoder(**part):
    """A network in which one part is that of a spec."""
    return sequence_network(small(dataclasses.replace(specs.TransformerSpec(), **part)))


KINDS = {
    specs.AbstractAttentionSpec: lambda spec: encoder(attention=spec),
    specs.AbstractBalanceSpec: lambda spec: router(balance=spec),
    specs.AbstractBlockSpec: lambda spec: encoder(block=spec),
    specs.AbstractControllerSpec: lambda spec: transducer(
        dataclasses.replace(small(specs.MemorySpec()), controller=spec)
    ),
    specs.AbstractEmbeddingSpec: lambda spec: translator(
        small(dataclasses.replace(specs.UniversalSpec(), embedding=spec))
    ),
    specs.AbstractEncoderDecoderSpec: translator,
    specs.AbstractFeedForwardSpec: lambda spec: encoder(feed_forward=spec),
    specs.AbstractImageSpec: image_network,
    specs.AbstractLanguageSpec: language_network,
    specs.AbstractMetaSpec: meta_network,
    specs.AbstractNumberSpec: number_network,
    specs.AbstractPositionsSpec: lambda spec: encoder(positions=spec),
    specs.AbstractProjectionsSpec: lambda spec: encoder(projections=spec),
    specs.AbstractSelectionSpec: lambda spec: router(selection=spec),
    specs.AbstractSequenceSpec: sequence_network,
    specs.AbstractTransducerSpec: transducer,
    specs.AbstractTranslatorSpec: translator,
    specs.HaltingSpec: lambda spec: encoder(halting=spec),
}
"""For each kind of spec, the row of one of them. A new kind adds a row."""


def switched(spec: Any) -> dict[str, Any]:
    """The spec itself, and with each of its Boolean fields turned, by name."""
    found = {spec_name(spec): spec}
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        if isinstance(value, bool):
            turned = {field.name: not value}
            found[f"{spec_name(spec)} {field.name}={not value}"] = dataclasses.replace(
                spec, **turned
            )
    return found


def kinds_of(kind: type[AbstractSpec]) -> list[type[AbstractSpec]]:
    """The registered specs of a kind."""
    return [spec for spec in known_specs(kind).values() if is_registered(spec, kind)]


ROWS = Table(
    {
        name: lambda make=make, spec=spec: make(spec)
        for kind, make in KINDS.items()
        for one in kinds_of(kind)
        for name, spec in switched(small(one())).items()
    }
)
