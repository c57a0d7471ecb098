"""What one trial of the study of arithmetic does: find the modules of both operations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine import learning, probes
from recombine._ranges import Positive
from recombine.lab import Recorder

from .number_tasks import AbstractNumberTaskSpec, AddMultiplySpec
from .number_training import MaskConfig, find_masks
from .protocol import conclude

OPERATIONS = ("add", "multiply")
MASKS = ("full", *OPERATIONS)


@dataclass(frozen=True)
class Config(MaskConfig):
    """Settings of the study of arithmetic."""

    task: AbstractNumberTaskSpec = AddMultiplySpec()
    """What the network learns."""
    beta: Positive = 1e-4
    """Price of a weight times the batch size, β."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Masks of both operations, their overlap, and what networks under them do."""
    import jax

    network = recorder.trained().network
    of_masks, of_test = jax.random.split(jax.random.fold_in(key, 1))
    task = config.task.build()
    test = task.sample(config.evaluated, key=of_test)
    masks = find_masks(config, network, of_masks, recorder).masks()
    tried = {"unmasked": masks["full"] | ~masks["full"], **masks}
    tried |= {f"inverted_{name}": ~masks[name] for name in OPERATIONS}
    found = probes.under_masks(network, tried, learning.NumberPredictions(test))
    answers = list(np.asarray(task.answers(test)).swapaxes(0, 1))
    confusion = {
        name: probes.operation_confusion(values["digits"][:, 0], answers, test.kinds)
        for name, values in found.items()
    }
    recorder.array("confusion", np.array([confusion[name] for name in MASKS]))
    right = {name: np.diag(rows) for name, rows in confusion.items()}
    recorder.metric("control", right["full"].min())
    gate = probes.module_gate(right["unmasked"].min(), right["full"].min())
    conclude(recorder, gate, conclusions(config, masks, confusion))
    report_layers(masks, recorder)


def conclusions(
    config: Config, masks: dict[str, Any], confusion: dict[str, np.ndarray]
) -> dict[str, float]:
    """Accuracies by mask and operation, what is done instead, and what masks share."""
    made = {}
    for name, rows in confusion.items():
        for place, operation in enumerate(OPERATIONS):
            made[f"{name}_{operation}"] = rows[place, place]
    for own, name in enumerate(OPERATIONS):
        other = 1 - own
        made[f"instead_{name}"] = confusion[name][other, own]
        made[f"none_{name}"] = confusion[name][other, -1]
        made[f"above_chance_{name}"] = confusion[name][other, other] - 10.0**-config.task.digits
    overlap = probes.mask_overlap(masks["add"], masks["multiply"])
    counts = {name: sum(probes.kept_weights(masks[name]).values()) for name in OPERATIONS}
    outer, inner = overlap.iou[[0, -1]].mean(), overlap.iou[1:-1].mean()
    return made | {
        "outer_iou": outer, "hidden_iou": inner, "outer_lead": outer - inner,
        "weight_ratio": counts["multiply"] / max(counts["add"], 1),
        "sharing": probes.shared_with(masks["add"], [masks["multiply"]]).total,
    }  # fmt: skip


def report_layers(masks: dict[str, Any], recorder: Recorder) -> None:
    """Overlap and numbers of weights, by layer (Figures 3.1 and B.6)."""
    overlap = probes.mask_overlap(masks["add"], masks["multiply"])
    places = np.arange(len(overlap.layers))
    recorder.curve("iou", places, overlap.iou)
    recorder.curve("io_min", places, overlap.io_min)
    for name in OPERATIONS:
        recorder.curve(f"weights_{name}", places, list(probes.kept_weights(masks[name]).values()))
