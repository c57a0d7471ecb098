"""Figures 3.1 and 3.2: do operations that one network performs have weights of their own?"""

from typing import Any

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Quantity,
    Results,
    Source,
    Study,
    all_of,
    figures,
    mean,
    per_seed,
    reference,
)

from . import DOCUMENT
from .arithmetic_trial import MASKS, OPERATIONS, Config, trial
from .number_training import needed

SIGNS = {"add": "+", "multiply": "×"}
NETWORKS = {"fnn": "FNN", "number-lstm": "LSTM"}

LAPTOP_BETA, LAPTOP_HIDDEN = 1e-3, (128, 128, 128)
PAPER_BETA, PAPER_HIDDEN = 1e-4, (2000, 2000, 2000, 2000)
MEDIUM = (800, 800, 800, 800)
LAPTOP_SIZES = ((64, 64, 64), LAPTOP_HIDDEN, (256, 256, 256))
PAPER_SIZES = ((400, 400, 200), MEDIUM, PAPER_HIDDEN, (4000, 4000, 4000, 4000))
LAPTOP_BETAS = (3e-4, LAPTOP_BETA, 3e-3, 1e-1)
PAPER_BETAS = (
    *(n * 1e-5 for n in (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)),
    *(n * 1e-4 for n in (1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)), 1e-3,
)  # fmt: skip
"""The prices of Figure B.4."""


def fnn(digits: int, hidden: tuple[int, ...], beta: float) -> dict[str, Any]:
    """A condition with an FNN."""
    return {"model": "fnn", "task.digits": digits, "model.hidden": hidden, "beta": beta}


def lstm(digits: int, beta: float) -> dict[str, Any]:
    """A condition with an LSTM."""
    return {"model": "number-lstm", "task.digits": digits, "beta": beta}


MAIN = {
    "laptop": {
        "fnn": fnn(1, LAPTOP_HIDDEN, LAPTOP_BETA), "number-lstm": lstm(1, LAPTOP_BETA),
        "two digits": fnn(2, (256, 256, 256), PAPER_BETA),
    },
    "paper": {
        "fnn": fnn(2, PAPER_HIDDEN, PAPER_BETA), "number-lstm": lstm(2, PAPER_BETA),
        "two digits": fnn(2, PAPER_HIDDEN, PAPER_BETA),
    },
}  # fmt: skip
"""The conditions of the figures, by preset; the others vary one setting of the first."""


def chosen(results: Results, which: str) -> dict[str, Any]:
    """The condition of a network in the figures."""
    if results.preset not in MAIN:
        raise Missing(f"preset {results.preset} has none of the conditions of the figures")
    return MAIN[results.preset][which]


def of(metric: str, which: str) -> Quantity:
    """A metric of a network in the figures."""

    def read(results: Results) -> np.ndarray:
        return results.where(**chosen(results, which)).metric(metric)

    return per_seed(read, f"{metric.replace('_', ' ')}, {NETWORKS.get(which, which)}")


def with_hidden(which: int) -> Quantity:
    """The sharing of the smallest (0) or the largest (−1) network."""

    def read(results: Results) -> np.ndarray:
        condition = chosen(results, "fnn")
        sizes = sorted(sizes_in(results))
        if len(sizes) < 2:
            raise Missing("networks of two sizes or more are needed")
        return results.where(**condition | {"model.hidden": sizes[which]}).metric("sharing")

    return per_seed(read, "sharing of the " + ("smallest", "largest")[which])


def sizes_in(results: Results) -> list[tuple[int, ...]]:
    """Hidden layers of all FNNs that differ from that of the figures in nothing else."""
    runs = results.where(**{k: v for k, v in chosen(results, "fnn").items() if k != "model.hidden"})
    return [tuple(size) for size in runs.values("model.hidden")]


def kept_at(factor: float) -> Quantity:
    """Which share of its accuracy the control mask leaves at another price."""

    def read(results: Results) -> np.ndarray:
        condition = chosen(results, "fnn")
        betas = beta_sweep(results).values("beta")
        beta = min(betas, key=lambda b: abs(np.log(b / (factor * condition["beta"]))))
        if abs(np.log(beta / (factor * condition["beta"]))) > 0.5:
            raise Missing(f"no price near {factor * condition['beta']:g}")
        return results.where(**condition | {"beta": beta}).metric("control_kept")

    return per_seed(read, f"accuracy left at {factor:g} times the price")


def kept_at_most(results: Results) -> np.ndarray:
    """The share of accuracy that the control mask leaves at the highest of several prices."""
    runs = beta_sweep(results)
    betas = runs.values("beta")
    if len(betas) < 2:
        raise Missing("two prices or more are needed")
    return runs.metric("control_kept", beta=max(betas))


def beta_sweep(results: Results) -> Results:
    """The FNN of the figures at all prices."""
    condition = chosen(results, "fnn")
    return results.where(**{k: v for k, v in condition.items() if k != "beta"})


def networks_in(results: Results) -> dict[str, Results]:
    """The networks of the figures that have been run, by title."""
    found = {}
    for which, title in NETWORKS.items():
        try:
            found[title] = results.where(**chosen(results, which))
        except Missing:
            continue
    if not found:
        raise Missing("no network of the figures has been run")
    return found


def draw_overlap(results: Results):
    """Figure 3.1."""
    networks = networks_in(results)
    figure = figures.panels(*networks, x="layer", y="shared weights", shared_y=True)
    for panel, runs in enumerate(networks.values()):
        for color, (name, title) in enumerate((("iou", "IoU"), ("io_min", "IoMin"))):
            layers, values = runs.curve(name)
            places = [f"{int(layer) + 1}" for layer in layers]
            figures.add_points(figure, places, list(values.T), title, color=color, panel=panel)
    return figure


def draw_confusion(results: Results):
    """Figure 3.2."""
    networks = networks_in(results)
    arrays, titles = [], []
    for title, runs in networks.items():
        for place, mask in enumerate(MASKS):
            arrays.append(runs.array("confusion")[:, place].mean(axis=0))
            titles.append(f"{title}, mask {SIGNS.get(mask, 'of both')}")
    return figures.heatmaps(
        arrays, titles, columns=3, x="performed", y="requested",
        across=[*SIGNS.values(), "none"], along=list(SIGNS.values()),
    )  # fmt: skip


def draw_weights(results: Results):
    """Figure B.6."""
    networks = networks_in(results)
    figure = figures.panels(*networks, x="layer", y="weights kept")
    for panel, runs in enumerate(networks.values()):
        for color, (name, sign) in enumerate(SIGNS.items()):
            layers, values = runs.curve(f"weights_{name}")
            places = [f"{int(layer) + 1}" for layer in layers]
            figures.add_points(figure, places, list(values.T), sign, color=color, panel=panel)
    return figure


def draw_table(results: Results):
    """Table B.1."""
    networks = {t: r for t, r in networks_in(results).items() if r.metric("valid").all()}
    if not networks:
        raise Missing("no control mask leaves enough of the accuracy")
    names = {"full": "of both", "add": "+", "inverted_add": "¬+", "multiply": "×",
             "inverted_multiply": "¬×"}  # fmt: skip
    figure = figures.panels(*networks, x="mask", y="accuracy", shared_y=True)
    for panel, runs in enumerate(networks.values()):
        for color, (operation, sign) in enumerate(SIGNS.items()):
            values = [runs.metric(f"{name}_{operation}") for name in names]
            figures.add_points(
                figure, list(names.values()), values, sign, color=color, panel=panel, line=False
            )
    return figure


def draw_betas(results: Results):
    """Figure B.4: the price of a weight, what it leaves, and how much is shared."""
    runs = beta_sweep(results)
    betas = runs.values("beta")
    titles = ("accuracy under the mask of both", "share of the weights of + that × uses")
    figure = figures.panels("", "", x="price β", y=titles, log_x=True)
    valid = [runs.metric("valid", beta=beta).all() for beta in betas]
    kept = [runs.metric("control", beta=beta) for beta in betas]
    shares = [
        runs.metric("sharing", beta=beta) if able else np.empty(0)
        for beta, able in zip(betas, valid, strict=True)
    ]
    for panel, values in enumerate((kept, shares)):
        figures.add_points(figure, betas, values, ("control mask", "sharing")[panel], panel=panel)
        figures.add_level(figure, chosen(results, "fnn")["beta"], "chosen", axis="x", panel=panel)
    return figure


def draw_sizes(results: Results):
    """Figure B.5."""
    sizes = sorted(sizes_in(results))
    values = []
    for size in sizes:
        runs = results.where(**chosen(results, "fnn") | {"model.hidden": size})
        values.append(runs.metric("sharing") if runs.metric("valid").all() else np.empty(0))
    figure = figures.panels("", x="hidden layers", y="share of the weights of + that × uses")
    names = [", ".join(map(str, size)) for size in sizes]
    figures.add_points(figure, names, values, "sharing")
    return figure


def beside(model: str, mask: str, operation: str) -> Beside:
    """A cell of Table B.1 beside ours."""
    words = {"full": "full task", "multiply": "mul", "inverted_multiply": "inverted mul",
             "inverted_add": "inverted add"}  # fmt: skip
    tested = {"multiply": "mul"}.get(operation, operation)
    setting = f"mask: {words.get(mask, mask)}; evaluated on: {tested}"
    paper = reference(
        "weight-modules", artifact="table-B.1", task="addition/multiplication",
        model=NETWORKS[model], setting=setting, metric="accuracy [%]",
    )  # fmt: skip
    name = f"{NETWORKS[model]}, {setting}"
    return Beside(name, paper.as_share(), of(f"{mask}_{operation}", model))


def small(condition: dict[str, Any]) -> dict[str, Any]:
    """Steps for one digit, and more of them for two."""
    if str(condition["task.digits"]) != "1":
        return {"steps": 15_000, "mask_steps": 4000, "mask_rate": 0.02}
    return {} if condition["model"].name == "fnn" else {"model.units": 64, "model.layers": 1}


def distinct(*conditions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Every condition once."""
    return tuple(c for place, c in enumerate(conditions) if c not in conditions[:place])


study = Study(
    name="weight-modules/arithmetic",
    title="Operations have weights of their own, and an FNN does what these weights can do",
    source=Source(DOCUMENT, "Figures 3.1, 3.2, B.4, B.5 and B.6, Table B.1"),
    question="Does a network that adds and multiplies use different weights for the two, and what "
    "does it do if only one of them is left?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(fnn(1, (4, 4), 1e-3),),
            settings={
                "batch_size": 8,
                "steps": 2,
                "every": 1,
                "evaluated": 20,
                "mask_steps": 4,
                "mask_rate": 1.0,
            },
            cost="3 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=distinct(
                *MAIN["laptop"].values(),
                *(fnn(1, size, LAPTOP_BETA) for size in LAPTOP_SIZES),
                *(fnn(1, LAPTOP_HIDDEN, beta) for beta in LAPTOP_BETAS),
            ),
            settings={"steps": 1500, "mask_steps": 1500, "mask_rate": 0.03, "evaluated": 4000},
            depends=small,
            cost="not measured as a whole",
        ),
        "paper": Preset(
            seeds=10,
            conditions=distinct(
                *MAIN["paper"].values(),
                *(fnn(2, size, PAPER_BETA) for size in PAPER_SIZES),
                *(fnn(2, size, beta) for size in (PAPER_HIDDEN, MEDIUM) for beta in PAPER_BETAS),
            ),
            cost="weeks on two cores",
        ),
    },
    claims=(
        Claim(
            "masks-are-enough",
            "Under the mask of an operation, networks perform it in more than {0:%} of cases.",
            "Table B.1",
            all_of(
                mean(of(f"{name}_{name}", which)) > 0.95
                for which in NETWORKS
                for name in OPERATIONS
            ),
        ),
        Claim(
            "masks-are-for-one-operation",
            "Under it, results of the other operation are right in fewer than {0:points} more "
            "cases than by chance.",
            "Table B.1",
            all_of(
                mean(of(f"above_chance_{name}", which)) < 0.05
                for which in NETWORKS
                for name in OPERATIONS
            ),
        ),
        Claim(
            "fnn-performs-what-it-can",
            "Under the mask of one operation the FNN performs it in more than {0:%} of requests "
            "for the other one.",
            "Figure 3.2",
            all_of(mean(of(f"instead_{name}", "fnn")) > 0.5 for name in OPERATIONS),
        ),
        Claim(
            "lstm-performs-neither",
            "The LSTM performs neither operation in more than {0:%} of these.",
            "Figure 3.2",
            all_of(mean(of(f"none_{name}", "number-lstm")) > 0.5 for name in OPERATIONS),
        ),
        Claim(
            "the-rest-is-not-enough",
            "Without the weights of an operation, networks perform it in fewer than {0:%} of "
            "cases.",
            "Table B.1",
            all_of(
                mean(of(f"inverted_{name}_{name}", which)) < 0.5
                for which in NETWORKS
                for name in OPERATIONS
            ),
        ),
        Claim(
            "outer-layers-share-more",
            "In the FNN and the LSTM, both operations share more in the layers of inputs and "
            "outputs than in those between.",
            "Figure 3.1",
            all_of(mean(of("outer_lead", which)) > 0 for which in NETWORKS),
        ),
        Claim(
            "products-need-more-weights",
            "With two digits, multiplication needs more than {0} times as many weights as addition "
            "in the FNN.",
            "Figure B.6",
            mean(of("weight_ratio", "two digits")) > 2,
        ),
        Claim(
            "larger-networks-share-less",
            "The largest FNN shares less than the smallest.",
            "Figure B.5",
            mean(with_hidden(0) - with_hidden(-1), "sharing, smallest minus largest") > 0,
        ),
        Claim(
            "there-is-a-plateau",
            "At a third of the price of a weight, and at three times that price, the mask of both "
            "operations leaves at least {0:%} of the FNN's accuracy.",
            "Figure B.4",
            all_of(mean(kept_at(1 / 3)) >= 0.95, mean(kept_at(3)) >= 0.95),
        ),
        Claim(
            "a-price-can-be-too-high",
            "At the highest price that is tried it leaves less than {0:%}.",
            "Figure B.4",
            mean(per_seed(kept_at_most, "accuracy left at the highest price")) < 0.95,
        ),
    ),
    figures=(
        Figure(
            "overlap",
            "Weights that both operations need",
            "Figure 3.1: layers from the inputs to the outputs; of an LSTM, input weights come "
            "before recurrent ones.",
            draw_overlap,
        ),
        Figure(
            "confusion",
            "Which operation is performed",
            "Figure 3.2: shares of requests, means over seeds.",
            draw_confusion,
        ),
        Figure("accuracy", "What is left under masks", "Table B.1: all seeds.", draw_table),
        Figure("weights", "Weights that are kept", "Figure B.6: all seeds.", draw_weights),
        Figure(
            "beta",
            "The price of a weight",
            "Figure B.4: accuracy under the mask of both operations, the lower of the two, and "
            "sharing where that mask leaves enough.",
            draw_betas,
        ),
        Figure("sizes", "Sharing against size", "Figure B.5: all seeds.", draw_sizes),
    ),
    beside=tuple(
        beside(model, mask, operation)
        for model in NETWORKS
        for mask in ("full", "add", "inverted_add", "multiply", "inverted_multiply")
        for operation in OPERATIONS
    ),
    notes="Preset laptop has numbers of one digit, so that chance is 10 % and not 1 %, but for one "
    "condition with two digits. Conclusions are recorded only of networks that perform both "
    "operations in at least 95 % of cases, and of those whose control mask leaves 95 % of that.",
)
