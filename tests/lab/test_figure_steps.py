"""Heat maps at places of a plane, and over the steps of training."""

import csv
import io
import json

import numpy as np
import pytest

from recombine.lab import figures
from recombine.lab.figures import _theme
from recombine.lab.report import _plotly
from recombine.lab.report._thumbnail import thumbnail

MAPS = np.arange(3 * 2 * 4 * 5, dtype=float).reshape(3, 2, 4, 5) - 60
STEPS = (0, 1, 1024)


def stepping(**options):
    figure = figures.heatmaps(MAPS[-1], ["a", "b"], diverging=True, **options)
    figures.add_steps(figure, STEPS, MAPS)
    return figure


# Places


def test_rows_at_numbers_run_upwards_and_cells_are_squares():
    figure = figures.heatmaps([MAPS[0, 0]], across=[0, 1, 2, 3, 4], along=[0.0, 0.5, 1.0, 1.5])
    np.testing.assert_array_equal(figure.data[0].y, [0, 0.5, 1, 1.5])
    assert figure.layout.yaxis.autorange is None
    assert figure.layout.yaxis.scaleratio == 2
    assert figure.layout.xaxis.showticklabels


def test_rows_at_words_run_downwards_with_room_for_the_words():
    words = list("abcd")
    figure = figures.heatmaps([MAPS[0, 0]], along=words)
    long = figures.heatmaps([MAPS[0, 0]], along=[w * 9 for w in words])
    assert list(figure.data[0].y) == words
    assert figure.layout.yaxis.autorange == "reversed"
    assert long.layout.margin.l > figure.layout.margin.l + 30


def test_places_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="3 places for 5 columns"):
        figures.heatmaps([MAPS[0, 0]], across=[1, 2, 3])
    with pytest.raises(ValueError, match="3 places for 4 rows"):
        figures.heatmaps([MAPS[0, 0]], along=[1, 2, 3])


def test_blue_may_stand_for_positive_numbers():
    plain, turned = (
        figures.heatmaps([MAPS[0, 0]], diverging=True, blue_is_high=high).layout.coloraxis
        for high in (False, True)
    )
    assert plain.colorscale[0][1] == turned.colorscale[-1][1] == _theme.DIVERGING[0]


def test_points_over_a_heat_map_have_a_symbol_and_no_entry_in_a_legend():
    figure = figures.heatmaps(MAPS[0], across=range(5), along=range(4))
    figures.add_scatter(figure, [1, 2], [0, 3], "n", symbol="triangle-up", panel=1, legend=False)
    image, _, points = figure.data
    assert image.type == "heatmap"
    assert (points.mode, points.marker.symbol, points.xaxis) == ("markers", "triangle-up", "x2")
    assert not points.showlegend


# Steps


def test_every_step_is_a_frame_and_a_place_of_the_slider():
    figure = stepping()
    assert [frame.name for frame in figure.frames] == ["0", "1", "1024"]
    for frame, maps in zip(figure.frames, MAPS, strict=True):
        assert list(frame.traces) == [0, 1]
        np.testing.assert_array_equal([trace.z for trace in frame.data], maps)
    (slider,) = figure.layout.sliders
    assert [list(step.args[0]) for step in slider.steps] == [["0"], ["1"], ["1024"]]
    assert slider.active == 2
    np.testing.assert_array_equal(figure.data[1].z, MAPS[-1, 1])


def test_one_button_plays_all_steps_and_one_stops():
    play, stop = stepping().layout.updatemenus[0].buttons
    assert play.args[0] is None
    assert play.args[1]["frame"]["duration"] > 0
    assert list(stop.args[0]) == [None]
    assert all(button.args[1]["frame"]["redraw"] for button in (play, stop))


def test_one_colour_means_one_number_at_all_steps():
    axis = stepping().layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-60, 60)


def test_a_slider_takes_its_room_below_the_panels_wherever_they_stand():
    plain, figure = figures.heatmaps(MAPS[-1], ["a", "b"], diverging=True), stepping()
    more = figure.layout.height - plain.layout.height
    assert more > 60
    assert figure.layout.margin.b - plain.layout.margin.b == more
    heights = (f.layout.meta["narrow"]["layout"]["height"] for f in (figure, plain))
    assert next(heights) - next(heights) == more


def test_colours_of_the_slider_have_counterparts_on_a_dark_page():
    slider, menu = stepping().layout.sliders[0], stepping().layout.updatemenus[0]
    used = (
        slider.bgcolor, slider.activebgcolor, slider.bordercolor, slider.tickcolor,
        slider.font.color, slider.currentvalue.font.color, menu.bgcolor, menu.bordercolor,
        menu.font.color,
    )  # fmt: skip
    assert set(used) <= set(_theme.DARK)


def test_panels_may_differ_in_shape_and_be_squares_all_the_same():
    frames = [[maps[0], maps[1, :2]] for maps in MAPS]
    figure = figures.heatmaps(frames[-1], stretched=True)
    plain = figures.heatmaps([np.ones((5, 5))] * 2)
    assert figure.layout.yaxis.scaleanchor is None
    assert figure.layout.height == plain.layout.height
    figures.add_steps(figure, STEPS, frames)
    for frame, maps in zip(figure.frames, frames, strict=True):
        for trace, z in zip(frame.data, maps, strict=True):
            np.testing.assert_array_equal(trace.z, z)


@pytest.mark.parametrize(
    ("steps", "arrays", "message"),
    [
        (STEPS, MAPS[:2], "arrays of 2 steps for 3"),
        (STEPS, MAPS[..., 1:], "panels need \\[\\(4, 5\\), \\(4, 5\\)\\]"),
        ((5,), MAPS[:1], "two or more steps"),
        ((1, 1, 2), MAPS, "equal: 1, 1, 2"),
    ],
)
def test_steps_that_do_not_match_are_refused(steps, arrays, message):
    figure = figures.heatmaps(MAPS[-1])
    with pytest.raises(ValueError, match=message):
        figures.add_steps(figure, steps, arrays)


def test_steps_of_tiles_or_of_scales_of_their_own_are_refused():
    many = np.ones((2, 9, 2, 2))
    with pytest.raises(ValueError, match="use fewer"):
        figures.add_steps(figures.heatmaps(many[0]), [0, 1], many)
    with pytest.raises(ValueError, match="share a scale"):
        figures.add_steps(figures.heatmaps(MAPS[0], shared_scale=False), STEPS, MAPS)


# In the report


def test_the_table_of_a_figures_data_has_all_steps():
    rows = list(csv.DictReader(io.StringIO(_plotly.to_csv(stepping()))))
    assert len(rows) == MAPS.size
    for row in rows[:: len(rows) // 7]:
        step, panel = STEPS.index(int(row["step"])), "ab".index(row["panel"])
        assert float(row["value"]) == MAPS[step, panel, int(row["row"]), int(row["column"])]


def test_frames_are_as_small_in_a_page_as_the_figure_itself():
    figure = json.loads(_plotly.to_json(stepping()))
    assert len(figure["frames"]) == 3
    assert figure["frames"][0]["data"][0]["z"]["dtype"] == "i1"


def test_the_papers_values_stay_hollow_in_a_thumbnail():
    figure = figures.panels("", x="", y="")
    figures.add_reference(figure, [1, 2], [3, 4])
    assert thumbnail(figure).count("fill:none;stroke:var(") == 2


def test_a_thumbnail_has_what_is_above_above():
    z = np.array([[0.0, 0.0], [1.0, 1.0]])
    down = thumbnail(figures.heatmaps([z]))
    up = thumbnail(figures.heatmaps([z[::-1]], across=[0, 1], along=[0, 1]))
    assert down == up
