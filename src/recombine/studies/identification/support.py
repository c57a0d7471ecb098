"""Figure 2B: which training tasks let a student find the teacher's modules?"""

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    every_seed,
    figures,
    grid,
    paired,
    per_seed,
    reference,
)

from . import DOCUMENT
from .teacher_student import Config, trial

FITTED = 1e-6
"""A training loss below this counts as zero; alignment says nothing about a student above it."""
MARGIN = 0.2
"""Smallest drop of alignment without connected support."""
IDENTIFIED = 0.95
"""The smallest alignment that counts as identification."""
CONNECTED = ("D-conn", "C-conn-1", "C-conn-2")
DISCONNECTED = {"D-conn": ("D-disc",), "C-conn-1": ("C-disc-1", "C-disc-2", "C-disc-3")}
"""For each connected set, the disconnected sets that are compared with it."""


def are_fitted(*sets: str) -> Statement:
    """Training on these sets has succeeded in every run."""
    return all_of(every_seed("train_loss", tasks=tasks) < FITTED for tasks in sets)


def is_identified(tasks: str, bound: float = IDENTIFIED) -> Statement:
    """A student that fits these tasks has found the modules, in every run."""
    return all_of(every_seed("alignment", tasks=tasks) >= bound, are_fitted(tasks))


def is_lower(connected: str) -> Statement:
    """Without connection alignment is lower, though all tasks are fitted."""
    others = DISCONNECTED[connected]
    return all_of(
        *(paired("alignment", {"tasks": connected}, {"tasks": o}) >= MARGIN for o in others),
        are_fitted(connected, *others),
    )


def draw_alignment(results: Results):
    figure = figures.panels("", x="training tasks", y="module alignment")
    groups = {
        "connected": CONNECTED,
        "not connected": (*DISCONNECTED["D-conn"], *DISCONNECTED["C-conn-1"]),
        "connected, one task per pair": ("D-pairs",),
    }
    for color, (name, sets) in enumerate(groups.items()):
        values = [results.metric("alignment", tasks=s) for s in sets]
        figures.add_points(figure, sets, values, name, color=color, line=False)
    figures.add_level(figure, 1, "linear identification")
    return figure


def draw_mixtures(results: Results):
    figure = figures.panels(
        "discrete", "continuous", x="modules mixed", y="relative loss of unseen mixtures",
        log_y=True,
    )  # fmt: skip
    for panel, letter in enumerate("DC"):
        for color, tasks in enumerate(s for s in results.values("tasks") if s.startswith(letter)):
            runs = results.where(tasks=tasks)
            measured = [
                (k, f"ood_relative_k{k}_unseen")
                for k in range(1, results.values("modules")[0] + 1)
                if all(f"ood_relative_k{k}_unseen" in r.metrics for r in runs.records)
            ]
            figures.add_points(
                figure, [k for k, _ in measured], [runs.metric(m) for _, m in measured],
                tasks, color=color, panel=panel,
            )  # fmt: skip
    return figure


def draw_learning(results: Results):
    figure = figures.panels("", x="step", y="training loss", log_y=True)
    for color, tasks in enumerate(("D-conn", "D-disc", "C-conn-1", "C-disc-1")):
        steps, losses = results.curve("loss", tasks=tasks)
        figures.add_seeds(figure, steps, losses, tasks, color=color)
    return figure


SETS = ("D-conn", "D-disc", "D-pairs", "C-conn-1", "C-conn-2", "C-disc-1", "C-disc-2", "C-disc-3")
AS_PUBLISHED = {
    "rule": "reinferred", "num_tasks": 64, "steps": 60_000, "learning_rate": 1e-3,
    "final_learning_rate": 1e-6, "inference_steps": 300, "inference_batch": 256,
    "inference_rate": 0.003, "final_inference_rate": 0.003, "test_tasks": 512, "every": 100,
}  # fmt: skip
"""Appendix C.1.5, and the sizes of evaluation of the published code."""

study = Study(
    name="identification/support",
    title="Identification needs connected support: which training tasks reveal the modules",
    source=Source(DOCUMENT, "Figure 2B, Table A9"),
    question="Which training tasks let a student that fits all of them find the teacher's modules, "
    "and solve every other mixture?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(tasks=SETS),
            settings={
                "inputs": 8,
                "hidden": 4,
                "num_tasks": 12,
                "steps": 40,
                "every": 10,
                "inference_steps": 10,
                "inference_batch": 16,
                "test_tasks": 8,
                "test_inputs": 64,
            },
            cost="30 s on two cores",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=grid(tasks=SETS),
            settings={"module_factor": 1},
            cost="4 min on two cores",
        ),
        "paper": Preset(
            seeds=3,
            conditions=grid(tasks=SETS),
            settings=AS_PUBLISHED,
            cost="half a day per run on two cores, 24 runs: needs an accelerator",
        ),
    },
    claims=(
        Claim(
            "tasks-are-fitted",
            "The training loss, on fresh inputs, is below {0} on every set in every run (the "
            "paper's runs: below 1e-7).",
            "Appendix C.1.4",
            every_seed("train_loss") < FITTED,
        ),
        Claim(
            "connected-discrete-is-identified",
            "With connected discrete tasks module alignment is at least {0} in every run.",
            "Figure 2B",
            is_identified("D-conn"),
        ),
        Claim(
            "connected-continuous-is-identified",
            "With connected continuous tasks of pairs module alignment is at least {0} in every "
            "run.",
            "Figure 2B",
            is_identified("C-conn-1"),
        ),
        Claim(
            "connected-triples-are-identified",
            "With connected continuous tasks of triples module alignment is at least {0} in every "
            "run.",
            "Figure 2B",
            is_identified("C-conn-2", 0.9),
        ),
        Claim(
            "disconnected-discrete-is-not-identified",
            "With disconnected discrete tasks module alignment is lower by at least {0} on average "
            "over runs.",
            "Figure 2B",
            is_lower("D-conn"),
        ),
        Claim(
            "disconnected-continuous-is-not-identified",
            "With each of the disconnected continuous sets module alignment is lower by at least "
            "{0} on average over runs.",
            "Figure 2B",
            is_lower("C-conn-1"),
        ),
        Claim(
            "disconnected-does-not-generalize",
            "The relative loss on unseen mixtures is larger with each disconnected set than with "
            "the connected one of its kind, on average over runs.",
            "Section 3.3",
            all_of(
                paired("ood_relative", {"tasks": other}, {"tasks": connected}) > 0
                for connected, others in DISCONNECTED.items()
                for other in others
            ),
        ),
        Claim(
            "pairs-alone-are-not-enough",
            "With connected masks but a single task per pair, module alignment is below {0} and "
            "the relative loss on unseen mixtures larger than with the single modules beside them, "
            "in every run.",
            "Theorem 9, published code",
            all_of(
                every_seed("alignment", tasks="D-pairs") < IDENTIFIED,
                every_seed(
                    per_seed("ood_relative", tasks="D-pairs")
                    - per_seed("ood_relative", tasks="D-conn")
                )
                > 0,
                are_fitted("D-pairs", "D-conn"),
            ),
        ),
    ),
    figures=(
        Figure(
            "alignment",
            "Module alignment by training tasks",
            "Figure 2B: the smallest over teacher neurons of the cosine to the closest student "
            "neuron, in the basis of the teacher.",
            draw_alignment,
        ),
        Figure(
            "mixtures",
            "Loss on unseen mixtures by number of modules",
            "E‖ŷ − y‖² / E‖y‖² after inferring ẑ with the student frozen, on masks that are not "
            "among the training tasks.",
            draw_mixtures,
        ),
        Figure(
            "learning",
            "Training loss",
            "All tasks are fitted, connected or not: the training loss does not show which student "
            "will generalize.",
            draw_learning,
        ),
    ),
    beside=(
        Beside(
            "training loss, largest over sets (paper: an upper bound)",
            reference("identification", artifact="text-C.1.4", metric="train_loss_upper_bound"),
            lambda results: np.max(
                [results.metric("train_loss", tasks=s) for s in results.values("tasks")], axis=0
            ),
        ),
        Beside(
            "module alignment with connected discrete tasks (paper: linear identification)",
            reference(
                "identification",
                artifact="text-3.3",
                metric="module_alignment_implying_linear_identification",
            ),
            lambda results: results.metric("alignment", tasks="D-conn"),
        ),
    ),
    notes="The paper infers the latents of 64 fresh tasks by 300 steps of Adam before every one of "
    "60,000 steps of learning (preset paper; `--set rule=reinferred`). Its objective (Eq. 2) does "
    "not depend on how the latents are found: here every task of a finite set keeps its own, which "
    "is trained along with the weights. Continuous sets are 60 tasks drawn once (C-disc-3: 64), "
    "eight or more per family. The teacher has the paper's size, the student twice its hidden "
    "units and, as Theorem 9 asks, as many modules: with twice as many, as in the paper, each of "
    "the 12 discrete tasks could be memorised in a module of its own. Measurements on new mixtures "
    "infer latents from scratch, with the student frozen.",
)
