"""What a trial of the study of reuse does: masks of short and of long compositions."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from recombine import learning, probes
from recombine._ranges import Count, Positive
from recombine.lab import Recorder, Trained, UserError

from ..data_router import lookup_trial
from .protocol import conclude


@dataclass(frozen=True)
class Config(lookup_trial.Config):
    """Settings of the study of reuse: those of the network, and of its masks."""

    short_lengths: tuple[Count, Count] = (1, 2)
    """The fewest and the most functions of short compositions."""
    long_lengths: tuple[Count, Count] = (4, 5)
    """The fewest and the most functions of long compositions that were trained."""
    betas: tuple[Positive, ...] = (1e-3, 1e-2, 1e-1)
    """Prices of a weight times the batch size. The largest of which the mask of the whole task
    leaves enough is chosen, for each network."""
    mask_rate: Positive = 0.03
    """Learning rate of masks."""
    mask_batch: Count = 64
    """Items per step and mask."""
    samples: Count = 4
    """Samples of a mask per step, K."""
    mask_steps: Count = 1000
    """Steps of masks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        learning.check_mask_steps(
            self.mask_steps, min(self.betas), self.mask_batch, self.mask_rate
        )  # fmt: skip
        if not self.short_lengths[1] < self.long_lengths[0] <= self.long_lengths[1] <= self.longest:
            raise ValueError(
                f"short_lengths={self.short_lengths} must end before "
                f"long_lengths={self.long_lengths}, and these by longest={self.longest}"
            )


def needed(config: Config) -> Trained:
    """The trial that trains the network, which the studies of table lookup share."""
    own = {field.name: getattr(config, field.name) for field in fields(lookup_trial.Config)}
    return Trained(lookup_trial.trial, lookup_trial.Config(**own))


def padded(task, lengths, frame, size, width, t, key):
    """Fresh items in rows of one width: masks that are learned together need one shape."""
    return lookup_trial.drawn(task, lengths, frame, size, key=key).sized(width)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn masks of all, short and long compositions at all prices, choose one, and exchange."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    learned = lookup_trial.trained(config, key, recorder)
    of_masks, of_tests = jax.random.split(learned.key)
    lengths = {
        "all": (1, config.longest), "short": config.short_lengths, "long": config.long_lengths,
    }  # fmt: skip
    width = config.longest + 1 + sum(learned.frame)
    samplers = {
        name: jax.tree_util.Partial(
            padded, learned.task, of, learned.frame, config.mask_batch, width
        )
        for name, of in lengths.items()
    }
    make = eqx.filter_jit(lookup_trial.drawn)
    tests = {
        name: make(learned.task, of, learned.frame, config.evaluated, key=k)
        for (name, of), k in zip(
            (lengths | {"longer": config.longer_lengths}).items(),
            jax.random.split(of_tests, 4), strict=True,
        )
    }  # fmt: skip
    measure = learning.SequenceAccuracy(tests)

    def masks_of(samplers: dict[str, Any], beta: Any, key: Any, name: str) -> Any:
        masked = learning.Masked(learned.model, names=tuple(samplers))
        rule = learning.mask_descent(
            learning.label_loss, learning.Targets(samplers), masked, beta=beta,
            batch_size=config.mask_batch, rate=config.mask_rate, samples=config.samples, key=key,
            every=config.mask_steps,
        )  # fmt: skip
        state, _ = recorder.train(rule, rule.init(masked), config.mask_steps, name=name)
        return state.model.masks()

    def accuracies(masks: dict[str, Any]) -> dict[str, dict[str, float]]:
        found = probes.under_masks(learned.model, masks, measure)
        return {
            mask: {name: float(values[f"{name}_accuracy"]) for name in tests}
            for mask, values in found.items()
        }

    # Every mask at every price, in one program; which price counts is known afterwards.
    priced = {f"{name} at {beta:g}": samplers[name] for name in samplers for beta in config.betas}
    masked = learning.Masked(learned.model, names=tuple(priced))
    rule = learning.mask_descent(
        learning.label_loss, learning.Targets(priced), masked,
        beta=jnp.array(config.betas * len(samplers)), batch_size=config.mask_batch,
        rate=config.mask_rate, samples=config.samples, key=of_masks, every=config.mask_steps,
    )  # fmt: skip
    state, _ = recorder.train(rule, rule.init(masked), config.mask_steps, name="masks")
    whole = learning.WeightMask.full(learned.model)
    found = state.model.masks()
    measured = probes.under_masks(learned.model, {"unmasked": whole} | found, measure)
    under = {
        mask: {name: float(values[f"{name}_accuracy"]) for name in tests}
        for mask, values in measured.items()
    }
    unmasked = max(under["unmasked"]["all"], 1e-6)
    left = [under[f"all at {beta:g}"]["all"] for beta in config.betas]
    recorder.curve("left_by_price", config.betas, np.array(left) / unmasked)
    try:
        beta = learning.choose_beta(config.betas, left, unmasked).beta
    except UserError:  # then the gate is shut at every price
        beta = min(config.betas)
    recorder.metric("beta", beta)
    gate = probes.module_gate(unmasked, under[f"all at {beta:g}"]["all"])
    masks = {name: found[f"{name} at {beta:g}"] for name in samplers}
    exchanged = {name: under[f"{name} at {beta:g}"] for name in samplers}
    overlap = probes.mask_overlap(masks["short"], masks["long"])
    recorder.array("accuracy", [list(row.values()) for row in exchanged.values()])
    recorder.curve("iou", np.arange(len(overlap.layers)), overlap.iou)
    of_long = max(under["unmasked"]["long"], 1e-6)
    conclude(
        recorder,
        gate,
        {
            "reuse": exchanged["short"]["long"] / of_long,
            "short_own": exchanged["short"]["short"],
            "long_own": exchanged["long"]["long"],
            "long_on_short": exchanged["long"]["short"],
            "sharing": probes.shared_with(masks["long"], [masks["short"]]).total,
            "iou": overlap.total_iou,
            "kept_short": probes.kept_share(masks["short"]),
            "kept_long": probes.kept_share(masks["long"]),
        },
    )
