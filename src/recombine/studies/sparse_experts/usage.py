"""Figures 7.3, F.3 and F.4: are all experts used?"""

from typing import Any

import numpy as np

from recombine import probes
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    figures,
    grid,
    mean,
    paired,
    per_seed,
)

from . import DOCUMENT
from .language import on_smoke, rows_of
from .language_trial import Config, learn, report_usage, traces_of
from .rows import TITLES, from_condition

ROWS = ("sigma-moe", "softmax-after", "softmax-before", "switch-small", "s-base")
"""The networks of Figure 7.3."""
WEIGHTS = (0.0, 1e-2)
"""Weights of the balance of sigma-MoE besides its own, γ."""
TAIL = 4
"""Of how many of the least used experts the share is told."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn a text as in `language`, and look at the experts that its end uses."""
    learned = learn(config, key, recorder)
    traces = traces_of(config, learned.model, learned.tokens)
    report_usage(config, traces, recorder)
    experts = config.feed_forward.experts  # type: ignore[attr-defined]
    chosen = traces["chosen"]
    pairs = np.stack([probes.co_occurrence(layer, experts) for layer in chosen])
    recorder.array("pairs", pairs)
    if chosen.shape[2] > 1:
        recorder.metric("partners", probes.relative_perplexity(pairs).mean() * experts)
    recorder.metric(
        "specialisation",
        np.mean([probes.specialisation(layer, traces["tokens"], experts) for layer in chosen]),
    )
    overlap = probes.overlap_of_choices(chosen[:-1], chosen[1:])
    recorder.metric("overlap_of_layers", np.mean(overlap))
    router = learned.model.stack.block.feed_forward.router.weight
    recorder.metric(
        "cosine_of_experts", np.mean([probes.mean_pairwise_cosine(layer.T) for layer in router])
    )
    ordered = np.sort(recorder.arrays["usage"], axis=1)
    recorder.metric("tail", ordered[:, :TAIL].sum(axis=1).mean() * experts / TAIL)


def own(results: Results) -> Results:
    """The trials whose balance is that of their row."""
    return results.where(balance=1e-3)


def draw_usage(results: Results):
    layers = len(results.array("usage", row="sigma-moe")[0])
    titles = [f"layer {layer + 1}" for layer in range(layers)]
    figure = figures.panels(*titles, x="rank of expert", y="share of weights", log_y=True)
    for color, row in enumerate(rows_of(results, ROWS)):
        runs = results.where(row=row)
        balance = max(runs.values("balance"), key=lambda b: len(runs.where(balance=b).records))
        balance = 1e-3 if 1e-3 in runs.values("balance") else balance
        usage = np.sort(runs.array("usage", balance=balance), axis=2)[:, :, ::-1]
        for layer in range(layers):
            places = np.arange(1, usage.shape[2] + 1)
            shares = np.maximum(usage[:, layer], 1e-6)
            figures.add_seeds(figure, places, shares, TITLES[row], color=color, panel=layer)
    return figure


def draw_pairs(results: Results):
    runs = results.where(row="sigma-moe", balance=1e-3)
    first = runs.array("pairs")[0]
    return figures.heatmaps(
        list(first), [f"layer {layer + 1}" for layer in range(len(first))], x="expert", y="expert"
    )


def draw_balance(results: Results):
    figure = figures.panels("", x="weight of the balance", y="evenness of use")
    runs = results.where(row="sigma-moe")
    weights = runs.values("balance")
    values = [runs.metric("evenness", balance=weight) for weight in weights]
    figures.add_points(figure, [f"{weight:g}" for weight in weights], values, "sigma-MoE")
    return figure


def conditions(rows: tuple[str, ...], weights: tuple[float, ...]) -> tuple[dict[str, Any], ...]:
    """All rows, and sigma-MoE with other weights of its balance."""
    return grid(row=rows) + grid(row=("sigma-moe",), balance=weights)


OWN: dict[str, Any] = {"row": "sigma-moe", "balance": 1e-3}

study = Study(
    name="sparse-experts/usage",
    title="Which experts are used, how often, and together with which",
    source=Source(DOCUMENT, "Figures 7.3, F.3 and F.4"),
    question="Are all experts of a trained mixture used, and by which selection functions most "
    "evenly?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=conditions(("sigma-moe", "switch-small"), (0.0,)),
            depends=on_smoke,
            cost="20 s on two cores",
        ),
        "laptop": Preset(
            seeds=3, conditions=conditions(ROWS, WEIGHTS), depends=from_condition, cost="COST"
        ),
        "paper": Preset(
            seeds=1,
            conditions=grid(column=("E8", "WT-S", "WT-S*", "WT-B"), row=ROWS),
            depends=from_condition,
            cost="days on an accelerator per network",
        ),
    },
    claims=(
        Claim(
            "switch-is-less-even",
            "sigma-MoE uses its experts more evenly than Switch does.",
            "Figure 7.3",
            mean("evenness", "sigma-MoE's evenness", **OWN) >= mean("evenness", row="switch-small"),
        ),
        Claim(
            "renormalised-softmax-is-less-even",
            "sigma-MoE uses its experts more evenly than with softmax after top-k.",
            "Figure 7.3",
            mean("evenness", "sigma-MoE's evenness", **OWN)
            >= mean("evenness", row="softmax-after"),
        ),
        Claim(
            "s-base-has-the-fuller-tail",
            "The least used experts of S-BASE have a larger share than those of sigma-MoE.",
            "Figure 7.3",
            mean("tail", row="s-base") > mean("tail", "sigma-MoE's tail", **OWN),
        ),
        Claim(
            "no-expert-is-dead",
            "In sigma-MoE at most {0:%} of experts have less than a hundredth of their share.",
            "Figure 7.3",
            mean("dead", **OWN) <= 0.01,
        ),
        Claim(
            "experts-have-many-partners",
            "An expert of sigma-MoE is chosen together with many others: as evenly as with at "
            "least {0} of 15.",
            "Figure F.3",
            mean("partners", **OWN) >= 7.5,
        ),
        Claim(
            "balance-evens-out",
            "With a balance of weight 0.01 the experts of sigma-MoE are used more evenly than "
            "without.",
            "Section 7.4",
            paired("evenness", {"balance": 1e-2}, {"balance": 0.0}, row="sigma-moe") > 0,
            context={"without": per_seed("evenness", row="sigma-moe", balance=0.0)},
        ),
    ),
    figures=(
        Figure(
            "usage",
            "Experts in the order of their use",
            "Figures 7.3 and F.4: the share of selection weights on validation text, the most used "
            "expert first; all seeds and their mean.",
            draw_usage,
        ),
        Figure(
            "pairs",
            "Experts that are chosen together",
            "Figure F.3: of the tokens that choose an expert, the share that also choose another "
            "one; the first seed of sigma-MoE.",
            draw_pairs,
        ),
        Figure(
            "balance",
            "Evenness and the weight of the balance",
            "exp(H) / N of the shares of N experts, mean over layers.",
            draw_balance,
        ),
    ),
    notes="Networks are trained as in language. Uniform use is no aim in itself: in the paper "
    "sigma-MoE is less uniform than S-BASE at the tail, and better.",
)
