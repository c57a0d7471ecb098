"""What a trial with planted modules does: look for them by several methods."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine import learning, probes
from recombine.lab import Count, NotNegative, Positive, Recorder

from .protocol import conclude

Kind = Literal["side-by-side", "copied-weights", "gated-linear", "hyperteacher"]
METHODS = ("masks", "magnitude", "saliency", "random")


@dataclass(frozen=True)
class Config:
    """Settings of the study of planted modules."""

    kind: Kind = "side-by-side"
    """How modules are planted: networks side by side in one; copied input and output weights around
    shared hidden ones; pathways of a gated linear network; modules of a hyperteacher."""
    modules: Count = 3
    """Modules, each of which is to be found."""
    size: Count = 6
    """Inputs and outputs of a module."""
    width: Count = 8
    """Hidden units of a module."""
    noise: NotNegative = 0.01
    """Size of weights between modules, relative to theirs, where there is a place for them."""
    logit: Positive = 4.0
    """Where logits start. A weight is kept with probability 0.98 at 4, and 0.88 at 2, as in the
    thesis: then small networks lose whole units before masks are tight."""
    beta: Positive = 1e-3
    """Price of a weight times the batch size, β."""
    rate: Positive = 0.02
    """Learning rate of masks."""
    batch_size: Count = 128
    """Inputs per step and mask."""
    samples: Count = 4
    """Samples of a mask per step, K."""
    steps: Count = 2000
    """Steps of masks."""
    evaluated: Count = 512
    """Inputs per module on which networks are measured."""

    def __post_init__(self) -> None:
        learning.check_mask_steps(
            self.steps, self.beta, self.batch_size, self.rate, logit=self.logit
        )


def trial(config: Config, key, recorder: Recorder) -> None:
    """Plant modules, look for each, and compare what is found with what was planted."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from .planted_networks import KINDS, PlantedSampler, unexplained

    keys = jax.random.split(key, 6)
    make = KINDS[config.kind]
    plant = eqx.filter_jit(
        lambda key: make(config.modules, config.size, config.width, config.noise, key=key)
    )
    planted = plant(keys[0])
    network, modules = planted.network, range(config.modules)
    names = [f"module {m}" for m in modules]

    masked = learning.Masked(network, names=("all", *names), logit=config.logit)
    samplers = {"all": PlantedSampler(planted, None, config.batch_size)} | {
        name: PlantedSampler(planted, m, config.batch_size) for m, name in enumerate(names)
    }
    rule = learning.mask_descent(
        unexplained, learning.Targets(samplers), masked, beta=config.beta,
        batch_size=config.batch_size, rate=config.rate, samples=config.samples, key=keys[1],
        every=config.steps,
    )  # fmt: skip
    state, _ = recorder.train(rule, rule.init(masked), config.steps)
    learned = state.model.masks()

    draw = eqx.filter_jit(lambda m, key: planted.batch(jnp.full(config.evaluated, m), key=key))
    tests = [
        draw(jnp.array(m), k)
        for m, k in zip(modules, jax.random.split(keys[2], config.modules), strict=True)
    ]
    truth = list(planted.truth)
    counts = [sum(probes.kept_weights(mask).values()) for mask in truth]

    def outputs(network: Any, example: Any) -> Any:
        batch = jax.tree.map(lambda leaf: leaf[None], example)
        return jnp.where(batch.counts, network(batch.x, batch.module), 0)

    found: dict[str, list[Any]] = {
        "masks": [learned[name] for name in names],
        "magnitude": [probes.magnitude_mask(network, count) for count in counts],
        "saliency": [
            probes.saliency_mask(network, outputs, test, count, key=k)
            for test, count, k in zip(
                tests, counts, jax.random.split(keys[3], config.modules), strict=True
            )
        ],
        "random": [
            probes.random_mask(network, count, key=k)
            for count, k in zip(counts, jax.random.split(keys[4], config.modules), strict=True)
        ],
    }

    def explained(network: Any) -> dict[str, Any]:
        return {"explained": jnp.stack([1 - unexplained(network, test) for test in tests])}

    looked_at = {"all": learned["all"]} | {
        f"{method} {m}": masks[m] for method, masks in found.items() for m in modules
    }
    measured = probes.under_masks(network, looked_at, explained)
    shares = {name: np.clip(np.asarray(v["explained"]), 0, 1) for name, v in measured.items()}
    gate = probes.module_gate(1.0, float(shares["all"].mean()))
    metrics: dict[str, Any] = {}
    off = ~np.eye(config.modules, dtype=bool)
    for method, masks in found.items():
        overlaps = [probes.mask_overlap(a, b) for a, b in zip(masks, truth, strict=True)]
        effect = np.stack([shares[f"{method} {m}"] for m in modules])
        metrics[f"{method}_iou"] = np.mean([overlap.total_iou for overlap in overlaps])
        metrics[f"{method}_own"] = np.diag(effect).mean()
        metrics[f"{method}_others"] = effect[off].mean() if off.any() else 0.0
        recorder.array(f"{method}_iou_by_layer", np.stack([o.iou for o in overlaps]))
        recorder.array(f"{method}_explained", effect)
    conclude(recorder, gate, metrics)
