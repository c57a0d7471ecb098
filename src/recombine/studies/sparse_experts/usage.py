"""Figures 7.3, F.3 and F.4: are all experts used?"""

from typing import Any

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
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
from .language import everywhere, on_smoke, rows_of
from .language_trial import Config, trial
from .rows import COLUMNS, TITLES, from_condition, of_row

ROWS = ("sigma-moe", "softmax-after", "softmax-before", "switch-small", "s-base")
"""The networks of Figure 7.3."""
WEIGHTS = (0.0, 1e-2)
"""Weights of the balance of sigma-MoE besides its own, γ."""
LEAST = 1e-6
"""The smallest share that is drawn."""


def own(row: str, column: str) -> dict[str, Any]:
    """The settings of a row, with its own weight of the balance."""
    sizes = COLUMNS.get(column, COLUMNS["laptop"])
    return {"row": row, "column": column, "balance": of_row(row, sizes)["balance"]}


def first_column(results: Results) -> str:
    """The column of which figures are drawn."""
    return results.values("column")[0]


def draw_usage(results: Results):
    column = first_column(results)
    rows = rows_of(results.where(column=column), ROWS)
    usage = {row: np.sort(results.array("usage", **own(row, column)), axis=2) for row in rows}
    layers = usage[rows[0]].shape[1]
    titles = [f"layer {layer + 1}" for layer in range(layers)]
    figure = figures.panels(*titles, x="rank of expert", y="share of weights", log_y=True)
    for color, row in enumerate(rows):
        shares = np.maximum(usage[row][:, :, ::-1], LEAST)
        places = np.arange(1, shares.shape[2] + 1)
        for layer in range(layers):
            figures.add_seeds(
                figure, places, shares[:, layer], TITLES[row], color=color, panel=layer
            )
    return figure


def draw_pairs(results: Results):
    first = results.array("pairs", **own("sigma-moe", first_column(results)))[0]
    return figures.heatmaps(
        list(first), [f"layer {layer + 1}" for layer in range(len(first))], x="expert", y="expert"
    )


def draw_balance(results: Results):
    figure = figures.panels("", x="weight of the balance", y="evenness of use")
    runs = results.where(row="sigma-moe", column=first_column(results))
    weights = runs.values("balance")
    values = [runs.metric("evenness", balance=weight) for weight in weights]
    figures.add_points(figure, [f"{weight:g}" for weight in weights], values, "sigma-MoE")
    return figure


def conditions(rows: tuple[str, ...], weights: tuple[float, ...]) -> tuple[dict[str, Any], ...]:
    """All rows, and sigma-MoE with other weights of its balance."""
    return grid(row=rows) + grid(row=("sigma-moe",), balance=weights)


def of(metric: str, row: str, column: str):
    """A metric of a row in a column."""
    return mean(metric, f"{metric} of {TITLES[row]}", **own(row, column))


def more_even_than(row: str):
    """sigma-MoE uses its experts at least as evenly as another row."""
    return everywhere(lambda c: of("evenness", "sigma-moe", c) >= of("evenness", row, c))


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
            seeds=3,
            conditions=conditions(ROWS, WEIGHTS),
            depends=from_condition,
            cost="about 12 min on two cores, 6 after language; from 70 s of one core per network",
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
            everywhere(
                lambda c: of("evenness", "sigma-moe", c) >= of("evenness", "switch-small", c)
            ),
        ),
        Claim(
            "renormalised-softmax-is-less-even",
            "sigma-MoE uses its experts more evenly than with softmax after top-k.",
            "Figure 7.3",
            more_even_than("softmax-after"),
        ),
        Claim(
            "s-base-has-the-fuller-tail",
            "The least used experts of S-BASE have a larger share than those of sigma-MoE.",
            "Figure 7.3",
            everywhere(lambda c: of("tail", "s-base", c) > of("tail", "sigma-moe", c)),
        ),
        Claim(
            "no-expert-is-dead",
            "In sigma-MoE at most {0:%} of experts have less than a hundredth of their share.",
            "Figure 7.3",
            everywhere(lambda c: of("dead", "sigma-moe", c) <= 0.01),
        ),
        Claim(
            "experts-have-many-partners",
            "An expert of sigma-MoE is chosen together with many others: as evenly as with at "
            "least {0} of 15.",
            "Figure F.3",
            everywhere(lambda c: of("partners", "sigma-moe", c) >= 7.5),
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
    notes="Networks are those of language: what both ask for is trained once. Uniform use is no "
    "aim in itself: in the paper sigma-MoE is less uniform than S-BASE at the tail, and better.",
)
