"""Figures 2C and A2, Table A1: does a student with too many neurons and modules still succeed?"""

import itertools

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Reference,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    figures,
    for_all,
    grid,
    mean,
    paired,
    rank_correlation,
    reference,
    statistic,
)
from recombine.lab.vocabulary import Mean

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


def both(*factors: int) -> tuple[dict[str, int], ...]:
    return tuple({"width_factor": f, "module_factor": f} for f in factors)


def at_the_largest(results: Results) -> np.ndarray:
    """Alignment on discrete tasks at the largest factor."""
    alignment = by_factor(results, "D-conn")
    return alignment[max(alignment)]


def lost_at_the_largest(results: Results) -> np.ndarray:
    """Alignment on discrete tasks at twice the teacher's sizes, minus the largest factor's."""
    return by_factor(results, "D-conn")[2] - at_the_largest(results)


def stays(factor: int) -> Statement:
    """On continuous tasks alignment is high at a factor of neurons and modules."""
    of_factor = {"width_factor": factor, "module_factor": factor}
    return mean("alignment", tasks="C-conn-1", weight_decay=0.0, **of_factor) >= HIGH


def by_room(tasks: str) -> Mean:
    """Alignment of a student of twice the teacher's sizes, minus that of one of its own sizes."""
    once, twice = both(1, 2)
    return paired("alignment", twice, once, tasks=tasks, weight_decay=0.0)


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


def mirrored(results: Results) -> float:
    """The rank correlation of the loss on unseen mixtures and 1 − alignment, over conditions."""
    loss, alignment = (grid_means(results, m) for m in ("ood_relative", "alignment"))
    if len(loss) < 4:
        raise Missing(f"{len(loss)} conditions are too few to rank")
    return rank_correlation(loss, 1 - np.array(alignment))


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


def spread_of_decay(results: Results) -> float:
    """The largest spread of mean alignment between strengths of weight decay."""
    columns = [[v.mean() for v in column.values()] for column in decayed(results).values()]
    return max(max(column) - min(column) for column in columns)


def best_of_decay(results: Results) -> float:
    """The highest mean alignment at the largest factors, over strengths of weight decay."""
    return max(v.mean() for column in decayed(results).values() for v in column.values())


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
            "{0}, on average over runs, when discrete tasks are disconnected.",
            "Figure 2B",
            paired(
                "alignment",
                {"tasks": "D-conn"},
                {"tasks": "D-disc"},
                weight_decay=0.0,
                **both(2)[0],
            )
            >= 0.1,
        ),
        Claim(
            "some-room-helps-discrete",
            "On discrete tasks a student of twice the teacher's sizes has a higher module "
            "alignment, on average over runs, than one of the teacher's own sizes.",
            "Figure 2C",
            by_room("D-conn") > 0,
        ),
        Claim(
            "some-room-helps-continuous",
            "On continuous tasks a student of twice the teacher's sizes has a higher module "
            "alignment, on average over runs, than one of the teacher's own sizes.",
            "Figure 2C",
            by_room("C-conn-1") > 0,
        ),
        Claim(
            "discrete-degrades",
            "On discrete tasks mean alignment at the largest factor is below {0}, and lower than "
            "at twice the teacher's sizes.",
            "Figure 2C, Table A1",
            all_of(mean(at_the_largest) < HIGH, mean(lost_at_the_largest) > 0),
        ),
        Claim(
            "continuous-stays",
            "On continuous tasks mean alignment is at least {0} at every factor above 1.",
            "Figure 2C",
            for_all("width_factor", stays, among=lambda _, factor: factor > 1, tasks="C-conn-1"),
        ),
        Claim(
            "loss-mirrors-alignment",
            "Over all sizes and both kinds of tasks, the rank correlation between the loss on "
            "unseen mixtures and 1 − alignment is above {0}.",
            "Figure A2",
            statistic(mirrored, "rank correlation") > 0.5,
        ),
        Claim(
            "weight-decay-does-not-help",
            "At the largest factors, mean alignment on discrete tasks differs by at most {0} "
            "between strengths of weight decay, and is below {1} with all of them.",
            "Table A1",
            all_of(statistic(spread_of_decay) <= SPREAD, statistic(best_of_decay) < HIGH),
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
