"""Figures 2C and A2, Table A1: does a student with too many neurons and modules still succeed?"""

import itertools

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Judgement,
    Missing,
    Preset,
    Reference,
    Results,
    Source,
    Study,
    figures,
    grid,
    reference,
)

from . import DOCUMENT
from .support import AS_PUBLISHED
from .teacher_student import Config, trial

HIGH = 0.9
"""The alignment that continuous tasks keep, and that Table A1 stays below."""
SPREAD = 0.05
"""Largest spread of alignment over weight decays (Table A1: 0.014 to 0.044)."""
STRENGTHS = ("0", "0.00001", "0.0001", "0.001")
"""Weight decay in Table A1, as printed."""


def table_a1(modules: int, neurons: int, weight_decay: str) -> Reference:
    """The paper's module alignment at these factors."""
    setting = f"M_hat={modules}M; h_hat={neurons}h; weight_decay={weight_decay}"
    return reference("identification", artifact="table-A1", setting=setting)


def by_factor(results: Results, tasks: str, metric: str = "alignment") -> dict[int, np.ndarray]:
    """A metric by the common factor of neurons and modules, one value per seed."""
    runs = results.where(tasks=tasks, weight_decay=0.0)
    factors = [f for f in runs.values("width_factor") if f in runs.values("module_factor")]
    return {f: runs.metric(metric, width_factor=f, module_factor=f) for f in factors}


def means(values: dict[int, np.ndarray]) -> dict[str, float]:
    return {f"{factor}x": float(v.mean()) for factor, v in values.items()}


def some_room_helps(tasks: str):
    def judge(results: Results) -> Judgement:
        alignment, loss = by_factor(results, tasks), by_factor(results, tasks, "train_loss")
        evidence = {
            "mean alignment (bound: higher at 2x than at 1x)": means(alignment),
            "mean training loss": means(loss),
        }
        return Judgement(bool(alignment[2].mean() > alignment[1].mean()), evidence)

    return judge


def discrete_degrades(results: Results) -> Judgement:
    alignment = by_factor(results, "D-conn")
    largest = alignment[max(alignment)].mean()
    evidence = {
        "mean alignment": means(alignment),
        f"at the largest factor (bound: below {HIGH:g}, and lower than at 2x)": largest,
    }
    return Judgement(bool(largest < HIGH and largest < alignment[2].mean()), evidence)


def continuous_stays(results: Results) -> Judgement:
    alignment = by_factor(results, "C-conn-1")
    lowest = min(v.mean() for factor, v in alignment.items() if factor > 1)
    evidence = {"mean alignment": means(alignment), f"lowest above 1x (bound: {HIGH:g})": lowest}
    return Judgement(bool(lowest >= HIGH), evidence)


def disconnected_is_lower(results: Results) -> Judgement:
    twice = both(2)[0]
    means = {
        tasks: results.metric("alignment", tasks=tasks, weight_decay=0.0, **twice).mean()
        for tasks in ("D-conn", "D-disc")
    }
    drop = means["D-conn"] - means["D-disc"]
    evidence = {"mean alignment at 2x": means, "drop (bound: at least 0.1)": drop}
    return Judgement(bool(drop >= 0.1), evidence)


def grid_means(results: Results, metric: str) -> list[float]:
    """Means over seeds of all conditions with connected tasks and without weight decay."""
    runs = results.where(weight_decay=0.0)
    conditions = grid(
        tasks=("D-conn", "C-conn-1"),
        width_factor=runs.values("width_factor"),
        module_factor=runs.values("module_factor"),
    )
    found = []
    for condition in conditions:
        try:
            found.append(float(runs.metric(metric, **condition).mean()))
        except Missing:  # not all factors are combined
            continue
    return found


def loss_mirrors_alignment(results: Results) -> Judgement:
    from scipy.stats import spearmanr

    loss, alignment = (grid_means(results, m) for m in ("ood_relative", "alignment"))
    if len(loss) < 4:
        raise Missing(f"{len(loss)} conditions are too few to rank")
    correlation = float(spearmanr(loss, 1 - np.array(alignment)).statistic)
    evidence = {
        "rank correlation (bound: above 0.5)": correlation,
        "mean alignment by condition": alignment,
        "mean relative loss on unseen mixtures": loss,
    }
    return Judgement(correlation > 0.5, evidence)


def decayed(results: Results) -> dict[tuple[int, int], dict[float, np.ndarray]]:
    """Alignment on discrete tasks by (module factor, width factor) and weight decay (Table A1)."""
    runs = results.where(tasks="D-conn")
    strengths = runs.values("weight_decay")
    columns = {
        (c["module_factor"], c["width_factor"])
        for r in runs.records
        if (c := r.config)["weight_decay"] > 0
    }
    if not columns:
        raise Missing("no runs with weight decay")
    return {
        (m, h): {
            w: runs.metric("alignment", module_factor=m, width_factor=h, weight_decay=w)
            for w in strengths
        }
        for m, h in sorted(columns)
    }


def weight_decay_does_not_help(results: Results) -> Judgement:
    columns = {
        f"{m}x modules, {h}x neurons": {f"{w:g}": v.mean() for w, v in column.items()}
        for (m, h), column in decayed(results).items()
    }
    values = [list(column.values()) for column in columns.values()]
    spread = max(max(v) - min(v) for v in values)
    highest = max(max(v) for v in values)
    evidence = {
        "mean alignment by weight decay": columns,
        f"largest spread (bound: {SPREAD:g})": spread,
        f"highest (bound: below {HIGH:g})": highest,
    }
    return Judgement(bool(spread <= SPREAD and highest < HIGH), evidence)


def draw_factors(metric: str, label: str, log_y: bool):
    def draw(results: Results):
        figure = figures.panels(
            "discrete", "continuous", x="factor of neurons and modules", y=label, log_y=log_y
        )
        for panel, tasks in enumerate(("D-conn", "C-conn-1")):
            values = by_factor(results, tasks, metric)
            figures.add_points(
                figure, [f"{f}x" for f in values], list(values.values()), "student", panel=panel
            )
        return figure

    return draw


def draw_weight_decay(results: Results):
    figure = figures.panels("", x="weight decay", y="module alignment")
    for color, ((m, h), column) in enumerate(decayed(results).items()):
        figures.add_points(
            figure, [f"{w:g}" for w in column], list(column.values()),
            f"{m}x modules, {h}x neurons", color=color,
        )  # fmt: skip
    strengths = [f"{float(w):g}" for w in STRENGTHS]
    for m, h in itertools.product((16, 32), repeat=2):
        published = [table_a1(m, h, w).value for w in STRENGTHS]
        name = f"paper, {m}x modules, {h}x neurons"
        figures.add_reference(figure, strengths, published, name)
    return figure


def at_large_factors(weight_decay: float):
    """Alignment with 16 times the neurons and modules, or with the largest factor run."""

    def ours(results: Results) -> np.ndarray:
        runs = results.where(tasks="D-conn", weight_decay=weight_decay)
        factors = runs.values("width_factor")
        factor = 16 if 16 in factors else max(factors)
        return runs.metric("alignment", width_factor=factor, module_factor=factor)

    return ours


def both(*factors: int) -> tuple[dict[str, int], ...]:
    return tuple({"width_factor": f, "module_factor": f} for f in factors)


SMALL = {
    **AS_PUBLISHED, "modules": 4, "inputs": 8, "hidden": 8, "steps": 3000, "learning_rate": 0.05,
    "inference_batch": 64, "test_tasks": 32, "every": 50,
}  # fmt: skip
DISCRETE = {"tasks": "D-conn", "num_tasks": 0}
CONTINUOUS = {"tasks": "C-conn-1", "num_tasks": 8}
DISCONNECTED = {**both(2)[0], "tasks": "D-disc"}
FACTORS = (1, 2, 4, 8, 16, 32)

study = Study(
    name="identification/overparameterization",
    title="Identification and over-parameterization: too many neurons and modules",
    source=Source(DOCUMENT, "Figures 2C and A2, Table A1"),
    question="Does a student with more neurons and modules than the teacher still find the "
    "teacher's modules?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(
                *({**DISCRETE, **f} for f in both(1, 2)),
                *({**CONTINUOUS, **f} for f in both(2)),
                {**DISCRETE, **both(2)[0], "weight_decay": 1e-3},
                {**DISCRETE, **DISCONNECTED},
            ),
            settings={
                **SMALL,
                "hidden": 4,
                "steps": 20,
                "every": 10,
                "inference_steps": 5,
                "inference_batch": 16,
                "test_tasks": 8,
                "test_inputs": 64,
            },
            cost="30 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=(
                *({**DISCRETE, **f} for f in both(1, 2, 8)),
                *({**CONTINUOUS, **f} for f in both(1, 2, 8)),
                {**DISCRETE, **both(8)[0], "weight_decay": 1e-3},
                {**DISCRETE, **DISCONNECTED},
            ),
            settings=SMALL,
            cost="13 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=(
                *grid(tasks=("D-conn", "C-conn-1"), width_factor=FACTORS, module_factor=FACTORS),
                *grid(
                    tasks=("D-conn",),
                    width_factor=(16, 32),
                    module_factor=(16, 32),
                    weight_decay=(1e-3, 1e-4, 1e-5),
                ),
                DISCONNECTED,
            ),
            settings=AS_PUBLISHED,
            cost="half a day to weeks per run on two cores, 425 runs: needs accelerators",
        ),
    },
    claims=(
        Claim(
            "disconnected-is-lower",
            "Among students of twice the teacher's sizes, module alignment is lower by at least "
            "0.1, on average over runs, when discrete tasks are disconnected.",
            "Figure 2B",
            disconnected_is_lower,
        ),
        Claim(
            "some-room-helps-discrete",
            "On discrete tasks a student of twice the teacher's sizes has a higher module "
            "alignment, on average over runs, than one of the teacher's own sizes.",
            "Figure 2C",
            some_room_helps("D-conn"),
        ),
        Claim(
            "some-room-helps-continuous",
            "On continuous tasks a student of twice the teacher's sizes has a higher module "
            "alignment, on average over runs, than one of the teacher's own sizes.",
            "Figure 2C",
            some_room_helps("C-conn-1"),
        ),
        Claim(
            "discrete-degrades",
            "On discrete tasks mean alignment at the largest factor is below 0.9, and lower than "
            "at twice the teacher's sizes.",
            "Figure 2C, Table A1",
            discrete_degrades,
        ),
        Claim(
            "continuous-stays",
            "On continuous tasks mean alignment is at least 0.9 at every factor above 1.",
            "Figure 2C",
            continuous_stays,
        ),
        Claim(
            "loss-mirrors-alignment",
            "Over all sizes and both kinds of tasks, the rank correlation between the loss on "
            "unseen mixtures and 1 − alignment is above 0.5.",
            "Figure A2",
            loss_mirrors_alignment,
        ),
        Claim(
            "weight-decay-does-not-help",
            "At the largest factors, mean alignment on discrete tasks differs by at most 0.05 "
            "between strengths of weight decay, and is below 0.9 with all of them.",
            "Table A1",
            weight_decay_does_not_help,
        ),
    ),
    figures=(
        Figure(
            "alignment",
            "Module alignment by size of the student",
            "Figure 2C, along its diagonal: neurons and modules by the same factor.",
            draw_factors("alignment", "module alignment", False),
        ),
        Figure(
            "unseen",
            "Loss on unseen mixtures by size of the student",
            "Figure A2: E‖ŷ − y‖² / E‖y‖² on masks that are not among the training tasks.",
            draw_factors("ood_relative", "relative loss", True),
        ),
        Figure(
            "training",
            "Training loss by size of the student",
            "On fresh inputs, with latents inferred as in training.",
            draw_factors("train_loss", "training loss", True),
        ),
        Figure(
            "weight-decay",
            "Module alignment by weight decay",
            "Table A1, on discrete tasks, with the paper's values.",
            draw_weight_decay,
        ),
    ),
    beside=tuple(
        Beside(
            f"alignment at 16x (or the most run), weight decay {strength}",
            table_a1(16, 16, strength),
            at_large_factors(float(strength)),
        )
        for strength in reversed(STRENGTHS)
    ),
    notes="Preset laptop follows the paper's procedure at a smaller size: a teacher of 4 modules, "
    "8 inputs and 8 neurons, 3,000 steps at a learning rate of 0.05 (paper: 6, 16, 16, 60,000 and "
    "0.001), batches of 64 inputs, all 8 discrete or 8 continuous tasks per step. Latents are "
    "inferred as in the paper, by 300 steps of Adam at 0.003 before every step of learning. "
    "Factors go up to 8; those of Table A1 are 16 and 32.",
)
