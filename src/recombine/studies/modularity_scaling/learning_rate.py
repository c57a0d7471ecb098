"""Figure 8: the samples that monolithic networks need, by learning rate, width and depth."""

from itertools import product
from typing import Any

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Judgement,
    Preset,
    Results,
    Source,
    Study,
    figures,
    grid,
    paired_difference,
)

from . import DOCUMENT
from .search_trial import Config, censored, log2_samples, trial

RATES = (0.001, 0.01, 0.1)
BEST = 0.01
AXES = {"learning_rate": "learning rate", "width": "width", "layers": "linear layers"}


def networks(results: Results) -> list[tuple[int, int]]:
    """Width and layers of all networks."""
    return sorted({(r.config["width"], r.config["layers"]) for r in results.records})


def all_eps(results: Results) -> tuple[float, ...]:
    return results.values("eps")[0]


def by_rate(results: Results, rate: float) -> np.ndarray:
    """log2 samples, averaged over networks and losses: one number per seed."""
    return np.mean(
        [
            log2_samples(results, eps, learning_rate=rate, width=width, layers=layers)
            for (width, layers), eps in product(networks(results), all_eps(results))
        ],
        axis=0,
    )


def one_rate_is_best(results: Results) -> Judgement:
    rates = results.values("learning_rate")
    means = {rate: by_rate(results, rate) for rate in rates}
    unreached = {
        f"{rate:g}": sum(
            censored(results, eps, learning_rate=rate)["never"] for eps in all_eps(results)
        )
        for rate in rates
    }
    evidence: dict[str, Any] = {
        "mean log2 of samples by learning rate": {f"{r:g}": v.mean() for r, v in means.items()},
        **{
            f"0.01 minus {rate:g} (bound: below 0 on average)": paired_difference(
                means[BEST], means[rate]
            )
            for rate in rates
            if rate != BEST
        },
        "searches that never reached their loss, counted at the most samples": unreached,
    }
    by_cell = cells(results)
    evidence |= {"by cell": by_cell, "best cell": min(by_cell, key=lambda cell: by_cell[cell])}
    best = min(rates, key=lambda rate: means[rate].mean())
    return Judgement(bool(np.isclose(best, BEST)), evidence)


def cells(results: Results) -> dict[str, float]:
    """Mean log2 samples of every learning rate and network."""
    return {
        f"rate {rate:g}, width {width}, {layers + 1} layers": float(
            np.mean(
                [
                    log2_samples(results, eps, learning_rate=rate, width=width, layers=layers)
                    for eps in all_eps(results)
                ]
            )
        )
        for rate, (width, layers) in product(results.values("learning_rate"), networks(results))
    }


def draw_sweeps(results: Results):
    figure = figures.panels(
        *AXES.values(), x=list(AXES.values()), y="samples needed", log_x=[True, True, False],
        log_y=True,
    )  # fmt: skip
    everything = set(product(results.values("learning_rate"), networks(results)))
    for panel, axis in enumerate(AXES):
        at = ("learning_rate", "width", "layers").index(axis)
        lines: dict[tuple, dict] = {}
        for rate, (width, layers) in sorted(everything):
            cell = (rate, width, layers)
            lines.setdefault(cell[:at] + cell[at + 1 :], {})[cell[at]] = cell
        longest = max(map(len, lines.values()))
        lines = {k: v for k, v in lines.items() if len(v) == longest}
        places = sorted(next(iter(lines.values())))
        shown = [place + (axis == "layers") for place in places]
        means = []
        for line, eps in product(lines.values(), all_eps(results)):
            samples = [
                log2_samples(results, eps, **dict(zip(AXES, line[place], strict=True))).mean()
                for place in places
            ]
            means.append(2.0 ** np.array(samples))
        figures.add_seeds(
            figure, shown, means, "one network and loss", color=5, panel=panel, mean=False
        )
        average = 2 ** np.log2(means).mean(axis=0)
        figures.add_curve(figure, shown, average, "average", panel=panel)
    return figure


NETWORKS = tuple({"width": w, "layers": L} for w in (8, 32, 128) for L in (2, 4, 6))
STAR = tuple(n for n in NETWORKS if n["width"] == 32 or n["layers"] == 2)

study = Study(
    name="modularity-scaling/learning-rate",
    title="Which learning rate, width and depth need the fewest samples",
    source=Source(DOCUMENT, "Figure 8"),
    question="With which learning rate does a monolithic network need the fewest samples?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(learning_rate=(0.001, 0.01)),
            settings={
                "method": "monolithic",
                "k": 2,
                "width": 8,
                "layers": 2,
                "steps": 20,
                "batch": 32,
                "test_samples": 100,
                "largest": 8.0,
                "start": 8.0,
                "evaluations": 2,
            },
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=tuple(
                {**network, "learning_rate": rate} for network in STAR for rate in RATES
            ),
            settings={
                "method": "monolithic",
                "k": 3,
                "eps": (0.4, 0.6),
                "steps": 2000,
                "batch": 256,
            },
            cost="3 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=tuple(
                {**network, "learning_rate": rate, "k": k}
                for network in NETWORKS
                for rate in RATES
                for k in range(2, 10)
            ),
            settings={
                "method": "monolithic",
                "eps": (0.5, 1.0, 1.5),
                "relative": False,
                "steps": 10_000,
                "test_samples": 10_000,
                "start": 12.0,
                "smallest": 0.0,
                "largest": 20.0,
                "tolerance": 0.3,
            },
            cost="needs accelerators",
        ),
    },
    claims=(
        Claim(
            "one-hundredth-is-best",
            "Averaged over networks and losses, networks need the fewest samples with a learning "
            "rate of 0.01.",
            "Figure 8",
            one_rate_is_best,
        ),
    ),
    figures=(
        Figure(
            "sweeps",
            "Samples by learning rate, width and depth",
            "Figure 8: one thin line per network or learning rate and loss; bold: the average.",
            draw_sweeps,
        ),
    ),
    notes="The paper shows the figure without numbers, and does not say for which dimension. Here "
    "k = m = 3, and losses are 0.4 and 0.6 of each target's variance: targets differ much in "
    "their variance. Trainings are 2,000 steps on batches of 256 rather than 10,000 on all "
    "samples, which favours larger learning rates; widths are swept with 3 layers and layers with "
    "width 32. Searches that never reach a loss count with 8192 samples, the most tried, which "
    "favours learning rates with such searches.",
)
