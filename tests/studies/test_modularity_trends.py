"""The judgement of trends: each claim can hold and can fail."""

import numpy as np
import pytest
from made_up import judged, results

from recombine import theory
from recombine.studies.modularity_scaling import trends

NAME = "modularity-scaling/trends"
VARIANCE = 2.5
BY_M = {2: -1.6, 3: -1.2, 6: -0.2, 7: 0.0, 9: 0.2}
"""Against that at m = 7."""
BY_N = {100: 4.5, 500: 4.4, 1000: 4.1, 2000: 2.6, 5000: 1.6, 10_000: 0.9}
BY_P = {97: 2.1, 241: 2.3, 385: 2.4, 1153: 4.1, 3265: 3.0, 5377: 2.9, 16897: 2.7}


def parameters(config):
    return theory.mlp_parameter_count(config.width, config.layers + 1)


def good(config, seed):
    test = BY_N[config.n] if config.n != 1000 else BY_P[parameters(config)]
    test += BY_M[config.m]
    spectrum = theory.ScalingSpectrum(config.m)
    train = theory.monolithic_losses(config.n, 0.85 * parameters(config), spectrum).train
    wiggle = 0.01 * (-1) ** config.k + 0.002 * seed
    return {"test_loss": test + wiggle, "train_loss": float(train), "target_variance": VARIANCE}


def but(**change):
    """Good results, but for conditions with some values: another test or training loss."""
    where, loss, value = change.pop("where"), change.pop("loss"), change.pop("value")

    def values(config, seed):
        metrics = good(config, seed)
        if all(getattr(config, name) == wanted for name, wanted in where.items()):
            metrics[loss] = value
        return metrics

    return values


@pytest.mark.parametrize("claim", [c.name for c in trends.study.claims])
def test_every_claim_holds_on_what_the_paper_says(claim):
    assert judged(*results(NAME, good), claim).holds


def test_a_trend_in_the_number_of_modules_breaks_its_claim():
    def rising(config, seed):
        extra = 0.05 * config.k
        return good(config, seed) | {"test_loss": good(config, seed)["test_loss"] + extra}

    assert not judged(*results(NAME, rising), "modules-do-not-matter").holds
    spread = but(where={"k": 4}, loss="test_loss", value=6.0)
    assert not judged(*results(NAME, spread), "modules-do-not-matter").holds


@pytest.mark.parametrize(
    ("claim", "where", "loss", "value"),
    [
        ("grows-with-dimension", {"m": 6}, "test_loss", 1.2),
        ("grows-with-dimension", {"m": 2}, "test_loss", 2.0),
        ("grows-ever-more-slowly", {"m": 9}, "test_loss", 4.6),
        ("peaks-at-the-threshold", {"width": 128}, "test_loss", 5.0),
        ("double-descent", {"n": 100}, "test_loss", 3.0),
        ("double-descent", {"n": 10_000}, "test_loss", 2.2),
        ("few-samples-are-fitted", {"n": 500}, "train_loss", 0.06),
        ("many-samples-generalize", {"n": 10_000}, "test_loss", 1.2),
        ("worse-than-theory-with-few-samples", {"n": 100}, "test_loss", 2.0),
        ("lower-peak-than-theory", {"n": 1000, "width": 32, "layers": 2}, "test_loss", 20.0),
    ],
)
def test_one_condition_breaks_a_claim(claim, where, loss, value):
    found = judged(*results(NAME, but(where=where, loss=loss, value=value)), claim)
    assert found.verdict == "fails"


def test_losses_without_dimension_break_the_claim_of_the_fit():
    def flat(config, seed):
        spectrum = theory.ScalingSpectrum(config.m, 1.0, 1.0001)
        losses = theory.monolithic_losses(config.n, parameters(config), spectrum)
        return good(config, seed) | {"train_loss": float(losses.train)}

    assert not judged(*results(NAME, flat), "theory-is-fitted").holds


def test_a_trend_averages_over_settings_with_all_places():
    _, found = results(NAME, good)
    by_n = trends.losses_along(found, "n", "test")
    assert by_n.places.tolist() == [*BY_N]
    assert by_n.losses.shape == (4, 6)
    assert by_n.mean == pytest.approx([*BY_N.values()], abs=0.02)
    # Of k = 2, 5 and 9, all with m = 7.
    expected = theory.monolithic_losses(by_n.places, 0.85 * 1153, theory.ScalingSpectrum(7))
    assert by_n.predicted(*trends.PUBLISHED) == pytest.approx(expected.test)
    assert trends.losses_along(found, "k", "test").places.tolist() == [*range(2, 10)]
    assert trends.losses_along(found, "p", "train").places.tolist() == [*BY_P]


def test_the_constants_beside_the_papers_are_those_of_each_seed():
    study, found = results(NAME, good)
    for row, constant in zip(study.beside, trends.PUBLISHED, strict=True):
        assert row.paper.value == constant
    np.testing.assert_allclose(study.beside[1].ours(found), np.full(4, 1.57), rtol=0.01)


@pytest.mark.parametrize("figure", [f.name for f in trends.study.figures])
def test_every_figure_is_drawn(figure):
    study, found = results(NAME, good)
    assert next(f for f in study.figures if f.name == figure).draw(found).data
