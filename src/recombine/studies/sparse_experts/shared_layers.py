"""One step past the thesis: a mixture of experts in a layer that is applied again and again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine import learning, probes
from recombine.lab import (
    Claim,
    Figure,
    NotNegative,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    figures,
    mean,
    paired,
    per_seed,
)
from recombine.models import specs

from ..data_router import lookup_trial
from ..data_router.networks import fit, sizes_of, untrained
from . import DOCUMENT


@dataclass(frozen=True)
class Config(lookup_trial.Config):
    """Settings of table lookup with experts."""

    feed_forward: specs.AbstractFeedForwardSpec = specs.MixtureSpec(experts=8, size=64, chosen=2)
    """The feed-forward network of the shared layer."""
    balance: NotNegative = 1e-3
    """Weight of the term that balances experts, γ."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn short compositions, meet longer ones, and see which experts steps choose."""
    import dataclasses

    import equinox as eqx

    keys = lookup_trial.keys_of(key)
    spec = dataclasses.replace(config.model, feed_forward=config.feed_forward)  # type: ignore[call-arg]
    task = lookup_trial.task_of(config, keys.tables)
    data = lookup_trial.data_of(config, task, keys.data)
    sizes = sizes_of(data.seen)
    made = untrained(spec, sizes, key=keys.weights)
    objective = learning.BalancedLabelLoss(config.balance)
    fitted = fit(config, made, data, keys.batches, recorder, objective=objective)
    recorder.keep(fitted.model, spec, sizes)
    items = eqx.filter_jit(lookup_trial.drawn)(
        task, config.longer_lengths, specs.frame_of(config.model), config.evaluated, key=keys.later
    )
    for name, model in (("", fitted.model), ("untrained_", made)):
        report_choices(config, model, items, recorder, name)


def report_choices(config: Config, model: Any, items: Any, recorder: Recorder, prefix: str) -> None:
    """Report how many of a column's experts are chosen again at the next step."""
    import equinox as eqx

    if not isinstance(config.feed_forward, specs.MixtureSpec):
        return
    traced = eqx.filter_jit(lambda model, items: model.encoder.trace(items.tokens, items.lengths))
    extras = traced(model, items)
    there = np.arange(items.tokens.shape[1]) < np.asarray(items.lengths)[:, None]
    chosen, weights = extras["chosen"], extras["weights"] * there[..., None]
    again = np.asarray(probes.overlap_of_choices(chosen[:-1], chosen[1:]))
    by_step = (again * there).sum(axis=(1, 2)) / there.sum()
    recorder.curve(f"{prefix}overlap", np.arange(1, len(by_step) + 1), by_step)
    recorder.metric(f"{prefix}overlap", by_step.mean())
    steps, count = len(chosen), config.feed_forward.chosen
    usage = probes.expert_usage(
        chosen.reshape(steps, -1, count), weights.reshape(steps, -1, count),
        config.feed_forward.experts,
    )  # fmt: skip
    recorder.array(f"{prefix}usage", np.asarray(usage.weights))
    whole = usage.weights.mean(axis=0)
    recorder.metric(f"{prefix}evenness", probes.relative_perplexity(whole))
    chance = probes.expected_overlap(count, config.feed_forward.experts)
    recorder.metric("expected_overlap", chance)


def draw_overlap(results: Results):
    figure = figures.panels("", x="step", y="share of experts chosen again")
    runs = results.where(feed_forward="mixture")
    for color, name in enumerate(("overlap", "untrained_overlap")):
        label = "untrained" if name.startswith("un") else "trained"
        figures.add_seeds(figure, *runs.curve(name), label, color=color)
    figures.add_level(figure, float(runs.metric("expected_overlap")[0]), "by chance")
    return figure


def draw_accuracy(results: Results):
    figure = figures.panels("", x="", y="accuracy")
    names = results.values("feed_forward")
    for color, metric in enumerate(("iid", "longer")):
        values = [results.metric(metric, feed_forward=name) for name in names]
        figures.add_points(figure, names, values, metric, color=color, line=False)
    return figure


MIXTURE, DENSE = {"feed_forward": "mixture"}, {"feed_forward": "dense"}
LAPTOP: dict[str, Any] = {
    "model": specs.NDRSpec(
        width=128, hidden=512, heads=8, layers=10, dropout=0.1,
        attention=specs.GeometricAttentionSpec(bias=-2.0),
    ),
    "direction": "forward", "steps": 1500,
}  # fmt: skip


def layers(size: int, experts: int, chosen: int) -> tuple[dict[str, Any], ...]:
    """The dense feed-forward network of NDR, and a mixture with as many hidden units."""
    mixture = specs.MixtureSpec(experts=experts, size=size, chosen=chosen)
    return {"feed_forward": specs.FeedForwardSpec(outer_gain=5 / 3)}, {"feed_forward": mixture}


study = Study(
    name="sparse-experts/shared-layers",
    title="Experts in a shared layer: does every step choose the same ones?",
    source=Source(DOCUMENT, "Chapter 8, future directions"),
    question="If a mixture of experts stands in a layer that is applied again and again, do its "
    "steps choose different experts, and does the network still generalize?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=layers(4, 4, 2),
            settings={
                "model.width": 8,
                "model.hidden": 16,
                "model.heads": 2,
                "model.layers": 3,
                "batch_size": 8,
                "steps": 4,
                "every": 2,
                "warmup_steps": 1,
                "evaluated": 20,
                "buckets": 1,
            },
            cost="15 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=layers(64, 8, 2),
            settings=LAPTOP,
            cost="about 15 min on two cores; not timed yet",
        ),
        "paper": Preset(
            seeds=5,
            conditions=layers(64, 8, 2),
            settings={"steps": 30_000, "every": 1000, "batch_size": 512},
            cost="hours on an accelerator",
        ),
    },
    claims=(
        Claim(
            "steps-repeat-themselves",
            "A column's next step chooses at least {0:%} of the experts that it has just chosen, "
            "where chance would make it a quarter.",
            "Chapter 8",
            mean("overlap", **MIXTURE) >= 0.5,
            context={
                "untrained": per_seed("untrained_overlap", **MIXTURE),
                "by chance": per_seed("expected_overlap", **MIXTURE),
            },
        ),
        Claim(
            "training-does-not-part-steps",
            "Steps choose no other experts after training than before: the overlap does not fall "
            "by more than {0:points}.",
            "Chapter 8",
            mean(
                per_seed("untrained_overlap", **MIXTURE) - per_seed("overlap", **MIXTURE),
                "fall of the overlap",
            )
            <= 0.1,
        ),
        Claim(
            "as-good-as-dense",
            "On longer inputs a shared layer of experts is at most {0} worse than a dense one with "
            "as many hidden units.",
            "beyond the thesis",
            paired("longer", DENSE, MIXTURE) <= 0.05,
            context={"IID with experts": per_seed("iid", **MIXTURE)},
        ),
    ),
    figures=(
        Figure(
            "overlap",
            "Experts that are chosen again",
            "Of a column's chosen experts, the share that the next step chooses, too: all seeds "
            "and their mean.",
            draw_overlap,
        ),
        Figure(
            "accuracy",
            "Accuracy with and without experts",
            "All seeds, their mean and its 95 % interval.",
            draw_accuracy,
        ),
    ),
    notes="This is beyond the thesis, which names the obstacle (a router that chooses the same "
    "experts at every step) and reports no numbers. Tables, items and learning are those of "
    "data-router/table-lookup.",
)
