"""What one trial of the study of SCAN does: find the modules of every split."""

from typing import Any

import numpy as np

from recombine import learning, probes, tasks
from recombine.lab import Recorder

from .protocol import conclude
from .scan_training import SPLITS, MaskConfig, scan_tasks, test_sets

READOUT = "readout.weight"
"""The output layer of an LSTM; a transformer's is its embedding, which has no mask."""


def trial(config: MaskConfig, key, recorder: Recorder) -> None:
    """Masks of all splits, and what networks under them can do.

    Of a network that was trained on a split there is only its accuracy, from its own trial.
    """
    import jax

    if config.trained_on != "simple":
        return
    network = recorder.trained().network
    masks = find_masks(config, network, jax.random.fold_in(key, 1), recorder).masks()
    tried = {"unmasked": masks["simple"] | ~masks["simple"], **masks}
    found = probes.under_masks(network, tried, learning.ExactTranslations(test_sets(config)))
    right: dict[str, dict[str, float]] = {
        name: {split: float(values[split]) for split in SPLITS} for name, values in found.items()
    }
    gate = probes.module_gate(right["unmasked"]["simple"], right["simple"]["simple"])
    conclude(recorder, gate, conclusions(masks, right))
    shares = [probes.kept_share(masks[name]) for name in SPLITS]
    recorder.array("kept", np.array(shares))


def find_masks(config: MaskConfig, network: Any, key: Any, recorder: Recorder) -> "learning.Masked":
    """Learn a mask on the training commands of every split, all in one program."""
    known = scan_tasks(config.without, config.longest)
    masked = learning.Masked(network, names=SPLITS)
    learning.check_mask_steps(config.mask_steps, config.beta, config.batch_size, config.mask_rate)
    rule = learning.mask_descent(
        learning.SummedTokenLoss(config.mask_forced, dropout=False),
        learning.Targets({n: learning.Sampled(known[n], config.batch_size) for n in SPLITS}),
        masked, beta=config.beta, batch_size=config.batch_size, rate=config.mask_rate,
        samples=config.samples, clip_norm=config.clip, key=key, draws=config.mask_forced < 1,
        every=max(1, config.mask_steps // 20),
    )  # fmt: skip
    steps = config.mask_steps - config.mask_steps % rule.every
    state, curves = recorder.train(rule, rule.init(masked), steps, name="masks")
    for place, name in enumerate(SPLITS):
        recorder.curve(f"kept_{name}", curves["step"], np.asarray(curves["kept"])[:, place])
    return state.model


def conclusions(masks: dict[str, Any], right: dict[str, dict[str, float]]) -> dict[str, float]:
    """Accuracies on the test commands of every split, and what the output layer loses."""
    made: dict[str, float] = {}
    for split in SPLITS:
        whole, control, own = (right[name][split] for name in ("unmasked", "simple", split))
        made |= {f"unmasked_{split}": whole, f"control_{split}": control, f"split_{split}": own}
        made[f"kept_{split}"] = control / max(whole, 1e-9)
        made[f"drop_{split}"] = control - own
    if READOUT in masks["simple"].layers:
        removed = probes.removed_per_output(masks["simple"], masks["jump"], READOUT, axis=1)
        names = ("END", *tasks.SCAN_ACTIONS.words)
        shares = dict(zip(names, removed, strict=True))
        made |= {f"removed_{name}": share for name, share in shares.items()}
        others = [share for name, share in shares.items() if name != "I_JUMP"]
        made["removed_lead"] = shares["I_JUMP"] - max(others)
    return made
