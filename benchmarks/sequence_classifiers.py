"""Speed of sequence classifiers: one training step of each, beside the same model in PyTorch.

    make bench

Every model has columns of width 128, 8 layers that share one block and 4 heads, and reads 256
sequences of up to 12 tokens. A step draws dropout, computes the gradient of the cross-entropy,
clips it, and updates with AdamW. PyTorch runs eagerly, and each model is written there the way one
would write it down (`torch_classifiers.py`). Both have one thread per core, or as many as `NPROC`
says. They take turns in short rounds, and the fastest of each counts: on the clock and, in
brackets, by the processor.

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

from recombine.models import specs
from timing import fastest

try:
    import torch_classifiers
except ModuleNotFoundError:
    torch_classifiers = None

VOCABULARY, CLASSES, BATCH, LENGTH, RATE = 21, 8, 256, 12, 1.5e-4
SIZES = specs.SequenceSizes(VOCABULARY, CLASSES)
SHARED = {"width": 128, "hidden": 256, "heads": 4, "layers": 8, "dropout": 0.1}


def geometric(**options) -> specs.GeometricAttentionSpec:
    return specs.GeometricAttentionSpec(dropout=0.1, **options)


def relative(**options) -> specs.RelativeAttentionSpec:
    return specs.RelativeAttentionSpec(dropout=0.1, **options)


GATE = specs.CopyGateSpec(data_norm=False, gate_dropout=0.1)
SPECS = {
    "Transformer": specs.TransformerSpec(
        **SHARED, attention=specs.SoftmaxAttentionSpec(dropout=0.1)
    ),
    "+ rel": specs.RelativeTransformerSpec(**SHARED, attention=relative()),
    "+ geom.": specs.GeometricTransformerSpec(**SHARED, attention=geometric(normalised=True)),
    "+ rel + gate": specs.GatedRelativeTransformerSpec(**SHARED, block=GATE),
    "+ abs/rel + gate": specs.GatedPositionTransformerSpec(**SHARED, block=GATE),
    "NDR": specs.NDRSpec(**SHARED),
    "NDR of CTL++": specs.CTLPPNDRSpec(**SHARED, reads="last"),
    "Bi-LSTM": specs.BiLSTMSpec(embedding=128, units=128, dropout=0.1),
}


def batch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, lengths and labels."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(LENGTH // 2, LENGTH + 1, BATCH)
    lengths[0] = LENGTH
    tokens = generator.integers(1, VOCABULARY + 1, (BATCH, LENGTH))
    tokens[np.arange(LENGTH) >= lengths[:, None]] = 0
    return tokens, lengths, generator.integers(0, CLASSES, BATCH)


def stepper(name: str, steps: int) -> Callable[[], None]:
    """A function that takes `steps` training steps of a model of the library, as one program."""
    tokens, lengths, labels = map(jnp.asarray, batch())
    model = eqx.filter_jit(SPECS[name].build)(SIZES, jax.random.key(0))
    weights, fixed = eqx.partition(model, eqx.is_inexact_array)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(RATE, weight_decay=0.01))

    def loss(weights, key):
        logits = eqx.combine(weights, fixed)(tokens, lengths, key=key)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def step(state, key):
        weights, inner = state
        value, gradient = jax.value_and_grad(loss)(weights, key)
        updates, inner = optimizer.update(gradient, inner, weights)
        return (optax.apply_updates(weights, updates), inner), value

    @jax.jit
    def run(state, key):
        return jax.lax.scan(step, state, jax.random.split(key, steps))

    state = (weights, optimizer.init(weights))

    def go() -> None:
        nonlocal state
        state, losses = jax.block_until_ready(run(state, jax.random.key(1)))
        assert np.all(np.isfinite(losses))

    return go


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SPECS), metavar="NAME")
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
            sizes = torch_classifiers.Sizes(VOCABULARY, CLASSES, LENGTH, **SHARED)
            plain = torch_classifiers.stepper(name, sizes, batch(), RATE, arguments.steps)
            runs.append(plain)
        times = 1e3 * np.array(fastest(runs, arguments.rounds)) / arguments.steps
        row = "".join(f"{clock:7.0f} ({processor:6.0f})" for processor, clock in times)
        if len(times) == 2:
            by_processor, ratio = times[1] / times[0]
            row += f"{ratio:9.2f} ({by_processor:6.2f})"
        print(f"{name:<18}{row}", flush=True)


if __name__ == "__main__":
    main()
