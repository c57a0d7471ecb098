"""What one trial of the study of double addition does: find the modules of both sums."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine import learning, probes
from recombine.lab import Recorder
from recombine.models import specs

from .number_training import MaskConfig, find_masks, layer_parts
from .protocol import conclude

PAIRS = ("pair_1", "pair_2")


@dataclass(frozen=True)
class Config(MaskConfig):
    """Settings of the study of double addition."""

    copied: bool = False
    """Whether the network gets the same weights for both pairs before masks are learned: input
    weights and output weights of the second pair are copied to the first. Only for networks that
    are used once for every pair."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.copied and not isinstance(self.model, specs.NumberMLPSpec):
            raise ValueError(
                "copied=true is for a network that is used once for every pair: use model=fnn, or "
                "copied=false"
            )


def copy_of_second(network: Any) -> Any:
    """The network with the weights of the second pair's units on the first pair's, too."""
    import equinox as eqx

    first, last = network.mlp.layers[0], network.mlp.layers[-1]
    half, out = len(first.weight) // 2, last.weight.shape[1] // 2
    return eqx.tree_at(
        lambda n: (n.mlp.layers[0].weight, n.mlp.layers[-1].weight, n.mlp.layers[-1].bias),
        network,
        (
            first.weight.at[:half].set(first.weight[half:]),
            last.weight.at[:, :out].set(last.weight[:, out:]),
            last.bias.at[:out].set(last.bias[out:]),
        ),
    )


def variants(masks: dict[str, Any]) -> dict[str, Any]:
    """The masks, and what is made of them by inversion: Tables 3.1 and B.2, and the text."""
    full = masks["full"]
    first, hidden, last = layer_parts(full.layers)
    made = {"unmasked": full | ~full, **masks}
    for pair in PAIRS:
        inverted = ~masks[pair]
        made[f"inverted_{pair}"] = inverted
        made[f"hidden_{pair}"] = probes.replace_in_mask(inverted, full, (first, last))
        made[f"alone_{pair}"] = probes.restrict_mask(inverted, hidden)
    return made


def trial(config: Config, key, recorder: Recorder) -> None:
    """Masks of both pairs and of each, their overlap, and what networks under them can do."""
    import jax

    network = recorder.trained().network
    network = copy_of_second(network) if config.copied else network
    of_masks, of_test = jax.random.split(jax.random.fold_in(key, 1))
    test = config.task.build().sample(config.evaluated, key=of_test)
    masks = find_masks(config, network, of_masks, recorder).masks()
    found = probes.under_masks(network, variants(masks), learning.NumberAccuracy(test))
    right = {
        name: [float(values[f"accuracy_{pair}"]) for pair in (1, 2)]
        for name, values in found.items()
    }
    recorder.array("right", np.array(list(right.values())))
    gate = probes.module_gate(min(right["unmasked"]), min(right["full"]))
    conclude(recorder, gate, conclusions(config, masks, right))
    report_overlap(masks["pair_1"], masks["pair_2"], recorder)


def conclusions(
    config: Config, masks: dict[str, Any], right: dict[str, list[float]]
) -> dict[str, float]:
    """Accuracies by mask and pair, and how much the masks of both pairs share."""
    chance = 10.0**-config.task.digits
    made = {f"full_{pair}": right["full"][pair - 1] for pair in (1, 2)}
    for own, pair in enumerate(PAIRS):
        other = 1 - own
        made[f"own_{pair}"] = right[pair][own]
        made[f"other_{pair}"] = right[pair][other]
        made[f"above_chance_{pair}"] = right[pair][other] - chance
        for kind in ("inverted", "hidden", "alone"):
            made[f"{kind}_own_{pair}"] = right[f"{kind}_{pair}"][own]
            made[f"{kind}_other_{pair}"] = right[f"{kind}_{pair}"][other]
    overlap = probes.mask_overlap(masks["pair_1"], masks["pair_2"])
    inner = slice(1, -1)
    return made | {
        "hidden_iou": overlap.iou[inner].mean(), "hidden_io_min": overlap.io_min[inner].mean(),
        "outer_iou": max(overlap.iou[0], overlap.iou[-1]),
    }  # fmt: skip


def report_overlap(one: Any, other: Any, recorder: Recorder) -> None:
    """Overlap and numbers of weights, by layer."""
    overlap = probes.mask_overlap(one, other)
    places = np.arange(len(overlap.layers))
    recorder.curve("iou", places, overlap.iou)
    recorder.curve("io_min", places, overlap.io_min)
    for name, mask in (("first", one), ("second", other)):
        recorder.curve(f"weights_{name}", places, list(probes.kept_weights(mask).values()))
