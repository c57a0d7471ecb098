"""Tables C.2 and C.7: parameters of networks, and statistics of data sets."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from recombine import data, models, tasks
from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    exact,
    figures,
    grid,
    reference,
)
from recombine.models import specs

from . import DOCUMENT
from .log_results import CFQ_SEPARATE, CFQ_SHARED, PAPER, VARIANTS
from .problems import COGSSpec, ScanSpec
from .scan_length import CUTOFFS

KINDS = {
    "transformer": specs.EncoderDecoderSpec,
    "universal": specs.UniversalSpec,
    "relative": specs.RelativeEncoderDecoderSpec,
    "relative-universal": specs.RelativeUniversalSpec,
}
IN_TABLE = {"transformer": "Standard", "universal": "Universal", "relative": "Relative Pos.",
            "relative-universal": "Universal, Relative Pos."}  # fmt: skip
TASKS: dict[str, tuple[tuple[int, int], dict[str, Any] | None]] = {
    "SCAN": ((13, 6), PAPER["scan"]),
    "CFQ": ((96, 96), None),
    "PCFG": ((535, 535), PAPER["pcfg"]),
    "COGS": ((871, 871), PAPER["cogs"]),
    "Math": ((69, 69), PAPER["mathematics"]),
}
"""Vocabularies of inputs and outputs, and the settings of Table C.1."""
PRINTED = {"SCAN": "SCAN", "CFQ": "CFQ MCD 2", "PCFG": "PCFG Systematicity", "COGS": "COGS",
           "Math": "Math add_or_sub"}  # fmt: skip
STATISTICS = {
    "train": "# train", "iid": "# IID validation", "ood": "# generalization test",
    "vocabulary": "vocabulary size (union of input and output)",
    "train_input": "max input length, train", "train_output": "max output length, train",
    "ood_input": "max input length, test", "ood_output": "max output length, test",
}  # fmt: skip
"""Rows of Table C.7."""
SCAN_TRAINED = dict(zip(
    CUTOFFS,
    (15292, 15594, 15997, 16458, 16861, 17264, 17783, 18186, 18416, 18474, 18704), strict=True,
))  # fmt: skip
"""Commands to train at every cutoff, counted on the published commands."""


@dataclass(frozen=True)
class Config:
    """Settings of the study."""

    data: Literal["generated", "cogs", "cfq-mcd1"] = "generated"
    """What is counted: all that needs no file, or one of the data sets that do."""


@lru_cache(maxsize=1)
def parameters() -> dict[str, int]:
    """The parameters of every network of Table C.2; nothing is drawn."""
    import equinox as eqx
    import jax

    found = {}
    for task, (vocabulary, settings) in TASKS.items():
        sizes = specs.TranslationSizes(*vocabulary)
        for name, kind in KINDS.items():
            own = settings or (CFQ_SHARED if kind().shared_layers else CFQ_SEPARATE)
            fields = {k.removeprefix("model."): v for k, v in own.items() if k[:6] == "model."}
            made = eqx.filter_eval_shape(kind(**fields).build, sizes, jax.random.key(0))
            found[f"{task}_{name}_parameters"] = models.count_parameters(made)
    return found


def statistics(pairs: "tasks.Translations") -> dict[str, int]:
    """What Table C.7 says of a data set."""
    words, symbols = set(pairs.words.words), set(pairs.symbols.words)
    found = {"vocabulary": len(words | symbols)}
    for part in ("train", "iid", "ood"):
        found[part] = pairs.size(part)
        found[f"{part}_input"], found[f"{part}_output"] = pairs.longest(part)
    return found


def trial(config: Config, key, recorder: Recorder) -> None:
    """Count parameters and pairs; nothing is drawn."""
    if config.data == "cogs":
        counted = {"COGS": statistics(COGSSpec().build())}
    elif config.data == "cfq-mcd1":
        pairs = data.sentence_pairs("cfq-mcd1").pairs
        parts = {"train": pairs["train"], "iid": pairs["dev"], "ood": pairs["test"]}
        counted = {"CFQ": statistics(tasks.Translations.of(parts, tasks.spaced))}
    else:
        counted = {"SCAN": statistics(ScanSpec().build())}
        counted["PCFG"] = {"vocabulary": len(tasks.PCFGSet().vocabulary().words)}
        for name, count in parameters().items():
            recorder.metric(name, count)
        trained = [tasks.length_resplit(cutoff).size("train") for cutoff in CUTOFFS]
        recorder.curve("scan_trained", CUTOFFS, trained)
    for task, numbers in counted.items():
        for name, count in numbers.items():
            recorder.metric(f"{task}_{name}", count)


def printed(task: str, model: str) -> float:
    """The number of parameters that Table C.2 prints, in thousands or millions."""
    return reference(
        "transformer-details", artifact="table-C.2", task=PRINTED[task], model=IN_TABLE[model],
        metric="number of parameters",
    ).value  # fmt: skip


SLIPS = {("Math", "transformer"), ("Math", "relative")}
"""Table C.2 prints a tenth of these."""


def parameter_errors(results: Results) -> np.ndarray:
    """How far numbers of parameters are from the printed ones, in units of their last digit."""
    runs, found = results.where(data="generated"), []
    for task in TASKS:
        for model in KINDS:
            value = printed(task, model) * (10 if (task, model) in SLIPS else 1)
            digit = 1e3 if value < 1e6 else 1e6 if (task, model) in SLIPS else 1e5
            ours = runs.metric(f"{task}_{model}_parameters")
            found.append(np.abs(np.round(ours / digit) - value / digit))
    return np.concatenate(found)


DATA_SETS = {"SCAN": "SCAN cutoff=26", "COGS": "COGS", "CFQ": "CFQ MCD 1"}
"""Data sets of Table C.7, by their names there."""


def statistic_errors(results: Results) -> np.ndarray:
    """How far the counts of the data sets that have been counted are from those of Table C.7."""
    found = []
    for record in results.records:
        for task, name in DATA_SETS.items():
            for ours, metric in STATISTICS.items():
                if f"{task}_{ours}" not in record.metrics:
                    continue
                try:
                    paper = reference(
                        "transformer-details", artifact="table-C.7", task=name, metric=metric
                    )
                except LookupError:  # the table leaves it out
                    continue
                found.append(record.metrics[f"{task}_{ours}"] - paper.value)
    return np.abs(np.array(found, float))


def cutoff_errors(results: Results) -> np.ndarray:
    """How far the numbers of trained commands of SCAN are from those of the published ones."""
    _, trained = results.curve("scan_trained", data="generated")
    return np.abs(trained - np.array(list(SCAN_TRAINED.values()))).ravel()


def draw_parameters(results: Results):
    """Parameters of every network."""
    figure = figures.panels("", x="", y="parameters", log_y=True)
    runs = results.where(data="generated")
    for color, (model, title) in enumerate(VARIANTS.items()):
        values = [runs.metric(f"{task}_{model}_parameters") for task in TASKS]
        figures.add_points(figure, list(TASKS), values, title, color=color, line=False)
    return figure


study = Study(
    name="transformer-details/sizes",
    title="Networks and data sets have exactly the published sizes",
    source=Source(DOCUMENT, "Tables C.2 and C.7"),
    question="Do the networks have as many parameters, and the data sets as many pairs, words and "
    "lengths, as the paper says?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(data=("generated",)), cost="5 s on two cores"
        ),
        "laptop": Preset(
            seeds=3, conditions=grid(data=("generated",)), cost="10 s on two cores"
        ),
        "paper": Preset(
            seeds=3, conditions=grid(data=("generated", "cogs", "cfq-mcd1")),
            cost="a minute on two cores",
        ),
    },
    claims=(
        Claim(
            "parameters",
            "Every number of parameters rounds to the one that the paper prints.",
            "Table C.2",
            exact(parameter_errors, "distance in units of the last digit").equals(0),
        ),
        Claim(
            "statistics",
            "Numbers of pairs, vocabularies and longest sentences are those of the paper.",
            "Table C.7",
            exact(statistic_errors, "distance from the printed number").equals(0),
        ),
        Claim(
            "cutoffs",
            "At all eleven cutoffs of the length of outputs, SCAN has as many commands to train "
            "as the published commands give.",
            "Section 4.2.1",
            exact(cutoff_errors, "distance from the count").equals(0),
        ),
    ),
    figures=(
        Figure(
            "parameters",
            "Parameters of the four variants",
            "Table C.2: relative positions cost a projection, shared layers save most of them.",
            draw_parameters,
        ),
    ),
    beside=tuple(
        Beside(
            f"{task}, {VARIANTS[model]}, parameters",
            reference(
                "transformer-details", artifact="table-C.2", task=PRINTED[task],
                model=IN_TABLE[model], metric="number of parameters",
            ),
            lambda results, name=f"{task}_{model}_parameters": (  # type: ignore[misc]
                results.where(data="generated").metric(name)
            ),
        )
        for task in TASKS
        for model in KINDS
    ),
    notes="Table C.2 prints a tenth of the parameters of the two networks with separate layers on "
    "Mathematics. The published training sets of PCFG SET and Mathematics cannot be had; the "
    "generators of this package make others of the same sizes.",
)  # fmt: skip
