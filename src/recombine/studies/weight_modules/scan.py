"""Figure 3.5: are the solutions of a network that knows all of SCAN made of rules?"""

from typing import Any

from recombine.lab import (
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
    for_all,
    mean,
    per_seed,
)

from . import DOCUMENT
from .scan_training import MaskConfig, needed
from .scan_trial import trial

LSTM = "lstm-encoder-decoder"
NETWORKS = {LSTM: "LSTM", "transformer": "Transformer"}
HELD_OUT = {"turn_left": "turn left", "jump": "jump", "length": "length"}
"""Splits whose test asks for something new."""
TOKENS = ("I_TURN_LEFT", "I_TURN_RIGHT", "I_JUMP", "I_WALK", "I_RUN", "I_LOOK", "END")
"""In the order of Figure 3.5b."""


def conditions(networks: tuple[str, ...], direct: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """All networks on all of SCAN, and some of them on every split."""
    whole = tuple({"model": model, "trained_on": "simple"} for model in networks)
    return whole + tuple(
        {"model": model, "trained_on": split} for model in direct for split in HELD_OUT
    )


def networks_in(results: Results) -> list[str]:
    """The networks whose masks can be concluded from, in the order of the thesis."""
    runs = results.where(trained_on="simple")
    found = runs.values("model")
    order = [m for m in NETWORKS if m in found] + [m for m in found if m not in NETWORKS]
    return [m for m in order if runs.metric("valid", model=m).all()]


def of_masks(metric: str, model: str) -> Quantity:
    """A metric of the masks of a network that was trained on all of SCAN."""
    return per_seed(metric, model=model, trained_on="simple")


def direct(split: str, model: str) -> Quantity:
    """Accuracy of a network that was trained on a split."""
    return per_seed("trained_accuracy", model=model, trained_on=split)


def draw_splits(results: Results):
    """Figure 3.5a."""
    networks = networks_in(results)
    if not networks:
        raise Missing("no control mask leaves enough of the accuracy")
    titles = [NETWORKS.get(model, model) for model in networks]
    figure = figures.panels(*titles, x="split", y="exact outputs", shared_y=True)
    names = {"unmasked": "no mask", "control": "control mask", "split": "mask of the split"}
    for panel, model in enumerate(networks):
        for color, (kind, title) in enumerate(names.items()):
            values = [of_masks(f"{kind}_{split}", model)(results) for split in HELD_OUT]
            figures.add_points(
                figure, list(HELD_OUT.values()), values, title, color=color, panel=panel, line=False
            )
    return figure


def draw_removed(results: Results):
    """Figure 3.5b."""
    figure = figures.panels("", x="", y="weights of the output removed")
    values = [of_masks(f"removed_{token}", LSTM)(results) for token in TOKENS]
    figures.add_points(figure, TOKENS, values, "LSTM", line=False)
    return figure


def draw_direct(results: Results):
    """Figure B.8."""
    found = []
    for model in networks_in(results):
        try:
            found.append((model, [direct(split, model)(results) for split in HELD_OUT]))
        except Missing:
            continue
    if not found:
        raise Missing("no network was trained on every split")
    titles = [NETWORKS.get(model, model) for model, _ in found]
    figure = figures.panels(*titles, x="split", y="exact outputs", shared_y=True)
    for panel, (model, values) in enumerate(found):
        masked = [of_masks(f"split_{split}", model)(results) for split in HELD_OUT]
        for color, (title, ys) in enumerate(
            (("trained on the split", values), ("mask of the split", masked))
        ):
            figures.add_points(
                figure, list(HELD_OUT.values()), ys, title, color=color, panel=panel, line=False
            )
    return figure


SMALL: dict[str, Any] = {
    "without": ("around", "opposite"), "longest": 8, "batch_size": 64, "steps": 4000, "every": 500,
    "evaluated": 400, "mask_steps": 2000, "mask_rate": 0.03, "mask_forced": 1.0, "forced": 1.0,
}  # fmt: skip
"""3,570 commands of up to 12 actions."""


def small(condition: dict[str, Any]) -> dict[str, Any]:
    """Networks of preset laptop."""
    if condition["model"].name == LSTM:
        return {"model.units": 64, "model.layers": 1, "model.dropout": 0.1, "beta": 3e-4,
                "learning_rate": 3e-3}  # fmt: skip
    return {"model.width": 64, "model.hidden": 128, "model.layers": 2, "model.heads": 4,
            "beta": 1e-3}  # fmt: skip


def published(condition: dict[str, Any]) -> dict[str, Any]:
    """Section B.3.7; what it says of the transformer."""
    if condition["model"].name == LSTM:
        return {}
    return {"model.width": 100, "model.hidden": 200, "model.heads": 4, "model.layers": 3,
            "forced": 1.0, "mask_forced": 1.0, "beta": 1e-3}  # fmt: skip


study = Study(
    name="weight-modules/scan",
    title="What is learned of SCAN are patterns of commands, not rules",
    source=Source(DOCUMENT, "Figures 3.5 and B.8, Section 3.3"),
    question="Do weights that are enough for the training commands of a split do for its test "
    "commands, in a network that has learned both?",
    config=MaskConfig,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=conditions((LSTM,), ()),
            settings=SMALL
            | {
                "model.units": 4,
                "model.layers": 1,
                "model.embedding": 2,
                "batch_size": 4,
                "steps": 2,
                "every": 1,
                "evaluated": 8,
                "mask_steps": 4,
                "mask_rate": 1.0,
            },
            cost="5 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=conditions(tuple(NETWORKS), (LSTM,)),
            settings=SMALL,
            depends=small,
            cost="not measured as a whole",
        ),
        "paper": Preset(
            seeds=10,
            conditions=conditions(tuple(NETWORKS), tuple(NETWORKS)),
            depends=published,
            cost="weeks on two cores",
        ),
    },
    claims=(
        Claim(
            "control-masks-keep-it",
            "Under the control mask, which was learned on the training commands of the random "
            "split, networks keep at least {0:%} of their accuracy on the test of every split.",
            "Figure 3.5a",
            for_all(
                "model",
                lambda model: all_of(
                    mean(of_masks(f"kept_{split}", model)) >= 0.95 for split in HELD_OUT
                ),
                trained_on="simple",
            ),
        ),
        Claim(
            "jump-is-lost",
            "Under the mask of the split `jump` the LSTM is right on at least {0:points} fewer of "
            "its test commands.",
            "Figure 3.5a",
            mean(of_masks("drop_jump", LSTM)) >= 0.3,
        ),
        Claim(
            "jump-is-lost-by-transformers",
            "So is the transformer.",
            "Figure 3.5a",
            mean(of_masks("drop_jump", "transformer")) >= 0.3,
        ),
        Claim(
            "length-is-lost",
            "Under the mask of the split by length, both are right on at least {0:points} fewer of "
            "the longer commands.",
            "Figure 3.5a",
            all_of(mean(of_masks("drop_length", model)) >= 0.3 for model in NETWORKS),
        ),
        Claim(
            "jump-loses-most-weights",
            "Of the output layer of the LSTM, the mask of `jump` removes a larger share of the "
            "weights of I_JUMP than of any other symbol.",
            "Figure 3.5b",
            mean(of_masks("removed_lead", LSTM)) > 0,
            context={token: of_masks(f"removed_{token}", LSTM) for token in TOKENS},
        ),
        Claim(
            "no-worse-than-direct-training",
            "With the mask of a split, the LSTM that knows all of SCAN is at most {0:points} worse "
            "on the split's test than one that was trained on the split alone.",
            "Figure B.8",
            all_of(
                mean(
                    direct(split, LSTM) - of_masks(f"split_{split}", LSTM),
                    f"trained on the split minus its mask, {words}",
                )
                <= 0.05
                for split, words in HELD_OUT.items()
            ),
        ),
    ),
    figures=(
        Figure(
            "splits",
            "Accuracy under masks",
            "Figure 3.5a: tests of three splits, all seeds, their mean and its 95 % interval.",
            draw_splits,
        ),
        Figure(
            "removed",
            "Weights that the mask of `jump` removes",
            "Figure 3.5b: of the weights of each output that the control mask keeps, the share "
            "that is removed.",
            draw_removed,
        ),
        Figure(
            "direct",
            "Masks beside training on the split",
            "Figure B.8: all seeds, their mean and its 95 % interval.",
            draw_direct,
        ),
    ),
    notes="Preset laptop has commands without `around` and `opposite`; the split by length is "
    "trained on up to 8 actions and tested on 9 to 12. Its networks learn from true symbols only. "
    "The output layer of the transformer here is its embedding of symbols, which is not masked. "
    "Conclusions are recorded only of networks that are right on at least 95 % of the random "
    "split's test, and of those whose control mask leaves 95 % of that.",
)
