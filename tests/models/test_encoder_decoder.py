"""Encoder-decoders: agreement with a plain implementation, greedy decoding, sizes, starts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_encoder import (
    KEY,
    filled,
    keys_of,
    number,
    plain_attention,
    plain_block,
    plain_feed_forward,
    sinusoid,
)
from plain_encoder import dropped as plain_dropout
from plain_encoder import norm as plain_norm

from recombine import models
from recombine._spec import known_specs
from recombine.models import specs
from recombine.models._encoder_decoder import framed
from recombine.models.specs._embeddings import EmbeddingSizes

KINDS = known_specs(specs.AbstractEncoderDecoderSpec)
SMALL = {"width": 8, "hidden": 6, "heads": 2, "layers": 2}
SIZES = specs.TranslationSizes(words=4, symbols=3)
INPUTS, INPUT_LENGTHS = jnp.array([[1, 4, 2, 0], [3, 2, 0, 0]]), jnp.array([4, 3])
OUTPUTS = jnp.array([[2, 1, 0, 0, 0], [3, 3, 1, 2, 0]])
OUTPUT_LENGTHS = jnp.array([3, 5])
BATCH = INPUTS, INPUT_LENGTHS, OUTPUTS, OUTPUT_LENGTHS


def make(kind, **settings):
    """A small network of random numbers, large enough for inputs to make a difference."""
    model = filled(eqx.filter_eval_shape(KINDS[kind](**SMALL | settings).build, SIZES, KEY))
    is_norm = lambda part: isinstance(part, models.LayerNorm)  # noqa: E731
    one = lambda p: eqx.tree_at(lambda n: n.scale, p, 1 + p.scale) if is_norm(p) else p  # noqa: E731
    return jax.tree.map(one, model, is_leaf=is_norm)


@pytest.fixture(scope="module", params=["transformer", "relative-universal"])
def model(request):
    return make(request.param)


def plain_embedding(embedding, positions, tokens, first_row, rate, key):
    """Columns of tokens, number by number."""
    vectors = number(embedding.weight)
    tokens = np.asarray(tokens)
    columns = vectors[np.maximum(tokens - first_row, 0)]
    if isinstance(positions, models.SinusoidalPositions):
        scales = 1.0, 1.0
    elif positions is not None:
        scales = positions.token_scale, positions.position_scale
    if positions is not None:
        table = np.stack([sinusoid(i, vectors.shape[1]) for i in range(tokens.shape[1])])
        columns = scales[0] * columns + scales[1] * table
    return plain_dropout(columns, rate, key)


def plain_logits(model, inputs, input_lengths, outputs, key=None):
    """Equations of Section 4.2 and Appendix C.3, layer by layer, in double precision."""
    of_encoder, of_decoder = keys_of(key, 2)
    encoder, decoder = model.encoder, model.decoder
    words = len(encoder.embedding.weight) - 2
    rows = [
        [words + 1, *np.asarray(row)[: n - 1], words + 2, *[0] * (len(row) - n)]
        for row, n in zip(inputs, np.asarray(input_lengths), strict=True)
    ]
    of_embedding, of_stack = keys_of(of_encoder, 2)
    memory = plain_embedding(
        encoder.embedding, encoder.positions, rows, 1, encoder.dropout, of_embedding
    )
    seen = (np.arange(len(rows[0])) < np.asarray(input_lengths)[:, None] + 1)[:, None]
    mask = np.broadcast_to(seen, (len(rows), len(rows[0]), len(rows[0])))
    for t, own in enumerate(keys_of(of_stack, encoder.stack.layers)):
        memory, *_ = plain_block(encoder.stack.layer(t), memory, memory, mask, key=own)

    of_embedding, of_layers = keys_of(of_decoder, 2)
    before = np.pad(np.asarray(outputs)[:, :-1], ((0, 0), (1, 0)))
    x = plain_embedding(
        decoder.embedding, decoder.positions, before, 0, decoder.dropout, of_embedding
    )
    steps = before.shape[1]
    causal = np.broadcast_to(np.tril(np.ones((steps, steps), bool)), (len(rows), steps, steps))
    across = np.broadcast_to(seen, (len(rows), steps, seen.shape[2]))
    for t, own in enumerate(keys_of(of_layers, decoder.layers)):
        block, keys = decoder.layer(t), keys_of(own, 6)
        rate, (first, second, third) = block.dropout, block.norms
        read, _ = plain_attention(block.attention, x, x, causal, None, keys[0])
        x = plain_norm(first, x + plain_dropout(read, rate, keys[1]))
        read, _ = plain_attention(block.cross_attention, x, memory, across, None, keys[2])
        x = plain_norm(second, x + plain_dropout(read, rate, keys[3]))
        update = plain_feed_forward(block.feed_forward, x, keys[4])
        x = plain_norm(third, x + plain_dropout(update, rate, keys[5]))
    return x @ number(decoder.embedding.weight).T + number(decoder.bias)


@eqx.filter_jit
def forced(model, *batch, key=None):
    """The logits of a network, compiled."""
    return model(*batch, key=key)


def test_logits_are_those_of_a_plain_implementation(model):
    expected = plain_logits(model, INPUTS, INPUT_LENGTHS, OUTPUTS)
    np.testing.assert_allclose(forced(model, *BATCH), expected, atol=2e-4)


def test_dropout_is_that_of_a_plain_implementation():
    model, key = make("relative-universal", embedding_dropout=0.3), jax.random.key(7)
    expected = plain_logits(model, INPUTS, INPUT_LENGTHS, OUTPUTS, key)
    np.testing.assert_allclose(forced(model, *BATCH, key=key), expected, atol=5e-4)
    assert np.abs(expected - plain_logits(model, INPUTS, INPUT_LENGTHS, OUTPUTS)).max() > 0.1


def test_later_symbols_and_padding_change_no_earlier_logits(model):
    logits = forced(model, *BATCH)
    later = OUTPUTS.at[:, 2:].set(jnp.array([[3, 3, 1], [1, 1, 0]]))
    changed = forced(model, INPUTS, INPUT_LENGTHS, later, OUTPUT_LENGTHS)
    np.testing.assert_allclose(changed[:, :3], logits[:, :3], atol=1e-5)
    assert np.abs(changed[:, 3:] - logits[:, 3:]).max() > 1e-2
    wider = jnp.pad(INPUTS, ((0, 0), (0, 3)))
    padded = forced(model, wider, INPUT_LENGTHS, OUTPUTS, OUTPUT_LENGTHS)
    np.testing.assert_allclose(padded, logits, atol=1e-5)


def test_logits_symbol_by_symbol_are_those_of_all_at_once(model):
    memory, mask = encoded(model)
    cache, found = model.decoder.start(memory, mask, 5), []
    write = eqx.filter_jit(lambda decoder, *args: decoder.write(*args))
    for t in range(5):
        before = OUTPUTS[:, t - 1] if t else jnp.zeros(2, OUTPUTS.dtype)
        logits, cache = write(model.decoder, cache, jnp.asarray(t), before)
        found.append(logits)
    np.testing.assert_allclose(jnp.stack(found, axis=1), forced(model, *BATCH), atol=2e-5)


@eqx.filter_jit
def encoded(model):
    """What the encoder leaves to the decoder."""
    return model._encode(INPUTS, INPUT_LENGTHS, None)


@eqx.filter_jit
def writings(model):
    """What a network writes, what it writes of a given length, and its losses while it does."""
    steps = OUTPUTS.shape[1]
    return (
        model.greedy(INPUTS, INPUT_LENGTHS, steps),
        model.greedy_to_length(INPUTS, INPUT_LENGTHS, OUTPUT_LENGTHS, steps),
        model.free_running(*BATCH),
    )


def uncached(model, ends, most=None):
    """Greedy decoding that computes everything again for every symbol, and its last logits."""
    steps = OUTPUTS.shape[1]
    written, ended = np.zeros((2, steps), int), np.zeros(2, bool)
    for t in range(steps):
        batch = INPUTS, INPUT_LENGTHS, jnp.asarray(written), OUTPUT_LENGTHS
        logits = np.array(forced(model, *batch))
        for b in range(2):
            if most is not None:
                logits[b, t, 0] = -np.inf if t < most[b] else np.inf
            written[b, t] = 0 if ended[b] else logits[b, t].argmax()
        ended |= ends & (written[:, t] == 0)
    return written, logits


def test_greedy_decoding_is_that_without_a_cache(model):
    written, told, free = writings(model)
    np.testing.assert_array_equal(written, uncached(model, True)[0])
    np.testing.assert_array_equal(told, uncached(model, True, most=[2, 4])[0])
    np.testing.assert_array_equal((np.asarray(told) != 0).sum(axis=1), [2, 4])
    np.testing.assert_array_equal(free.symbols, written)


def test_free_running_losses_are_those_of_what_the_network_reads(model):
    *_, logits = uncached(model, False)  # also after an end
    losses = np.log(np.exp(logits).sum(axis=2))
    losses -= np.take_along_axis(logits, np.asarray(OUTPUTS)[..., None], axis=2)[..., 0]
    losses[np.arange(losses.shape[1]) >= np.asarray(OUTPUT_LENGTHS)[:, None]] = 0
    np.testing.assert_allclose(writings(model)[2].losses, losses, atol=2e-4)


@pytest.mark.parametrize(("bias", "length"), [(1e3, 0), (-1e3, 5)])
def test_a_network_writes_until_it_ends_or_there_is_no_room(model, bias, length):
    model = eqx.tree_at(lambda m: m.decoder.bias, model, jnp.array([bias, 0, 0, 0]))
    written, told, _ = writings(model)
    np.testing.assert_array_equal((written > 0).sum(axis=1), length)
    np.testing.assert_array_equal((told > 0).sum(axis=1), OUTPUT_LENGTHS - 1)


class Counting(models.AbstractPositions):
    """Positions that note where columns begin, whenever they are computed."""

    seen: list = eqx.field(static=True)

    def __call__(self, columns, first=0):
        jax.debug.callback(lambda t: self.seen.append(int(t)), first)
        return columns


def test_decoding_stops_when_all_sequences_have_ended():
    bias = jnp.array([1e3, 0, 0, 0])
    parts = bias, Counting(seen := [])
    model = eqx.tree_at(lambda m: (m.decoder.bias, m.decoder.positions), make("universal"), parts)
    written, told, _ = writings(model)
    jax.effects_barrier()
    assert not written.any()
    # One symbol for greedy, five (the longest told) and five (all that have losses).
    assert sorted(seen) == sorted([0, *range(5), *range(5)])
    assert (told > 0).sum() == 6


def test_relative_positions_do_not_see_where_a_sequence_begins():
    attention = eqx.filter_jit(make("relative-universal").encoder.stack.block.attention)
    x = jax.random.normal(KEY, (1, 5, 8))
    alone, _ = attention(x, x, models.padding_mask(jnp.array([5]), 5))
    moved = jnp.concatenate([jnp.ones((1, 3, 8)), x], axis=1)
    mask = (jnp.arange(8) >= 3)[None, None]
    later, _ = attention(moved, moved, mask)
    np.testing.assert_allclose(later[:, 3:], alone, atol=1e-5)


def test_inputs_are_framed_by_two_tokens():
    found = framed(jnp.array([[1, 2, 0], [2, 0, 0]]), jnp.array([3, 2]), 2)
    np.testing.assert_array_equal(found, [[3, 1, 2, 4], [3, 2, 4, 0]])


SCAN = {"sizes": (13, 6)}
TABLE_C2 = {
    "SCAN": (SCAN, (992_007, 1_091_847, 332_551, 365_831)),
    "CFQ, separate layers": (
        {"sizes": (96, 96), "heads": 16, "layers": 2},
        (684_513, 751_073, None, None),
    ),
    "CFQ, shared layers": (
        {"sizes": (96, 96), "width": 256, "hidden": 512, "heads": 4, "layers": 6},
        (None, None, 1_364_833, 1_496_929),
    ),
    "PCFG": (
        {"sizes": (535, 535), "width": 512, "hidden": 2048, "layers": 6},
        (44_651_544, 47_809_560, 7_900_184, 8_426_520),
    ),
    "COGS": (
        {"sizes": (871, 871), "width": 512, "hidden": 512, "heads": 4, "layers": 2},
        (9_297_256, 10_349_928, 5_095_784, 5_622_120),
    ),
    "Math": (
        {"sizes": (69, 69), "width": 512, "hidden": 2048, "layers": 6},
        (44_173_894, 47_331_910, 7_422_534, 7_948_870),
    ),
}
"""Sizes, and the parameters of the four variants."""


@pytest.mark.parametrize("task", TABLE_C2)
def test_variants_have_as_many_parameters_as_in_table_c2(task):
    settings, expected = TABLE_C2[task]
    sizes = specs.TranslationSizes(*settings["sizes"])
    settings = {name: value for name, value in settings.items() if name != "sizes"}
    kinds = "transformer", "relative", "universal", "relative-universal"
    for kind, count in zip(kinds, expected, strict=True):
        built = eqx.filter_eval_shape(KINDS[kind](**settings).build, sizes, KEY)
        assert count is None or models.count_parameters(built) == count


@pytest.mark.parametrize(
    ("embedding", "token_std", "position_std"),
    [
        (specs.TEUSpec(), (2 * 64 / (64 + 802)) ** 0.5, 0.5**0.5),
        (specs.NoScalingSpec(), 1, 0.5**0.5),
        (specs.PEDSpec(), (2 / 64) ** 0.5, (0.5 / 64) ** 0.5),
        (specs.PEDSpec(std="text"), (1 / 64) ** 0.5, (0.5 / 64) ** 0.5),
    ],
)
def test_tokens_and_positions_are_as_large_as_their_scheme_says(embedding, token_std, position_std):
    vectors, positions = embedding.build(EmbeddingSizes(802, 64), KEY)
    columns = vectors(jnp.arange(1, 803)[:, None])
    zero = jnp.zeros((1, 500, 64))
    tokens = positions(columns) - positions(jnp.zeros_like(columns))
    np.testing.assert_allclose(tokens.std(), token_std, rtol=0.02)
    np.testing.assert_allclose(jnp.sqrt((positions(zero) ** 2).mean()), position_std, rtol=1e-3)
    np.testing.assert_allclose(positions(zero[:, :3], 7), positions(zero)[:, 7:10], atol=1e-5)


def is_uniform(weight, bound):
    np.testing.assert_allclose(np.abs(weight).max(), bound, rtol=0.02)
    np.testing.assert_allclose(np.std(weight), bound / 3**0.5, rtol=0.05)


def test_projections_start_as_in_the_published_code():
    layer = specs.LayerSizes(64, 64, 4, 0.1)
    query, key_value, output = specs.ProjectionsSpec().build(layer, KEY)
    is_uniform(query.weight, (6 / 128) ** 0.5)
    is_uniform(key_value.weight, (6 / 192) ** 0.5)
    is_uniform(output.weight, 1 / 8)
    relative = KINDS["relative-universal"]()
    for part in relative.projections.build(layer, KEY):
        is_uniform(part.weight, 1 / 8)
        assert part.bias is None
    scores = relative.attention.build(layer, KEY)
    is_uniform(scores.position, 1 / 8)
    assert scores.scale is None
    assert scores.dropout == 0
    assert relative.cross_projections == KINDS["transformer"]().projections


def test_widths_that_heads_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="width=6 cannot be cut into heads=4"):
        specs.UniversalSpec(width=6, heads=4)
    with pytest.raises(ValueError, match="layers=0 is less than 1"):
        specs.UniversalSpec(layers=0)
    with pytest.raises(ValueError, match=r"dropout=1\.0 is not below 1"):
        specs.UniversalSpec(dropout=1.0)


def test_the_decoder_reads_no_key_twice():
    """The cross-attention of shared layers has one memory; separate ones have their own."""
    for kind, different in (("relative-universal", 1), ("transformer", 2)):
        model = make(kind)
        memory, mask = encoded(model)
        cache = model.decoder.start(memory, mask, 2)
        assert len({id(part.keys) for part in cache.memory}) == different
