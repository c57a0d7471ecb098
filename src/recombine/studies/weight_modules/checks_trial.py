"""What a trial of the checks does: learn masks again, halve them, change the price."""

from dataclasses import dataclass

import numpy as np

from recombine import learning, probes
from recombine._ranges import Count
from recombine.lab import Recorder

from .number_training import MaskConfig
from .protocol import conclude

FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Prices of a weight, relative to the one that the studies use."""
BINS = 500


@dataclass(frozen=True)
class Config(MaskConfig):
    """Settings of the checks."""

    early: Count = 2
    """Layers that count as early where half of a mask is applied."""


def price(factor: float) -> str:
    """The name of the mask of the whole task at a price."""
    return f"full at {factor:g}"


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn all masks in one program: of every target twice, and of the whole at all prices."""
    import jax
    import jax.numpy as jnp

    network = recorder.trained().network
    of_masks, of_test = jax.random.split(jax.random.fold_in(key, 1))
    test = config.task.build().sample(config.evaluated, key=of_test)
    task = {
        name: learning.Sampled(target, config.batch_size)
        for name, target in config.task.targets.items()
    }
    samplers = task | {f"{name} again": sampler for name, sampler in task.items()}
    samplers |= {price(factor): task["full"] for factor in FACTORS if factor != 1}
    factors = [1.0] * (2 * len(task)) + [factor for factor in FACTORS if factor != 1]
    masked = learning.Masked(network, names=tuple(samplers))
    learning.check_mask_steps(config.mask_steps, config.beta, config.batch_size, config.mask_rate)
    rule = learning.mask_descent(
        learning.number_loss, learning.Targets(samplers), masked,
        beta=config.beta * jnp.array(factors), batch_size=config.batch_size,
        rate=config.mask_rate, samples=config.samples, clip_norm=config.clip, key=of_masks,
        every=config.mask_steps,
    )  # fmt: skip
    learned = recorder.train(rule, rule.init(masked), config.mask_steps, name="masks")[0].model
    masks = learned.masks()

    full = masks["full"]
    halves = probes.half_masks(full, tuple(full.layers)[: config.early])
    tried = {"unmasked": full | ~full, "full": full} | halves
    tried |= {price(factor): masks[price(factor)] for factor in FACTORS if factor != 1}
    found = probes.under_masks(network, tried, learning.NumberAccuracy(test))
    right = {name: float(values["accuracy"]) for name, values in found.items()}
    right[price(1.0)] = right["full"]
    gate = probes.module_gate(right["unmasked"], right["full"])

    stability = [probes.mask_stability([masks[n], masks[f"{n} again"]]) for n in task]
    targets = [name for name in task if name != "full"]
    different = [
        probes.mask_overlap(masks[a], masks[b]).total_iou
        for place, a in enumerate(targets)
        for b in targets[place + 1 :]
    ]
    left = [right[price(factor)] / right["unmasked"] for factor in FACTORS]
    recorder.curve("left_by_price", FACTORS, left)
    recorder.metric("left_at_most", left[-1])
    kept = [probes.kept_share(masks["full" if f == 1 else price(f)]) for f in FACTORS]
    recorder.curve("kept_by_price", FACTORS, kept)
    recorder.array("histogram", probes.mask_histogram(learned, "full", bins=BINS).counts)
    conclude(
        recorder,
        gate,
        {
            "stability": np.mean(stability),
            "different": np.mean(different),
            "undecided": probes.undecided_share(learned, "full"),
            "early_drop": right["full"] - right["early"],
            "late_drop": right["full"] - right["late"],
            "left_below": min(left[1], left[2]),
            "left_above": left[3],
        },
    )
