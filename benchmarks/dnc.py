"""Speed of differentiable neural computers: one training step, beside the same model in PyTorch.

    make bench

A step computes the gradient of the cross-entropy of all bits of a batch, clips it and updates by
RMSProp. All amendments are switched on. PyTorch runs eagerly, and the model is written there the
way one would write it down (`torch_dnc.py`). Both have one thread per core, or as many as `NPROC`
says. They take turns in short rounds, and the fastest of each counts: on the clock and, in
brackets, by the processor.

PyTorch is not one of the locked dependencies: install it with the extra `bench`. Without it only
the library's own times are shown.
"""

import argparse
import os
from collections.abc import Callable
from typing import NamedTuple

# As many threads for both, set before either is loaded.
os.environ.setdefault("NPROC", str(len(os.sched_getaffinity(0))))
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = os.environ["NPROC"]

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from recombine import models
from timing import fastest

try:
    import torch_dnc
except ModuleNotFoundError:
    torch_dnc = None

RATE = 1e-4


class Row(NamedTuple):
    width: int
    """Numbers of an input and of an output."""
    units: int
    cells: int
    word: int
    heads: int
    batch: int
    time: int


ROWS = {
    "copy": Row(9, 32, 16, 16, 1, 16, 60),
    "bAbI": Row(64, 256, 256, 64, 4, 2, 200),
    "wide batch": Row(9, 32, 16, 16, 1, 64, 40),
}


def bits(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets."""
    generator = np.random.default_rng(0)
    shape = row.batch, row.time, row.width
    x = generator.choice((-1.0, 1.0), shape).astype(np.float32)
    return x, (generator.random(shape) < 0.5).astype(np.float32)


def stepper(row: Row, steps: int) -> Callable[[], None]:
    """A function that takes `steps` training steps of the library's model, as one program."""
    x, y = map(jnp.asarray, bits(row))
    model = models.DNC(
        row.width, row.width, units=row.units, cells=row.cells, word=row.word, heads=row.heads,
        key=jax.random.key(0),
    )  # fmt: skip
    weights, fixed = eqx.partition(model, eqx.is_inexact_array)
    optimizer = optax.chain(
        optax.clip_by_global_norm(10.0), optax.rmsprop(RATE, momentum=0.9, eps=1e-10)
    )

    def loss(weights):
        logits = eqx.combine(weights, fixed)(x)[0]
        return optax.sigmoid_binary_cross_entropy(logits, y).sum() / row.batch

    def step(state, _):
        weights, inner = state
        value, gradient = jax.value_and_grad(loss)(weights)
        updates, inner = optimizer.update(gradient, inner, weights)
        return (optax.apply_updates(weights, updates), inner), value

    @jax.jit
    def run(state):
        return jax.lax.scan(step, state, length=steps)

    state = (weights, optimizer.init(weights))

    def go() -> None:
        nonlocal state
        state, losses = jax.block_until_ready(run(state))
        assert np.all(np.isfinite(losses))

    return go


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(ROWS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=2, help="training steps in a round")
    arguments = parser.parse_args()
    if torch_dnc is None:
        print("PyTorch is not installed: pip install 'recombine[bench]'")
    print("threads:", os.environ["NPROC"])
    print(f"{'ms per step':<12}{'recombine':>16}{'PyTorch':>16}{'times as fast':>18}")
    for name in arguments.names:
        row = ROWS[name]
        runs = [stepper(row, arguments.steps)]
        if torch_dnc is not None:
            sizes = torch_dnc.Sizes(row.width, row.width, row.units, row.cells, row.word, row.heads)
            runs.append(torch_dnc.stepper(sizes, *bits(row), RATE, arguments.steps))
        times = 1e3 * np.array(fastest(runs, arguments.rounds)) / arguments.steps
        text = "".join(f"{clock:7.0f} ({processor:6.0f})" for processor, clock in times)
        if len(times) == 2:
            by_processor, ratio = times[1] / times[0]
            text += f"{ratio:9.2f} ({by_processor:6.2f})"
        print(f"{name:<12}{text}", flush=True)


if __name__ == "__main__":
    main()
