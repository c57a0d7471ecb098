"""Speed of an encoder-decoder: training steps and greedy decoding, beside PyTorch.

    python benchmarks/encoder_decoder.py

The universal transformer of SCAN's size (width 128, feed-forward 256, 8 heads, 3 layers) reads 256
commands and writes their actions. A training step draws dropout, computes the gradient of the
cross-entropy given true symbols, clips it, and updates with Adam. Decoding is greedy, with cached
keys and values, by a network that has learned to write outputs of the right length, so that it
stops when all sentences have ended; both libraries have the same weights and must write the same.
PyTorch runs eagerly, and is written the way one would write it down (`torch_encoder_decoder.py`).
Both have as many threads as `NPROC` says. They take turns in short rounds, and the fastest of each
counts: by the processor and, in brackets, on the clock.
"""

import argparse
import os

# As many threads for both, set before either is loaded.
os.environ.setdefault("NPROC", str(len(os.sched_getaffinity(0))))
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = os.environ["NPROC"]

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from recombine import learning, tasks
from recombine.models import specs
from recombine.models._encoder_decoder import framed
from timing import fastest

try:
    import torch_encoder_decoder
except ModuleNotFoundError:
    torch_encoder_decoder = None

SIZES = specs.TranslationSizes(13, 6)
SPEC = specs.UniversalSpec()
BATCH, RATE = 256, 1e-3


def training_batch():
    """Pairs as training draws them, in rows as long as the longest."""
    pairs = tasks.Scan(tasks.length_resplit(26)).lines("train")
    chosen = np.random.default_rng(0).choice(len(pairs.inputs), BATCH, replace=False)
    return tasks.trimmed(pairs, chosen)


def trainer(pairs, steps: int):
    """A function that takes `steps` training steps, as one program."""
    model = eqx.filter_jit(SPEC.build)(SIZES, jax.random.key(0))
    optimizer = learning.chain(learning.clip(5.0), learning.adam(RATE))
    rule = learning.Descent(
        learning.token_loss, lambda t, key: pairs, optimizer, key=jax.random.key(1)
    )
    state, done = rule.init(model), 0
    run = jax.jit(
        lambda arrays, first: jax.lax.fori_loop(
            first, first + steps, lambda t, s: eqx.filter(rule.step(s, t), eqx.is_array), arrays
        ),
        compiler_options={"xla_backend_optimization_level": 3},
    )

    def go() -> None:
        nonlocal state, done
        state, done = jax.block_until_ready(run(state, done)), done + steps

    return go, lambda: state.model


def torch_weights(model) -> dict[str, np.ndarray]:
    """The weights of a network, by the names that they have in `torch_encoder_decoder`."""
    encoder, decoder = model.encoder.stack.block, model.decoder.block

    def attention(name, part):
        return {f"{name}.{key}.weight": getattr(part, key).weight.T
                for key in ("query", "key_value", "output")}  # fmt: skip

    def feed_forward(name, part):
        return {
            f"{name}.0.weight": part.inner.weight.T, f"{name}.0.bias": part.inner.bias,
            f"{name}.3.weight": part.outer.weight.T, f"{name}.3.bias": part.outer.bias,
        }  # fmt: skip

    found = {
        # Row 0 is that of padding, which nothing reads.
        "words.weight": jnp.pad(model.encoder.embedding.weight, ((1, 0), (0, 0))),
        "symbols.weight": model.decoder.embedding.weight,
        "bias": model.decoder.bias,
    }
    found |= attention("encoder.0", encoder.attention)
    found |= feed_forward("encoder.1", encoder.feed_forward)
    found |= attention("decoder.0", decoder.attention)
    found |= attention("decoder.1", decoder.cross_attention)
    found |= feed_forward("decoder.2", decoder.feed_forward)
    for name, block in (("encoder", encoder), ("decoder", decoder)):
        for i, norm in enumerate(block.norms):
            found |= {f"{name}_norms.{i}.weight": norm.scale, f"{name}_norms.{i}.bias": norm.offset}
    return found


def row(name: str, times, each: int) -> None:
    milliseconds = 1e3 * np.array(times) / each
    text = "".join(f"{processor:9.0f} ({clock:6.0f})" for processor, clock in milliseconds)
    if len(milliseconds) == 2:
        processor, clock = milliseconds[1] / milliseconds[0]
        text += f"{processor:9.2f} ({clock:5.2f})"
    print(f"{name:<18}{text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="training steps in a round")
    parser.add_argument("--learn", type=int, default=150, help="steps before decoding")
    arguments = parser.parse_args()
    pairs = training_batch()
    plain = torch_encoder_decoder
    if plain is None:
        print("PyTorch is not installed: pip install 'recombine[bench]'")
    else:
        own = SPEC.width, SPEC.hidden, SPEC.heads, SPEC.layers, SPEC.dropout
        sizes = plain.Sizes(*SIZES, *own)
        batch = (framed(pairs.inputs, pairs.input_lengths, SIZES.words), pairs.input_lengths + 1,
                 pairs.outputs, pairs.output_lengths)  # fmt: skip
    print("threads:", os.environ["NPROC"])
    print(f"{'ms':<18}{'recombine':>18}{'PyTorch':>18}{'times as fast':>17}")

    runs = [trainer(pairs, arguments.steps)[0]]
    if plain is not None:
        runs.append(plain.trainer(sizes, batch, RATE, arguments.steps))
    row("training step", fastest(runs, arguments.rounds), arguments.steps)

    go, learned = trainer(pairs, arguments.learn)
    go()
    model, steps = learned(), pairs.outputs.shape[1] + 1
    decode = eqx.filter_jit(
        lambda model: model.greedy(pairs.inputs, pairs.input_lengths, steps),
        compiler_options={"xla_backend_optimization_level": 3},
    )
    runs = [lambda: jax.block_until_ready(decode(model))]
    if plain is not None:
        runs.append(plain.writer(torch_weights(model), sizes, batch, steps))
        ours, theirs = (np.asarray(run()) for run in runs)
        same = (ours[:, : theirs.shape[1]] == theirs).all(axis=1).mean()
        assert same > 0.98, f"only {same:.0%} of outputs are the same"
    row("greedy decoding", fastest(runs, arguments.rounds), 1)


if __name__ == "__main__":
    main()
