"""Repeated copy: training, and a look at links and read modes afterwards."""

from dataclasses import dataclass

import numpy as np

from recombine import probes, tasks
from recombine._ranges import Count
from recombine.lab import Recorder

from .bitmap_trial import BitmapConfig, learn, report_parts

BLOCKS = 3
"""Blocks of the sequence that is drawn in Figure 2.4."""


@dataclass(frozen=True)
class Config(BitmapConfig):
    """Settings of the studies of copies."""

    bits: Count = 8
    """Bits of a row, W."""
    rows: tuple[Count, Count] = (2, 14)
    """The fewest and the most rows of a block, L."""
    repeats: tuple[Count, Count] = (1, 8)
    """The fewest and the most blocks of a sequence."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn to copy; then look at what happens along links."""
    import jax

    learned = learn(config, tasks.Copy(config.bits, config.rows, config.repeats), key, recorder)
    of_blocks, of_bitmap = jax.random.split(learned.key)
    repeats = max(BLOCKS, config.repeats[1])
    most = config.rows[1]
    whole = tasks.Copy(config.bits, (most, most), (repeats, repeats))
    bitmaps(learned.model, whole.sample(1, key=of_bitmap), recorder)
    if hasattr(learned.model, "dnc"):
        short = tasks.Copy(config.bits, (most, most), (BLOCKS, BLOCKS))
        look(learned.model.dnc, short.sample(config.evaluated, key=of_blocks), recorder)


def bitmaps(model, one, recorder: Recorder) -> None:
    """Input, target and output of a long sequence (Figure 2.3a)."""
    import equinox as eqx
    import jax

    logits = eqx.filter_jit(lambda m: m(2 * one.inputs - 1, one.lengths))(model)
    pictures = one.inputs[0], one.targets[0], jax.nn.sigmoid(logits)[0]
    for name, picture in zip(("input", "target", "output"), pictures, strict=True):
        recorder.array(name, np.asarray(picture).T)


def look(dnc, batch, recorder: Recorder) -> None:
    """Peaks and entropies of forward distributions, and how heads read (Figure 2.4)."""
    import equinox as eqx

    trace = eqx.filter_jit(dnc.trace)(2 * batch.inputs - 1)
    due = batch.phases == 3
    kinds = {"": trace.reading.forward, "plain_": trace.reading.plain_forward}
    for name, forward in kinds.items():
        used = probes.link_use(forward, due, batch.parts, BLOCKS)
        recorder.metric(f"{name}peak", np.asarray(used.peak).mean())
        recorder.metric(f"{name}entropy", np.asarray(used.entropy).mean())
        report_parts(recorder, f"{name}peak_by_part", used.peak)
        recorder.array(f"{name}forward", np.asarray(forward)[0, :, 0])
    modes = np.asarray(probes.by_phase(trace.asked.modes, batch.phases))[3, 0]
    for name, share in zip(("backward", "content", "forward"), modes, strict=True):
        recorder.metric(f"reads_{name}", share)
    recorder.array("modes", np.asarray(trace.asked.modes)[0, :, 0])
