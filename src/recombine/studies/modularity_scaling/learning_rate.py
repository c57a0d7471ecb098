"""Figure 8: the samples that monolithic networks need, by learning rate, width and depth."""

from itertools import product

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    mean,
    per_seed,
)

from . import DOCUMENT
from .search_trial import Config, log2_samples, trial

RATES = (0.001, 0.01, 0.1)
AXES = {"learning_rate": "learning rate", "width": "width", "layers": "linear layers"}


def networks(results: Results) -> list[tuple[int, int]]:
    """Width and layers of all networks."""
    return sorted({(r.config["width"], r.config["layers"]) for r in results.records})


def all_eps(results: Results) -> tuple[float, ...]:
    return results.values("eps")[0]


def samples_needed(results: Results) -> np.ndarray:
    """log2 of the samples needed, averaged over networks and losses, one value per seed."""
    return np.mean(
        [
            log2_samples(results, eps, width=width, layers=layers)
            for (width, layers), eps in product(networks(results), all_eps(results))
        ],
        axis=0,
    )


def never_reached(results: Results) -> np.ndarray:
    """Whether a search never reached its loss and counts with the most samples: `[searches]`."""
    return np.concatenate([results.metric(f"never_{eps:g}") for eps in all_eps(results)])


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
            all_of(
                mean(samples_needed, learning_rate=0.01) < mean(samples_needed, learning_rate=other)
                for other in (0.001, 0.1)
            ),
            context={
                f"share of searches with a rate of {rate:g} that never reach their loss": per_seed(
                    never_reached, learning_rate=rate
                )
                for rate in RATES
            },
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
