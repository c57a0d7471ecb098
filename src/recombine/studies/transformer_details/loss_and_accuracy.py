"""Figures 4.2, C.1 and C.2: does a loss say which network is right more often?"""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    exact,
    figures,
    for_all,
    grid,
    mean,
)

from . import DOCUMENT
from .log_results import (
    MINI_SCAN,
    SMALL,
    SMOKE,
    VARIANTS,
    change_of,
    chosen,
    correlation,
    decomposition_error,
    published,
    split_losses,
)
from .scan_length import UNIVERSAL
from .training import Config, trial

SETS = {"iid": "familiar pairs", "ood": "new combinations"}


def draw_scatter(results: Results):
    """Accuracy against loss, at every look but the first of every seed."""
    figure = figures.panels(*SETS.values(), x="loss per symbol", y="accuracy", log_x=True)
    for color, model in enumerate(chosen(results, "model", VARIANTS)):
        for panel, name in enumerate(SETS):
            _, losses = results.curve(f"{name}_loss", model=model)
            _, accuracies = results.curve(name, model=model)
            figures.add_scatter(
                figure, losses[:, 1:].ravel(), accuracies[:, 1:].ravel(),
                VARIANTS.get(model, model), color=color, panel=panel,
            )  # fmt: skip
    return figure


def draw_parts(results: Results):
    """The loss of good and bad pairs, and of all."""
    networks = chosen(results, "model", VARIANTS)
    titles = [VARIANTS.get(model, model) for model in networks]
    figure = figures.panels(*titles, x="step", y="loss per symbol", log_y=True)
    for panel, model in enumerate(networks):
        runs = results.where(model=model)
        steps, _ = runs.curve("ood")
        found = split_losses(runs)
        for color, part in enumerate(("good", "bad", "total")):
            ys = np.array([getattr(one, part) for one in found])
            kept = ~np.isnan(ys).any(axis=1)
            if kept.any():
                figures.add_band(figure, steps, ys[kept], part, color=color, panel=panel)
    return figure


def draw_histograms(results: Results):
    """How many pairs have which loss, at the first look after the start and at the last."""
    figure = figures.panels("first look", "last look", x="loss of a pair", y="pairs")
    edges = np.linspace(0, 15, 41)
    runs = results.where(model=chosen(results, "model", VARIANTS)[0])
    losses, right = (runs.array(name) for name in ("ood_loss", "ood_right"))
    good = right.any(axis=1)
    for panel, look in enumerate((1, -1)):
        for color, (name, which) in enumerate((("good", good), ("bad", ~good))):
            counts, _ = np.histogram(np.clip(losses[:, look][which], 0, 15), edges)
            middle = (edges[1:] + edges[:-1]) / 2
            figures.add_curve(figure, middle, counts, name, color=color, panel=panel)
    return figure


study = Study(
    name="transformer-details/loss-and-accuracy",
    title="On new combinations loss and accuracy rise together",
    source=Source(DOCUMENT, "Figures 4.2, C.1 and C.2, Section 4.2.3"),
    question="Does a network with a lower loss on new combinations get more of them right?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(model=UNIVERSAL), settings=SMOKE, cost="15 s on two cores"
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(problem=(MINI_SCAN,), model=tuple(VARIANTS)),
            settings=SMALL,
            cost="none beyond that of scan-length, whose trials it shares",
        ),
        "paper": Preset(
            seeds=5,
            conditions=(
                {"problem": "cfq-mcd1", "model": "relative"},
                {"problem": "cogs", "model": "transformer", "model.embedding": "teu"},
            ),
            depends=published,
            cost="days per network on two cores",
        ),
    },
    claims=(
        Claim(
            "decomposition",
            "The loss is the weighted mean of that of good and of bad pairs, to {0:g}.",
            "Figure C.2",
            exact(decomposition_error, "distance from the weighted mean").equals(0, within=1e-9),
        ),
        Claim(
            "familiar-together",
            "On familiar pairs accuracy falls as the loss rises: over a training run their rank "
            "correlation is negative, for every network.",
            "Figure C.1",
            for_all("model", lambda model: mean(correlation("iid"), model=model) < 0),
        ),
        Claim(
            "new-apart",
            "On new combinations accuracy rises with the loss: over a training run their rank "
            "correlation is positive, for every network.",
            "Figures 4.2 and C.1",
            for_all("model", lambda model: mean(correlation("ood"), model=model) > 0),
        ),
        Claim(
            "good-and-bad",
            "From the first interval of training to the end, the loss of good pairs falls, and "
            "that of bad ones rises, for every network.",
            "Figure C.2",
            for_all(
                "model",
                lambda model: all_of(
                    mean(change_of("good"), model=model) < 0,
                    mean(change_of("bad"), model=model) > 0,
                ),
            ),
        ),
    ),
    figures=(
        Figure(
            "scatter",
            "Accuracy against loss",
            "Figures 4.2 and C.1: every look but the first of every seed; teacher-forced loss.",
            draw_scatter,
        ),
        Figure(
            "parts",
            "Loss of good and of bad pairs",
            "Figure C.2a: good pairs are right at one look or more, bad ones never.",
            draw_parts,
        ),
        Figure(
            "histograms",
            "Losses of pairs",
            "Figures C.2b and C.2c, of the first network: losses of new combinations, those above "
            "15 counted as 15.",
            draw_histograms,
        ),
    ),
    notes="The published curves have the loss of a network that reads its own symbols; the log has "
    "both losses, `ood_loss` and `ood_free_loss`. Correlations are of looks from the first "
    "interval of training on: before, nothing is right.",
)  # fmt: skip
