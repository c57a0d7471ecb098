"""Sections 7.3 and 7.4: routing without training, raw and balanced; the two scalings of Switch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine import models
from recombine._checks import check_chosen
from recombine.lab import (
    Claim,
    Count,
    Figure,
    NotNegative,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    all_of,
    every_seed,
    figures,
    grid,
    mean,
    per_seed,
)

from . import DOCUMENT

FORMS = ("raw", "released", "correct")


@dataclass(frozen=True)
class Config:
    """Settings of a batch of random logits."""

    deviation: NotNegative = 2.0
    """Standard deviation of the logits of an expert."""
    offset: NotNegative = 0.5
    """Standard deviation of what all logits of an expert have in common, beside the other one."""
    tokens: Count = 4096
    """Tokens of the batch."""
    experts: Count = 16
    """Number of experts."""
    chosen: Count = 4
    """Experts per token."""
    iterations: Count = 3
    """Rounds of Sinkhorn's balancing."""

    def __post_init__(self) -> None:
        check_chosen(self.chosen, self.experts)


def loads_of(scores, chosen: int) -> np.ndarray:
    """The choices of every expert, 1 on average."""
    import jax

    experts = scores.shape[1]
    counts = np.bincount(np.asarray(jax.lax.top_k(scores, chosen)[1]).ravel(), minlength=experts)
    return counts / counts.mean()


def trial(config: Config, key, recorder: Recorder) -> None:
    """Choose experts by raw and by balanced scores of random logits, and count."""
    import jax

    of_logits, of_offsets = jax.random.split(key)
    z = jax.random.normal(of_logits, (config.tokens, config.experts))
    z = config.deviation * (z + config.offset * jax.random.normal(of_offsets, (config.experts,)))
    scores: dict[str, Any] = {"raw": z}
    for form, released in (("released", True), ("correct", False)):
        scores[form] = models.sinkhorn(z, iterations=config.iterations, released=released)
    for form, score in scores.items():
        loads = loads_of(score, config.chosen)
        recorder.array(form, np.sort(loads)[::-1])
        recorder.metric(f"{form}_least", loads.min())
        recorder.metric(f"{form}_most", loads.max())
    best = z.argmax(axis=1)[:, None]
    formula = models.SwitchBalance()(z, best, jax.numpy.ones(best.shape))
    released = models.SwitchBalance(released=True)(z, best, jax.numpy.ones(best.shape))
    recorder.metric("switch", formula)
    recorder.metric("switch_ratio", formula / released)
    recorder.metric("experts_squared", config.experts**2)


def draw_loads(results: Results):
    spreads = results.values("deviation")
    figure = figures.panels(*(f"deviation {d:g}" for d in spreads), x="rank of expert", y="load")
    for panel, deviation in enumerate(spreads):
        runs = results.where(deviation=deviation)
        for color, form in enumerate(FORMS):
            loads = runs.array(form)
            places = np.arange(1, loads.shape[1] + 1)
            figures.add_seeds(figure, places, loads, form, color=color, panel=panel)
        figures.add_level(figure, 1.0, "equal loads", panel=panel)
    return figure


SHARP: dict[str, Any] = {"deviation": 2.0}
FLAT: dict[str, Any] = {"deviation": 0.5}


def spread(form: str, **where: Any):
    """The most minus the least loaded expert."""
    return per_seed(f"{form}_most", **where) - per_seed(f"{form}_least", **where)


study = Study(
    name="sparse-experts/balance",
    title="Balanced routing without training, and what a sign and a scale change",
    source=Source(DOCUMENT, "Sections 7.3 and 7.4, and the published code"),
    question="How evenly are experts chosen by raw logits, and by balanced scores as derived and "
    "as in the published code?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(deviation=(2.0,)),
            settings={"tokens": 64, "experts": 4, "chosen": 2},
            cost="5 s on two cores",
        ),
        "laptop": Preset(
            seeds=10,
            conditions=grid(deviation=(0.5, 2.0)),
            cost="13 s in one process on a busy machine",
        ),
        "paper": Preset(
            seeds=10,
            conditions=grid(deviation=(0.5, 2.0), experts=(16, 32, 128)),
            settings={"tokens": 32_768},
            cost="1 min on two cores",
        ),
    },
    claims=(
        Claim(
            "correct-form-balances",
            "With sharp logits, loads by the correct form are between {0} and {1} of the mean.",
            "Section 7.3",
            all_of(
                mean("correct_least", **SHARP) >= 0.9,
                mean("correct_most", **SHARP) <= 1.1,
            ),
        ),
        Claim(
            "released-form-does-not",
            "With sharp logits, loads by the form of the published code go below {0} and above {1} "
            "of the mean.",
            "the published code",
            all_of(
                mean("released_least", **SHARP) < 0.5,
                mean("released_most", **SHARP) > 1.2,
            ),
        ),
        Claim(
            "order-of-forms",
            "With sharp logits, loads differ most by raw logits, less by the published form, and "
            "least by the correct one.",
            "Section 7.3",
            all_of(
                mean(spread("raw", **SHARP) - spread("released", **SHARP), "raw − released") > 0,
                mean(spread("released", **SHARP) - spread("correct", **SHARP), "released − correct")
                > 0,
            ),
        ),
        Claim(
            "both-balance-flat-logits",
            "With flat logits, both forms keep loads between {0} and {1} of the mean.",
            "the published code",
            all_of(
                mean("released_least", **FLAT) >= 0.8,
                mean("released_most", **FLAT) <= 1.2,
                mean("correct_least", **FLAT) >= 0.8,
                mean("correct_most", **FLAT) <= 1.2,
            ),
        ),
        Claim(
            "switch-scalings",
            "The published scaling of the Switch term is weaker by the square of the number of "
            "experts, up to {0:%}.",
            "Eq. 7.16 and the published code",
            every_seed(per_seed("switch_ratio") / per_seed("experts_squared")).equals(1.0, 0.001),
        ),
    ),
    figures=(
        Figure(
            "loads",
            "Loads of experts",
            "The choices of every expert, the most loaded first, 1 on average: all seeds and their "
            "mean.",
            draw_loads,
        ),
    ),
    notes="Nothing is trained: logits are normal numbers, with an offset per expert.",
)
