"""Speed of sequence classifiers: one training step of each, beside the same model in PyTorch.

    make bench

Every model has columns of size 128, 8 steps of one shared layer and 4 heads, and reads 256
sequences of up to 12 tokens. A step draws dropout, computes the gradient of the cross-entropy,
clips it, and updates with AdamW. PyTorch runs eagerly, and each model is written there the way one
would write it down (`torch_classifiers.py`). Both have a thread a core, or as many as `NPROC` says.
They take turns in short rounds, and the fastest of each counts: on the clock and, in brackets, by
the processor.

PyTorch is not one of the locked dependencies: install it with the extra `bench`. Without it there
is nothing to compare with, and only the library's own times are shown.
"""

import argparse
import os
from collections.abc import Callable

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
    import torch_classifiers
except ModuleNotFoundError:
    torch_classifiers = None

WORDS, CLASSES, BATCH, LENGTH, RATE = 21, 8, 256, 12, 1.5e-4
CONFIG = models.EncoderConfig(
    size=128, hidden=256, heads=4, steps=8, dropout=0.1, attention_dropout=0.1, gate_dropout=0.1
)


def bidirectional_lstm(words, classes, config, *, key) -> models.RecurrentClassifier:
    return models.RecurrentClassifier(
        words,
        classes,
        embedding=config.size,
        units=2 * config.size,
        bidirectional=True,
        dropout=config.dropout,
        key=key,
    )


CONSTRUCTORS = models.SEQUENCE_CLASSIFIERS | {"Bi-LSTM": bidirectional_lstm}


def batch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, lengths and labels."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(LENGTH // 2, LENGTH + 1, BATCH)
    lengths[0] = LENGTH
    tokens = generator.integers(1, WORDS + 1, (BATCH, LENGTH))
    tokens[np.arange(LENGTH) >= lengths[:, None]] = 0
    return tokens, lengths, generator.integers(0, CLASSES, BATCH)


def stepper(name: str, steps: int) -> Callable[[], None]:
    """A function that takes `steps` training steps of a model of the library, as one program."""
    tokens, lengths, labels = map(jnp.asarray, batch())
    model = eqx.filter_jit(CONSTRUCTORS[name])(WORDS, CLASSES, CONFIG, key=jax.random.key(0))
    weights, fixed = eqx.partition(model, eqx.is_inexact_array)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(RATE, weight_decay=0.01))

    def loss(weights, key):
        logits = eqx.combine(weights, fixed)(tokens, lengths, key=key)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def step(state, key):
        weights, inner = state
        value, gradient = jax.value_and_grad(loss)(weights, key)
        updates, inner = optimiser.update(gradient, inner, weights)
        return (optax.apply_updates(weights, updates), inner), value

    @jax.jit
    def run(state, key):
        return jax.lax.scan(step, state, jax.random.split(key, steps))

    state = (weights, optimiser.init(weights))

    def go() -> None:
        nonlocal state
        state, losses = jax.block_until_ready(run(state, jax.random.key(1)))
        assert np.all(np.isfinite(losses))

    return go


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CONSTRUCTORS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=4, help="training steps in a round")
    arguments = parser.parse_args()
    if torch_classifiers is None:
        print("PyTorch is not installed: pip install 'recombine[bench]'")
    print("threads:", os.environ["NPROC"])
    print(f"{'ms per step':<18}{'recombine':>16}{'PyTorch':>16}{'times as fast':>18}")
    for name in arguments.names:
        runs = [stepper(name, arguments.steps)]
        if torch_classifiers is not None:
            sizes = torch_classifiers.Sizes(WORDS, CLASSES, LENGTH)
            plain = torch_classifiers.stepper(name, CONFIG, sizes, batch(), RATE, arguments.steps)
            runs.append(plain)
        times = 1e3 * np.array(fastest(runs, arguments.rounds)) / arguments.steps
        row = "".join(f"{clock:7.0f} ({processor:6.0f})" for processor, clock in times)
        if len(times) == 2:
            by_processor, ratio = times[1] / times[0]
            row += f"{ratio:9.2f} ({by_processor:6.2f})"
        print(f"{name:<18}{row}", flush=True)


if __name__ == "__main__":
    main()
