"""Table 3.1 and Figure 3.3: is the same operation done twice by the same weights?"""

from typing import Any

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    figures,
    mean,
    paired,
    per_seed,
    reference,
)

from . import DOCUMENT
from .double_addition_trial import PAIRS, Config, trial
from .number_training import needed

NETWORKS = {"fnn": "FNN", "number-lstm": "LSTM", "forced-lstm": "LSTM (forced)"}
"""The networks of Table 3.1, and what it calls them."""
LSTMS = ("number-lstm", "forced-lstm")
KINDS = {
    "own": "mask of a pair, that pair",
    "other": "mask of a pair, the other one",
    "inverted_own": "inverted, that pair",
    "inverted_other": "inverted, the other one",
    "hidden_own": "hidden layers inverted, that pair",
    "hidden_other": "hidden layers inverted, the other one",
    "alone_own": "hidden layers inverted, no other mask, that pair",
    "alone_other": "hidden layers inverted, no other mask, the other one",
}
"""Masks and the pairs on which networks under them are tested."""
CONDITIONS: tuple[dict[str, Any], ...] = (
    {"model": "fnn", "copied": False},
    {"model": "fnn", "copied": True},
    {"model": "number-lstm", "copied": False},
    {"model": "forced-lstm", "copied": False},
)
PLAIN: dict[str, Any] = {"model": "fnn", "copied": False}
COPIED: dict[str, Any] = {"model": "fnn", "copied": True}


def both(kind: str, compare, **where: Any) -> Statement:
    """A statement on the masks of both pairs."""
    return all_of(compare(mean(f"{kind}_{pair}", **where)) for pair in PAIRS)


def networks_in(results: Results) -> dict[str, dict[str, Any]]:
    """The networks that have been run, by title."""
    found = {}
    for condition in CONDITIONS:
        try:
            results.where(**condition)
        except Missing:
            continue
        title = NETWORKS[condition["model"]] + (", copied weights" if condition["copied"] else "")
        found[title] = condition
    return found


def draw_table(results: Results):
    """Accuracy under every mask, of networks whose control mask is good enough."""
    networks = networks_in(results)
    figure = figures.panels(*networks, x="", y="accuracy", columns=1, shared_y=True)
    for panel, condition in enumerate(networks.values()):
        valid = results.where(**condition).metric("valid") > 0
        for color, pair in enumerate(PAIRS):
            if not valid.all():
                continue
            values = [results.metric(f"{kind}_{pair}", **condition) for kind in KINDS]
            name = pair.replace("_", " ")
            figures.add_points(
                figure, list(KINDS.values()), values, name, color=color, panel=panel, line=False
            )
    return figure


def draw_overlap(results: Results):
    """Intersection over union, and over the smaller mask, layer by layer (Figure 3.3)."""
    networks = networks_in(results)
    figure = figures.panels(*networks, x="layer", y="shared weights", columns=2, shared_y=True)
    for panel, condition in enumerate(networks.values()):
        for color, (name, title) in enumerate((("iou", "IoU"), ("io_min", "IoMin"))):
            layers, values = results.curve(name, **condition)
            places = [f"{int(layer) + 1}" for layer in layers]
            figures.add_points(figure, places, list(values.T), title, color=color, panel=panel)
    return figure


def beside(artifact: str, kind: str, model: str, pair: int) -> Beside:
    """A cell of Table 3.1 or B.2 beside ours."""
    inverted = "inverted " if kind.startswith(("inverted", "hidden")) else ""
    more = " (hidden layers only; full-task mask on input/output)" if "hidden" in kind else ""
    tested = pair if kind.endswith("own") else 3 - pair
    setting = f"mask: {inverted}pair {pair}{more}; evaluated on: pair {tested}"
    paper = reference(
        "weight-modules", artifact=artifact, task="double addition", model=NETWORKS[model],
        setting=setting, metric="accuracy [%]",
    )  # fmt: skip

    def ours(results: Results) -> np.ndarray:
        return results.where(model=model, copied=False).metric(f"{kind}_pair_{pair}")

    return Beside(f"{NETWORKS[model]}, {setting}", paper.as_share(), ours)


def small(condition: dict[str, Any]) -> dict[str, Any]:
    """One digit, and networks to match."""
    lstm = {"model.units": 128, "model.layers": 1, "beta": 1e-3}
    return {"model.hidden": (128, 128, 128)} if condition["model"].name == "fnn" else lstm


def published(condition: dict[str, Any]) -> dict[str, Any]:
    """The price of a weight, which is another one for LSTMs."""
    return {} if condition["model"].name == "fnn" else {"beta": 1e-4}


study = Study(
    name="weight-modules/double-addition",
    title="Networks do not use the same weights for the same operation",
    source=Source(DOCUMENT, "Table 3.1, Figure 3.3, Tables B.2, Figure B.2"),
    question="Does a network that adds two pairs of numbers use the same weights for both?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(PLAIN,),
            settings={
                "task.digits": 1,
                "model.hidden": (4, 4),
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
            conditions=CONDITIONS,
            settings={
                "task.digits": 1,
                "steps": 1500,
                "mask_steps": 1500,
                "mask_rate": 0.03,
                "beta": 4e-3,
                "evaluated": 4000,
            },
            depends=small,
            cost="not measured as a whole",
        ),
        "paper": Preset(
            seeds=10, conditions=CONDITIONS, depends=published, cost="days on two cores"
        ),
    },
    claims=(
        Claim(
            "a-mask-is-enough",
            "Under the mask of a pair the FNN adds that pair in more than {0:%} of cases.",
            "Table 3.1",
            both("own", lambda m: m > 0.95, **PLAIN),
        ),
        Claim(
            "a-mask-is-for-one-pair",
            "It adds the other pair in at most {0:points} more cases than by chance.",
            "Table 3.1",
            both("above_chance", lambda m: m < 0.05, **PLAIN),
        ),
        Claim(
            "the-rest-adds-the-other-pair",
            "Without the weights of a pair, it adds the other pair in more than {0:%} of cases.",
            "Table 3.1",
            both("inverted_other", lambda m: m > 0.85, **PLAIN),
        ),
        Claim(
            "the-rest-does-not-add-the-pair",
            "Without them, it adds that pair in fewer than {0:%} of cases.",
            "Table 3.1",
            both("inverted_own", lambda m: m < 0.4, **PLAIN),
        ),
        *(
            Claim(
                f"{name}-has-the-pattern",
                f"The four statements hold of the {title}, too: more than {{0:%}} and {{2:%}}, "
                "less than {1:points} above chance, and fewer than {3:%} of cases.",
                "Table 3.1",
                all_of(
                    both("own", lambda m: m > 0.95, model=name, copied=False),
                    both("above_chance", lambda m: m < 0.05, model=name, copied=False),
                    both("inverted_other", lambda m: m > 0.85, model=name, copied=False),
                    both("inverted_own", lambda m: m < 0.4, model=name, copied=False),
                ),
            )
            for name, title in (
                ("number-lstm", "LSTM"),
                ("forced-lstm", "LSTM that sees one pair after the other"),
            )
        ),
        Claim(
            "hidden-layers-share-little",
            "The masks of both pairs share less than {0:%} of the weights of hidden layers that "
            "either needs, in the FNN.",
            "Figure 3.3",
            mean("hidden_iou", **PLAIN) < 0.5,
        ),
        Claim(
            "copied-weights-are-shared",
            "Where weights of one pair are copied to the other, masks share more than {0:%} of "
            "them: the method sees it where modules are the same.",
            "Figure B.2",
            mean("hidden_iou", **COPIED) > 0.8,
        ),
        Claim(
            "copying-makes-the-difference",
            "That is at least {0:points} more than without copying.",
            "Figure B.2",
            paired("hidden_iou", COPIED, PLAIN) > 0.4,
        ),
        Claim(
            "hidden-layers-decide",
            "Where hidden layers alone are inverted, and the others have the mask of the whole "
            "task, a pair suffers more than the other one, by at least {0:points}, in the FNN.",
            "Table B.2",
            all_of(
                mean(
                    per_seed(f"hidden_other_{pair}") - per_seed(f"hidden_own_{pair}"),
                    f"other pair minus own, {pair}",
                    **PLAIN,
                )
                > 0.1
                for pair in PAIRS
            ),
        ),
        Claim(
            "redundant-subnetworks",
            "Where hidden layers alone are inverted and the others have no mask, both pairs are "
            "added in more than {0:%} of cases, in the FNN.",
            "Section B.3.5",
            all_of(
                both(f"alone_{which}", lambda m: m > 0.8, **PLAIN) for which in ("own", "other")
            ),
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "What is left under masks",
            "Tables 3.1 and B.2: all seeds, their mean and its 95 % interval.",
            draw_table,
        ),
        Figure(
            "overlap",
            "Weights that both masks keep",
            "Figures 3.3 and B.2: layers from the inputs to the outputs. The first and the last "
            "have units of their own for each pair; of an LSTM, input weights come before "
            "recurrent ones.",
            draw_overlap,
        ),
    ),
    beside=tuple(
        beside(artifact, kind, model, pair)
        for artifact, kinds in (
            ("table-3.1", ("own", "other", "inverted_own", "inverted_other")),
            ("table-B.2", ("hidden_own", "hidden_other")),
        )
        for model in NETWORKS
        for kind in kinds
        for pair in (1, 2)
    ),
    notes="Preset laptop has numbers of one digit, so that chance is 10 % and not 1 %. Conclusions "
    "are recorded only of networks that add both pairs in at least 95 % of cases, and of those "
    "whose control mask leaves 95 % of that.",
)
