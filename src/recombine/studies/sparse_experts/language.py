"""Tables 7.1 to 7.4, F.1 and F.4: which sparse networks predict as well as a dense one?"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Reference,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    difference,
    figures,
    for_all,
    grid,
    mean,
    paired,
    per_seed,
    reference,
)

from . import DOCUMENT
from .language_trial import Config, trial
from .rows import COLUMNS, MAKERS, ROUTED, TITLES, from_condition

ROWS = (
    "dense", "top-k", "pkm-relu", "pkm-softmax", "sigma-moe", "softmax-before", "softmax-after",
    "standard-init", "no-regularisation", "largest-experts", "switch", "switch-released", "s-base",
    "s-base-released", "noisy",
)  # fmt: skip
"""Rows of preset laptop."""
NOT_IN_PAPER = ("base",)
"""The exact assignment is solved on the host: too slow for the paper's batches."""
SMOKE: dict[str, Any] = {
    "model.width": 8, "model.hidden": 12, "model.heads": 2, "model.layers": 2, "steps": 4,
    "every": 2, "warmup_steps": 1, "streams": 4, "context": 8, "test_streams": 4,
    "evaluated": 256, "looked_at": 256, "data": "generated",
}  # fmt: skip
"""Settings of preset smoke."""
ALIKE = 0.01
"""Bits by which the thesis' numbers are rounded, and so differ by chance at least."""


PARTS: dict[str, dict[str, int]] = {
    "top-k": {"feed_forward.largest": 4},
    "pkm-relu": {"feed_forward.keys": 4},
    "pkm-softmax": {"feed_forward.keys": 4},
}


def on_smoke(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset smoke: the row, of the smallest size."""
    row = condition["row"]
    few = PARTS.get(row, {"feed_forward.size": 3} if row in ROUTED else {})
    return from_condition(condition) | SMOKE | few


def in_bits(row: str, other: str) -> Reference:
    """The thesis' difference of two rows on Enwik8, in bits per character."""
    return difference(*(enwik8(name) for name in (row, other)))


def enwik8(row: str) -> Reference:
    """The thesis' number of a row on Enwik8. Raises `LookupError` if it prints none."""
    artifact, model, setting = PRINTED[row]
    return reference(
        "sparse-experts", artifact=artifact, task="Enwik8", model=model, setting=setting,
        metric="bits per character (test)",
    )  # fmt: skip


PRINTED: dict[str, tuple[str, str, str]] = {
    "dense": ("table-7.2", "Dense", "E8, 41M, ReLU, parameter-matched"),
    "top-k": ("table-7.1", "Top-K Transformer-XL", "41M params, d_ff=2053, K=128"),
    "top-k-twice": ("table-7.1", "Top-K Transformer-XL", "41M params, d_ff=2053, K=256"),
    "top-k-four-times": ("table-7.1", "Top-K Transformer-XL", "41M params, d_ff=2053, K=512"),
    "pkm-relu": ("table-7.2", "PKM", "E8, 41M, ReLU, parameter-matched"),
    "pkm-softmax": ("table-7.2", "PKM", "E8, 41M, Softmax, parameter-matched"),
    "pkm-relu-init": ("table-F.1", "PKM + init", "E8; total-parameter matched; ReLU"),
    "pkm-relu-by-value": ("table-F.1", "PKM", "E8; value-count matched; ReLU"),
    "pkm-softmax-by-value": ("table-F.1", "PKM", "E8; value-count matched; Softmax"),
    "sigma-moe": ("table-F.4", "sigma-MoE", "E8; (ours); G=128 K=4"),
    "standard-dropout": ("table-F.4", "sigma-MoE", "E8; standard dropout; G=128 K=4"),
    "softmax-after": ("table-F.4", "sigma-MoE", "E8; softmax (after top-k); G=128 K=4"),
    "softmax-before": ("table-F.4", "sigma-MoE", "E8; softmax (before top-k); G=128 K=4"),
    "standard-init": ("table-F.4", "sigma-MoE", "E8; standard init; G=128 K=4"),
    "no-regularisation": (
        "table-F.4", "sigma-MoE", "E8; no reg (gamma=0, delta=0); G=128 K=4"
    ),
    "smaller-experts": ("table-F.4", "sigma-MoE", "E8; K=8, G=64; G=64 K=8"),
    "larger-experts": ("table-F.4", "sigma-MoE", "E8; K=2, G=256; G=256 K=2"),
    "largest-experts": ("table-F.4", "sigma-MoE", "E8; K=1, G=512; G=512 K=1"),
    "twice-as-many": ("table-F.4", "sigma-MoE", "E8; N_E'=2N_E, G=64; G=64 K=4"),
    "one-chosen": ("table-F.4", "sigma-MoE", "E8; K=1; G=128 K=1"),
    "two-chosen": ("table-F.4", "sigma-MoE", "E8; K=2; G=128 K=2"),
    "eight-chosen": ("table-F.4", "sigma-MoE", "E8; K=8; G=128 K=8"),
    "switch": ("table-F.4", "Switch", "E8; K=1, G=512; G=512 K=1"),
    "switch-no-dropout": ("table-F.4", "Switch", "E8; K=1, G=512, no dropout; G=512 K=1"),
    "switch-four": ("table-F.4", "Switch", "E8; K=4, G=128; G=128 K=4"),
    "switch-small": ("table-F.4", "Switch", "E8; K=1, G=128; G=128 K=1"),
    "s-base": ("table-F.4", "S-BASE", "E8; K=4, G=128; G=128 K=4"),
    "s-base-one": ("table-F.4", "S-BASE", "E8; K=1, G=512; G=512 K=1"),
}  # fmt: skip
"""Where the thesis prints a row: table, model and setting."""


def rows_of(results: Results, among: Iterable[str] = MAKERS) -> list[str]:
    """The rows that have been run, in the order of the tables."""
    found = results.values("row")
    return [row for row in among if row in found]


def draw_bits(results: Results):
    """Bits per token of every row, minus those of the dense network; one panel per column."""
    columns = results.values("column")
    figure = figures.panels(*columns, x="", y="bits per token, minus dense", columns=1)
    for panel, column in enumerate(columns):
        runs = results.where(column=column)
        dense = runs.metric("bits", row="dense")
        rows = [row for row in rows_of(runs) if row != "dense"]
        names = [TITLES[row] for row in rows]
        values = [runs.metric("bits", row=row) - dense for row in rows]
        figures.add_points(figure, names, values, "ours", line=False, panel=panel)
        printed = {}
        for row in rows:
            with suppress(LookupError, KeyError):
                printed[TITLES[row]] = in_bits(row, "dense").value
        label = "paper, Enwik8"
        figures.add_reference(figure, list(printed), list(printed.values()), label, panel=panel)
        figures.add_level(figure, 0.0, "dense", panel=panel)
    return figure


def draw_learning(results: Results):
    """The loss on validation text; one panel per column."""
    columns = results.values("column")
    figure = figures.panels(*columns, x="steps", y="validation loss, nats per token")
    for panel, column in enumerate(columns):
        runs = results.where(column=column)
        for color, row in enumerate(rows_of(runs)):
            x, ys = runs.curve("valid_nats", row=row)
            figures.add_seeds(figure, x, ys, TITLES[row], color=color, panel=panel)
    return figure


def beside(row: str) -> Beside:
    return Beside(
        f"{TITLES[row]} minus dense, bits",
        in_bits(row, "dense"),
        lambda results: results.metric("bits", row=row) - results.metric("bits", row="dense"),
    )


def everywhere(make: Callable[[Any], Statement]) -> Statement:
    """A statement on every column that has been run."""
    return for_all("column", make)


def apart(metric: str, row: str, other: str, column: str):
    """A metric of a row minus that of another one, in a column."""
    return paired(metric, {"row": row}, {"row": other}, column=column)


def worse(row: str, other: str, by: float = 0.0) -> Statement:
    """A row needs more bits than another one."""
    return everywhere(lambda column: apart("bits", row, other, column) > by)


study = Study(
    name="sparse-experts/language",
    title="Sparse feed-forward networks beside a dense one with as many parameters",
    source=Source(DOCUMENT, "Tables 7.1 to 7.4, F.1 and F.4"),
    question="With equally many parameters, which sparse feed-forward networks predict text as "
    "well as a dense one?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(row=("dense", "top-k", "pkm-relu", "sigma-moe", "switch")),
            depends=on_smoke,
            cost="30 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(row=ROWS),
            depends=from_condition,
            cost="about 30 min on two cores, from 70 s of one core per network",
        ),
        "paper": Preset(
            seeds=1,
            conditions=grid(
                column=tuple(column for column in COLUMNS if column != "laptop"),
                row=tuple(row for row in MAKERS if row not in NOT_IN_PAPER),
            ),
            depends=from_condition,
            cost="days on an accelerator per network",
        ),
    },
    claims=(
        Claim(
            "relu-beats-softmax",
            "Product keys need more bits per token with softmax than with ReLU.",
            "Tables 7.2 and F.1",
            worse("pkm-softmax", "pkm-relu"),
        ),
        Claim(
            "dense-beats-product-keys",
            "A dense network needs fewer bits than product keys, with ReLU and with softmax.",
            "Tables 7.2 and F.1",
            all_of(worse("pkm-relu", "dense"), worse("pkm-softmax", "dense")),
        ),
        Claim(
            "top-k-costs-nothing",
            "Keeping the largest hidden units costs less than {0} bits per token.",
            "Table 7.1",
            everywhere(lambda column: apart("bits", "top-k", "dense", column) < ALIKE),
        ),
        Claim(
            "sigma-moe-equals-dense",
            "sigma-MoE needs at most {0} bits per token more than a dense network.",
            "Table 7.3",
            everywhere(lambda column: apart("bits", "sigma-moe", "dense", column) <= ALIKE),
            context={"sigma-MoE's share of work, %": per_seed("flops", row="sigma-moe")},
        ),
        Claim(
            "sigma-moe-beats-routers",
            "No other selection is better than sigma-MoE by more than {0} bits per token: neither "
            "Switch, nor S-BASE, nor softmax.",
            "Tables 7.4 and F.4",
            all_of(
                worse(row, "sigma-moe", -ALIKE)
                for row in ("switch", "s-base", "softmax-before", "softmax-after")
            ),
        ),
        Claim(
            "standard-init-is-worse",
            "With the standard initialisation, sigma-MoE needs more bits.",
            "Tables 7.4 and F.4",
            worse("standard-init", "sigma-moe"),
        ),
        Claim(
            "many-small-experts",
            "With as many active units, four small experts are better than a single large one.",
            "Tables 7.4 and F.4",
            worse("largest-experts", "sigma-moe"),
        ),
        Claim(
            "switch-needs-its-formula",
            "Experts of Switch are used more evenly with the formula's scaling of its term than "
            "with that of the published code.",
            "Eq. 7.16 and the published code",
            everywhere(lambda column: apart("evenness", "switch", "switch-released", column) > 0),
            context={"Switch as released": per_seed("evenness", row="switch-released")},
        ),
        Claim(
            "equal-parameters",
            "All networks have equally many parameters, up to {0:%}.",
            "Section 7.5",
            everywhere(
                lambda column: all_of(
                    mean(
                        per_seed("parameters", row=row, column=column)
                        / per_seed("parameters", row="dense", column=column)
                        - 1.0,
                        f"parameters of {TITLES[row]} beside dense, minus 1",
                    ).near(0.0, 0.03)
                    for row in ("top-k", "pkm-relu", "sigma-moe", "switch")
                )
            ),
        ),
    ),
    figures=(
        Figure(
            "bits",
            "Bits per token beside a dense network",
            "Tables 7.1 to 7.4 and F.4: all seeds, their mean and its 95 % interval, minus the "
            "dense network of the same seed. The paper's numbers are single runs on Enwik8.",
            draw_bits,
        ),
        Figure(
            "learning",
            "Loss during training",
            "The loss on validation text: all seeds and their mean.",
            draw_learning,
        ),
    ),
    beside=tuple(beside(row) for row in ROWS if row in PRINTED and row != "dense"),
    notes="Preset laptop learns 5.5 million bytes of the English Wikipedia for 900 updates, with "
    "networks of 0.3 million parameters: its bits are far from the paper's, and only differences "
    "are set beside them. The paper has one run per number.",
)
