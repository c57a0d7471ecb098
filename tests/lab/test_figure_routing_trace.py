import numpy as np
import pytest

from recombine.lab import figures

RANDOM = np.random.default_rng(0)
WORDS = ["B", "c", "c", "3"]
# Four steps, two heads, one place of padding.
ATTENTION = RANDOM.random((4, 2, 5, 5))
GATES = RANDOM.random((4, 5, 7))


def test_every_step_shows_the_largest_attention_and_all_gates():
    figure = figures.routing_trace(WORDS, ATTENTION, GATES)
    assert [trace.name for trace in figure.data] == ["attention", "gates"]
    assert len(figure.frames) == 4
    for t, frame in enumerate(figure.frames):
        expected = np.maximum(ATTENTION[t, 0], ATTENTION[t, 1])[:4, :4]
        np.testing.assert_array_equal(frame.data[0].z, expected)
        np.testing.assert_array_equal(frame.data[1].z, GATES[t, :4].T)
    np.testing.assert_array_equal(figure.data[1].z, GATES[-1, :4].T)


def test_words_stand_at_columns_and_targets_also_where_one_comes_twice():
    figure = figures.routing_trace(WORDS, ATTENTION, GATES)
    attention, gates = figure.data
    for places in (attention.x, attention.y, gates.x):
        assert [place.strip("\u200b") for place in places] == WORDS
        assert len(set(places)) == 4
    assert gates.y is None
    layout = figure.layout
    assert layout.xaxis.showticklabels
    assert layout.yaxis.showticklabels
    assert (layout.xaxis2.title.text, layout.yaxis2.title.text) == ("column", "channel")


def test_the_scale_is_from_0_to_1():
    axis = figures.routing_trace(WORDS, 0.1 * ATTENTION).layout.coloraxis
    assert (axis.cmin, axis.cmax) == (0, 1)


def test_heads_have_panels_of_their_own_if_they_are_few():
    figure = figures.routing_trace(WORDS, ATTENTION, heads=True)
    assert [trace.name for trace in figure.data] == ["attention", "head 1", "head 2"]
    np.testing.assert_array_equal(figure.frames[1].data[2].z, ATTENTION[1, 1, :4, :4])
    many = figures.routing_trace(WORDS, RANDOM.random((2, 17, 4, 4)), heads=True)
    assert len(many.data) == 1


@pytest.mark.parametrize(
    ("attention", "gates", "message"),
    [
        (ATTENTION[:, :, :3, :3], None, "attention of shape"),
        (ATTENTION[:, 0], None, "attention of shape"),
        (ATTENTION, GATES[:2], "gates of shape"),
    ],
)
def test_shapes_that_do_not_match_are_refused(attention, gates, message):
    with pytest.raises(ValueError, match=message):
        figures.routing_trace(WORDS, attention, gates)
