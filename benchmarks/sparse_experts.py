"""Speed of mixtures of experts on this machine, forward and backward.

    make bench

The grouped product applies the chosen experts of 4,096 tokens, 4 of 16 or of 64 experts with 128
hidden units each, to columns of width 128. It is set beside a dense network with 4 x 128 hidden
units, which does the same multiplications, and beside `jax.lax.ragged_dot`, which does those of all
experts on a CPU. Then whole layers of sigma-MoE, with their router, beside dense layers with as
many parameters. One thread; runs take turns, and the fastest of each counts, by the processor and,
in brackets, on the clock.
"""

import argparse
import os

os.environ.setdefault("NPROC", "1")
os.environ["OMP_NUM_THREADS"] = os.environ["NPROC"]
if os.environ["NPROC"] == "1":
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()

from collections.abc import Callable

import equinox as eqx
import jax

from recombine.models import expert_feed_forward, specs
from recombine.models._grouped_product import _by_ragged_dot
from timing import Seconds, fastest

TOKENS, WIDTH, SIZE, CHOSEN = 4096, 128, 128, 4
EXPERTS = (16, 64)


def step(function: Callable, *arguments, choice=None) -> Callable[[], None]:
    """A run of the gradient of the mean square of a function by all its arguments.

    The choice of experts is an input of the program, too: otherwise it would be grouped while it is
    compiled.
    """
    loss = lambda choice, *a: (function(*a, choice) ** 2).mean()  # noqa: E731
    program = jax.jit(jax.grad(loss, argnums=tuple(range(1, len(arguments) + 1))))
    return lambda: jax.block_until_ready(program(choice, *arguments))


def dense(x, inner, outer, choice=None):
    return jax.nn.relu(x @ inner) @ outer


def products() -> dict[str, Callable[[], None]]:
    """The grouped product, and what it is set beside."""
    keys = jax.random.split(jax.random.key(0), 6)
    x = jax.random.normal(keys[0], (TOKENS, WIDTH))
    inner = 0.1 * jax.random.normal(keys[1], (WIDTH, CHOSEN * SIZE))
    outer = 0.1 * jax.random.normal(keys[2], (CHOSEN * SIZE, WIDTH))
    runs = {"dense": step(dense, x, inner, outer)}
    for experts in EXPERTS:
        weights, choice = jax.lax.top_k(jax.random.normal(keys[3], (TOKENS, experts)), CHOSEN)
        inner = 0.1 * jax.random.normal(keys[4], (experts, WIDTH, SIZE))
        outer = 0.1 * jax.random.normal(keys[5], (experts, SIZE, WIDTH))
        grouped = lambda x, w, a, b, c: expert_feed_forward(x, c, w, a, b)  # noqa: E731
        ragged = lambda x, w, a, b, c: _by_ragged_dot(x, c, w, a, b, None, 0.0)  # noqa: E731
        runs[f"grouped, {experts}"] = step(grouped, x, weights, inner, outer, choice=choice)
        runs[f"ragged_dot, {experts}"] = step(ragged, x, weights, inner, outer, choice=choice)
    return runs


def layers() -> dict[str, Callable[[], None]]:
    """Whole layers of sigma-MoE, and dense layers with as many parameters."""
    x = jax.random.normal(jax.random.key(0), (1, TOKENS, WIDTH))
    runs = {}
    for experts in EXPERTS:
        sizes = specs.LayerSizes(WIDTH, experts * SIZE, 1, 0.0)
        mixture = specs.MixtureSpec(experts=experts, size=SIZE, chosen=CHOSEN)
        for name, spec in (("dense", specs.DepthScaledFeedForwardSpec()), ("sigma-MoE", mixture)):
            made = eqx.filter_jit(spec.build)(sizes, jax.random.key(1))
            arrays, rest = eqx.partition(made, eqx.is_array)
            apply = lambda arrays, x, _, rest=rest: eqx.combine(arrays, rest)(x)[0]  # noqa: E731
            runs[f"{name} layer, {experts}"] = step(apply, arrays, x)
    return runs


def ratios(times: dict[str, Seconds]) -> dict[str, float]:
    """What the product and the layer are to keep to, by the processor."""
    t = {name: seconds.processor for name, seconds in times.items()}
    few, many = EXPERTS
    return {
        f"grouped, {many} experts / {few} experts (at most 1.3)":
            t[f"grouped, {many}"] / t[f"grouped, {few}"],
        f"grouped, {few} experts / dense of equal work (at most 2.2)":
            t[f"grouped, {few}"] / t["dense"],
        f"grouped, {many} experts / dense of equal work (at most 2.5)":
            t[f"grouped, {many}"] / t["dense"],
        f"ragged_dot / grouped, {few} experts": t[f"ragged_dot, {few}"] / t[f"grouped, {few}"],
        f"ragged_dot / grouped, {many} experts (at least 8)":
            t[f"ragged_dot, {many}"] / t[f"grouped, {many}"],
        f"dense / sigma-MoE layer, {few} experts (more than 1)":
            t[f"dense layer, {few}"] / t[f"sigma-MoE layer, {few}"],
        f"dense / sigma-MoE layer, {many} experts (more than 1)":
            t[f"dense layer, {many}"] / t[f"sigma-MoE layer, {many}"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    runs = products() | layers()
    print(f"threads: {os.environ['NPROC']}; ms forward and backward, {TOKENS} tokens")
    times = dict(zip(runs, fastest(list(runs.values()), arguments.rounds), strict=True))
    for name, seconds in times.items():
        print(f"{name:<24}{1e3 * seconds.processor:8.1f} ({1e3 * seconds.clock:.1f})")
    for name, ratio in ratios(times).items():
        print(f"{name:<60}{ratio:6.2f}")


if __name__ == "__main__":
    main()
