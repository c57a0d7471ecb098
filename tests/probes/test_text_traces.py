"""What layers do on a text is what they do on its segments."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from recombine import learning, probes
from recombine.models import specs

KEY = jax.random.key(0)


def test_active_channels_are_those_counted_by_hand():
    spec = specs.TransformerXLSpec(
        width=4, hidden=6, heads=1, head_width=None, layers=1, dropout=0.0
    )
    model = eqx.filter_jit(spec.build)(specs.LanguageSizes(5), KEY)
    segments = learning.Segments(jax.random.randint(KEY, (26,), 0, 5), 2, 4)
    found = probes.text_traces(model, segments, 4)
    assert found["tokens"].shape == (24,)
    assert found["active"].shape == (1, 24)

    # By hand, for the first segment of the first stream.
    @eqx.filter_jit
    def by_hand(model):
        block = model.stack.layer(0)
        x = model.embedding(segments.streams[:, :4] + 1)
        mask = jnp.tril(jnp.ones((4, 4), bool))
        read, _ = block.attention(block.norms[0](x), block.norms[0](x), mask)
        return block.feed_forward.inner(block.norms[1](x + read))

    hidden = by_hand(model)
    np.testing.assert_array_equal(found["active"][0, :4], (hidden[0] > 0).sum(axis=1))
    summary = probes.active_channels(found["active"])
    np.testing.assert_allclose(summary.mean, np.mean(found["active"]), rtol=1e-5)
    np.testing.assert_allclose(summary.deviation, np.std(found["active"]), rtol=1e-5)
