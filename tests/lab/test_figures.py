"""The vocabulary of figures: what each word draws, and the look that all of them share."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from recombine.lab import confidence_interval, figures
from recombine.lab.figures import _theme

X = np.arange(5)


def named(figure, name):
    return [t for t in figure.data if t.name == name]


def test_importing_the_vocabulary_does_not_import_plotly():
    code = "import sys, recombine.lab.figures; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Panels


def test_a_plain_figure_has_one_panel_and_no_title():
    figure = figures.panels("", x="epoch", y="loss", log_y=True)
    assert figure.layout.xaxis.title.text == "epoch"
    assert figure.layout.yaxis.title.text == "loss"
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == (None, "log")
    assert len(figure.layout.annotations) == 0
    assert "xaxis2" not in figure.layout.to_plotly_json()


def test_panels_take_one_axis_title_for_all_or_one_each():
    figure = figures.panels("a", "b", "c", x="epoch", y=("p", "q", "r"), log_x=(False, True, False))
    layout = figure.layout
    assert [layout[a].title.text for a in ("xaxis", "xaxis2", "xaxis3")] == ["epoch"] * 3
    assert [layout[a].title.text for a in ("yaxis", "yaxis2", "yaxis3")] == ["p", "q", "r"]
    assert [layout[a].type for a in ("xaxis", "xaxis2", "xaxis3")] == [None, "log", None]
    assert [a.text for a in layout.annotations] == ["<b>a</b>", "<b>b</b>", "<b>c</b>"]
    assert layout.yaxis.domain == layout.yaxis3.domain  # side by side


def test_panels_share_their_heights_if_asked_to():
    apart = figures.panels("a", "b", "c", x="x", y="y")
    shared = figures.panels("a", "b", "c", x="x", y="y", shared_y=True)
    names = ("yaxis", "yaxis2", "yaxis3")
    assert [apart.layout[name].matches for name in names] == [None, None, None]
    assert [shared.layout[name].matches for name in names] == [None, "y", "y"]
    assert shared.layout.xaxis2.matches is None


def test_axis_titles_that_do_not_match_the_panels_are_refused():
    with pytest.raises(ValueError, match="2 values for 3 panels"):
        figures.panels("a", "b", "c", x=("p", "q"), y="")


def test_panels_fill_their_rows_from_the_left():
    figure = figures.panels(*"abcde", x="", y="", columns=2)
    lefts = [figure.layout[a].domain[0] for a in ("xaxis", "xaxis2", "xaxis3", "xaxis4", "xaxis5")]
    assert lefts[0] == lefts[2] == lefts[4] == 0
    assert lefts[1] == lefts[3] > 0.4
    assert figure.layout.yaxis5.domain[1] < figure.layout.yaxis3.domain[0]


def test_on_a_narrow_page_panels_stand_one_below_the_other():
    figure = figures.panels("a", "b", "c", x="", y="")
    narrow = figure.layout.meta["narrow"]["layout"]
    domains = [narrow[a]["domain"] for a in ("yaxis", "yaxis2", "yaxis3")]
    assert all(narrow[a]["domain"] == [0, 1] for a in ("xaxis", "xaxis2", "xaxis3"))
    for (low, high), (_, next_high) in itertools.pairwise(domains):
        assert high > low > next_high
    assert domains[-1][0] == pytest.approx(0, abs=1e-9)
    assert narrow["height"] > 2 * figure.layout.height


def test_a_panel_that_is_not_there_is_an_index_error():
    figure = figures.panels("a", "b", x="", y="")
    with pytest.raises(IndexError, match="no panel 2"):
        figures.add_curve(figure, X, X, "", panel=2)
    with pytest.raises(IndexError, match="no panel -1"):
        figures.add_level(figure, 1, "", panel=-1)


# Marks


def test_seeds_are_thin_lines_apart_and_their_mean_is_thick():
    ys = np.random.default_rng(0).normal(size=(3, 5))
    figure = figures.panels("", x="", y="")
    figures.add_seeds(figure, X, ys, "trained", color=1)
    seeds, mean = figure.data
    drawn = np.reshape(seeds.y, (3, 6))
    np.testing.assert_array_equal(drawn[:, :5], ys)
    assert np.isnan(drawn[:, 5]).all()
    np.testing.assert_array_equal(np.reshape(seeds.x, (3, 6))[:, :5], np.tile(X, (3, 1)))
    np.testing.assert_allclose(mean.y, ys.mean(axis=0))
    assert mean.line.width > seeds.line.width
    assert seeds.opacity < 0.5
    assert seeds.line.color == mean.line.color == figures.PALETTE[1]


def test_a_band_is_one_population_deviation_wide_on_either_side_of_the_mean():
    figure = figures.panels("", x="t", y="loss")
    figures.add_band(figure, [0, 1], [[0.0, 1.0], [2.0, 1.0]], "trained", color=1)
    band, mean = figure.data
    assert list(mean.y) == [1, 1]
    assert list(band.x) == [0, 1, 1, 0]
    assert list(band.y) == [2, 1, 1, 0]
    assert (band.fill, band.fillcolor, band.line.width) == ("toself", figures.PALETTE[1], 0)
    assert (band.showlegend, mean.showlegend) == (False, True)
    figures.add_band(figure, [0, 1], [[0.0, 1.0]], "alone")
    assert len(figure.data) == 3
    with pytest.raises(ValueError, match="x has 2 points, ys 3"):
        figures.add_band(figure, [0, 1], [[0.0, 1.0, 2.0]], "long")


def test_one_seed_is_one_line():
    figure = figures.panels("", x="", y="")
    figures.add_seeds(figure, X, X[None], "trained")
    assert len(figure.data) == 1


def test_seeds_without_their_mean_have_the_entry_in_the_legend():
    figure = figures.panels("", x="", y="")
    figures.add_seeds(figure, X, np.ones((2, 5)), "trained", mean=False)
    assert [t.showlegend for t in figure.data] == [True]


def test_seeds_of_another_length_are_refused():
    figure = figures.panels("", x="", y="")
    with pytest.raises(ValueError, match="5 points, ys 4"):
        figures.add_seeds(figure, X, np.ones((2, 4)), "trained")


def test_a_name_is_in_the_legend_once_however_many_panels_show_it():
    figure = figures.panels("a", "b", x="", y="")
    for panel in (0, 1):
        figures.add_seeds(figure, X, np.ones((2, 5)), "trained", panel=panel)
        figures.add_theory(figure, X, X, panel=panel)
    assert [t.showlegend for t in named(figure, "trained")].count(True) == 1
    assert [t.showlegend for t in named(figure, "theory")].count(True) == 1
    assert len({t.legendgroup for t in named(figure, "trained")}) == 1
    assert {t.xaxis for t in figure.data} == {"x", "x2"}


def test_theory_is_drawn_over_the_simulation_whatever_comes_first():
    figure = figures.panels("", x="", y="")
    figures.add_theory(figure, X, X)
    figures.add_seeds(figure, X, np.ones((2, 5)), "trained")
    assert [t.name for t in figure.data] == ["trained", "trained", "theory"]
    assert figure.data[-1].line.dash
    assert figure.data[-1].line.color == _theme.INK


def test_a_curve_takes_a_colour_outright_and_the_palette_repeats():
    figure = figures.panels("", x="", y="")
    figures.add_curve(figure, X, X, "a", color="#123456", dash="dot")
    figures.add_curve(figure, X, X, "b", color=len(figures.PALETTE))
    assert figure.data[0].line.to_plotly_json() == {
        "color": "#123456",
        "width": 2.25,
        "dash": "dot",
    }
    assert figure.data[1].line.color == figures.PALETTE[0]


def test_points_show_every_seed_and_the_interval_of_their_mean():
    ys = [np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0])]
    figure = figures.panels("", x="", y="")
    figures.add_points(figure, [0.1, 0.2], ys, "untrained")
    seeds, mean = figure.data
    np.testing.assert_array_equal(seeds.x, [0.1, 0.1, 0.1, 0.2, 0.2])
    np.testing.assert_array_equal(seeds.y, [1, 2, 4, 3, 5])
    for i, values in enumerate(ys):
        middle, low, high = confidence_interval(values)
        assert mean.y[i] == pytest.approx(middle)
        assert mean.error_y.array[i] == pytest.approx(high - middle)
        assert mean.error_y.arrayminus[i] == pytest.approx(middle - low)
    assert mean.mode == "lines+markers"


def test_intervals_on_a_logarithmic_axis_are_those_of_the_logarithms():
    figure = figures.panels("", x="", y="", log_y=True)
    figures.add_points(figure, [1], [[1e-5, 1e-4, 1e-3]], "loss")
    mean = figure.data[1]
    assert mean.y[0] == pytest.approx(1e-4)
    low, high = mean.y[0] - mean.error_y.arrayminus[0], mean.y[0] + mean.error_y.array[0]
    assert low * high == pytest.approx(1e-8)
    assert 0 < low < 1e-5


def test_points_leave_out_conditions_without_seeds_and_accept_words():
    figure = figures.panels("", x="", y="")
    figures.add_points(figure, ["ring", "random", "none"], [[1, 2], [], [3, 4]], "mask", line=False)
    assert list(figure.data[1].x) == ["ring", "none"]
    assert figure.data[1].mode == "markers"
    figures.add_points(figure, [1], [[]], "nothing")
    assert not named(figure, "nothing")


def test_the_papers_values_are_hollow_diamonds():
    figure = figures.panels("", x="", y="")
    figures.add_reference(figure, 0.1, 215)
    (trace,) = figure.data
    assert (trace.name, trace.mode, trace.marker.symbol) == ("paper", "markers", "diamond")
    assert trace.marker.color == _theme.CLEAR
    assert (list(trace.x), list(trace.y)) == ([0.1], [215])


def test_further_series_of_the_papers_have_other_shapes():
    figure = figures.panels("a", "b", x="", y="")
    for panel in (0, 1):
        for name in ("trained", "untrained"):
            figures.add_reference(figure, 0.1, 215, name, panel=panel)
    symbols = [(t.name, t.marker.symbol) for t in figure.data]
    assert symbols == [("trained", "diamond"), ("untrained", "square")] * 2


def test_levels_span_their_panel_and_carry_a_label():
    figure = figures.panels("a", "b", x="", y="")
    figures.add_level(figure, 0.4, "40 %", axis="x", panel=1)
    figures.add_level(figure, 122, "zero weights")
    vertical, horizontal = figure.layout.shapes
    assert (vertical.x0, vertical.x1, vertical.xref, vertical.yref) == (0.4, 0.4, "x2", "y2 domain")
    assert (horizontal.y0, horizontal.y1, horizontal.xref) == (122, 122, "x domain")
    assert (vertical.label.text, horizontal.label.text) == ("40 %", "zero weights")


# Heat maps


def test_many_heat_maps_become_the_tiles_of_one_image():
    arrays = np.random.default_rng(0).normal(size=(12, 3, 2))
    framed = [i % 3 == 0 for i in range(12)]
    figure = figures.heatmaps(arrays, columns=4, framed=framed, x="output", y="input")
    image, frames = figure.data
    tiles = image.meta["tiles"]
    for array, (top, left) in zip(arrays, tiles["corners"], strict=True):
        np.testing.assert_array_equal(image.z[top : top + 3, left : left + 2], array)
    assert np.isfinite(image.z).sum() == arrays.size  # nothing but gaps around them
    assert len({left for _, left in tiles["corners"]}) == 4
    assert np.isnan(frames.x).sum() == sum(framed)
    assert figure.layout.xaxis.title.text == "output"


def test_a_frame_goes_around_its_tile():
    figure = figures.heatmaps(np.ones((9, 4, 4)), framed=[i == 5 for i in range(9)])
    top, left = figure.data[0].meta["tiles"]["corners"][5]
    frame = figure.data[1]
    assert left - 1 < np.nanmin(frame.x) < left - 0.5
    assert left + 3.5 < np.nanmax(frame.x) < left + 4
    assert top - 1 < np.nanmin(frame.y) < top - 0.5


def test_a_grid_of_a_hundred_heat_maps_is_small():
    from recombine.lab.report import _plotly

    arrays = np.random.default_rng(0).normal(size=(100, 7, 4))
    figure = figures.heatmaps(arrays, columns=10, framed=[True] * 100)
    assert len(_plotly.to_json(figure)) < 60_000
    assert len(figure.data) == 2


def test_tiles_may_have_titles():
    titles = [f"{i}" for i in range(9)]
    figure = figures.heatmaps(np.ones((9, 2, 2)), titles)
    assert list(figure.data[1].text) == titles
    assert figure.data[1].mode == "text"


def test_few_heat_maps_are_panels_that_share_a_scale():
    arrays = [np.array([[0.0, 1.0]]), np.array([[-3.0, 2.0]])]
    figure = figures.heatmaps(arrays, ["a", "b"], framed=[False, True])
    assert [t.coloraxis for t in figure.data] == ["coloraxis", "coloraxis"]
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-3, 2)
    assert (figure.layout.xaxis.showline, figure.layout.xaxis2.showline) == (False, True)
    assert figure.layout.yaxis.autorange == "reversed"  # the first row is at the top
    assert [a.text for a in figure.layout.annotations] == ["<b>a</b>", "<b>b</b>"]


def test_heat_maps_may_have_a_scale_each():
    arrays = [np.array([[0.0, 1.0]]), np.array([[-3.0, 2.0]])]
    figure = figures.heatmaps(arrays, shared_scale=False)
    assert [(t.zmin, t.zmax) for t in figure.data] == [(0, 1), (-3, 2)]
    assert figure.data[0].colorbar.x < figure.data[1].colorbar.x


def test_zero_is_the_middle_of_a_diverging_scale():
    figure = figures.heatmaps([np.array([[-1.0, np.nan, 4.0]])], diverging=True)
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-4, 4)


def test_heat_maps_fit_beside_each_other_on_a_page():
    for count in range(1, 9):
        figure = figures.heatmaps(np.ones((count, 5, 5)), columns=count, y="row")
        assert figure.layout.width <= 900


def test_heat_maps_refuse_what_does_not_match():
    with pytest.raises(ValueError, match="1 titles for 2 arrays"):
        figures.heatmaps(np.ones((2, 2, 2)), ["a"])
    with pytest.raises(ValueError, match="no arrays"):
        figures.heatmaps([])


# Graphs

NODES = {"x": (0, "4"), "h": (1, "64"), "y": (2, "7")}
EDGES = [("x", "h", "W1"), ("h", "y", "W2")]


def lines(figure):
    return {t.line.color: t for t in figure.data if t.mode == "lines"}


def test_a_graph_draws_every_node_and_colours_the_chosen_edges():
    figure = figures.graph(NODES, EDGES, highlight=[("x", "h")])
    nodes = figure.data[-1]
    assert list(nodes.text) == ["x", "h", "y"]
    np.testing.assert_array_equal(nodes.x, [0, 1, 2])
    drawn = lines(figure)
    assert set(drawn) == {_theme.RULE, figures.PALETTE[1]}
    chosen = drawn[figures.PALETTE[1]]
    assert (chosen.x[0], chosen.x[-2]) == (0, 1)
    assert {a.text for a in figure.layout.annotations} == {"W1", "W2", "4", "64", "7"}


def test_an_edge_may_be_chosen_by_its_label():
    parallel = [("x", "h", "a"), ("x", "h", "b")]
    figure = figures.graph(NODES, parallel, highlight=[("x", "h", "b")])
    straight, bent = lines(figure)[_theme.RULE], lines(figure)[figures.PALETTE[1]]
    assert np.ptp(straight.y[:-1]) == 0
    assert np.ptp(bent.y[:-1]) > 0.3


def test_an_edge_that_skips_a_layer_passes_by_the_node_between():
    figure = figures.graph(NODES, [*EDGES, ("x", "y", "")], highlight=[("x", "y")])
    skip = lines(figure)[figures.PALETTE[1]]
    assert skip.y[np.nanargmin(np.abs(skip.x - 1))] > 0.5
    bottom, top = figure.layout.yaxis.range
    assert bottom < np.nanmin(skip.y)
    assert np.nanmax(skip.y) < top


def test_an_edge_to_nowhere_is_refused():
    with pytest.raises(ValueError, match="x -> z: no node 'z'"):
        figures.graph(NODES, [("x", "z", "")])


# The look


def linear(color):
    """Linear RGB of `#rrggbb`."""
    c = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB, whose distances are about those that people see."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ rgb / [0.9505, 1, 1.089]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# Viénot, Brettel & Mollon (1999): what red- and green-blind people see, in linear RGB.
BLIND = {
    "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    "none": np.eye(3),
}


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_palette_stays_distinct_under_colour_blindness(kind, mode):
    colors = [_theme.DARK[c] if mode == "dark" else c for c in figures.PALETTE]
    seen = [lab(np.clip(np.array(BLIND[kind]) @ linear(c), 0, 1)) for c in colors]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


def contrast(a, b):
    luminances = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (a, b))
    return (luminances[1] + 0.05) / (luminances[0] + 0.05)


def test_text_and_lines_are_legible_on_a_light_and_on_a_dark_page():
    dark, paper = _theme.DARK, _theme.PAPER
    for text in (_theme.INK, _theme.MUTED):
        assert contrast(text, paper) > 4.5
        assert contrast(dark[text], dark[paper]) > 4.5
    for line in figures.PALETTE:
        assert contrast(line, paper) > 2.2
        assert contrast(dark[line], dark[paper]) > 4.5
    for position in np.linspace(0, 1, 11):
        assert contrast(figures.shade(position), paper) > 2.2
        assert contrast(figures.shade(position), dark[paper]) > 3


def test_every_colour_of_the_look_has_a_counterpart_for_a_dark_page():
    used = {*figures.PALETTE, *_theme.SEQUENTIAL, *_theme.DIVERGING}
    used |= {_theme.INK, _theme.MUTED, _theme.RULE, _theme.GRID, _theme.PAPER}
    assert used == set(_theme.DARK)
    assert len(set(_theme.DARK.values())) == len(_theme.DARK)
    # Counterparts that were colours of the light look would be exchanged twice.
    assert not used & set(_theme.DARK.values())


def test_shades_run_from_one_end_to_the_other():
    assert figures.shade(0) == _theme.ORDERED[0]
    assert figures.shade(1) == figures.shade(2) == _theme.ORDERED[-1]
    assert figures.shade(0.5) == _theme.ORDERED[2]


def test_figures_are_json_without_help():
    figure = figures.panels("a", x="", y="")
    figures.add_points(figure, [1, 2], [[1, 2], [3, 4]], "s")
    assert json.loads(figure.to_json())["layout"]["meta"]["panels"] == ["a"]


@pytest.mark.parametrize(
    ("title", "low", "high"),
    [
        ("accuracy on new combinations", 0, 1),
        ("share of experts chosen again", 0, 1),
        ("test loss", 0, None),
        ("cosine between domains", -1, 1),
        ("difference in accuracy", None, None),
        ("ours minus modular", None, None),
        ("bias", None, None),
    ],
)
def test_bars_end_where_the_quantity_ends(title, low, high):
    figure = figures.panels("", x="x", y=title)
    figures.add_points(figure, [1, 2], [[0.0, 0.2], [0.9, 1.0]], "a")  # half-widths 1.3 and 0.6
    bars = figure.data[-1].error_y
    first = 0.1 - bars.arrayminus[0]
    last = 0.95 + bars.array[1]
    assert first == pytest.approx(0.1 - 1.270620 if low is None else low, abs=1e-5)
    assert last == pytest.approx(0.95 + 0.635310 if high is None else high, abs=1e-5)


def test_bars_of_a_quantity_in_other_units_are_not_cut():
    figure = figures.panels("", x="x", y="accuracy")
    figures.add_points(figure, [1], [[90.0, 99.0]], "percent")
    assert 94.5 + figure.data[-1].error_y.array[0] > 100


def test_bounds_can_be_given():
    figure = figures.panels("", x="x", y="bias")
    figures.add_points(figure, [1], [[0.1, 0.9]], "a", bounds=(-0.5, 1.0))
    bars = figure.data[-1].error_y
    assert 0.5 - bars.arrayminus[0] == pytest.approx(-0.5)
    assert 0.5 + bars.array[0] == pytest.approx(1.0)
