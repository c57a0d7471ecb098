"""Speed of the neural race on one core, beside plain implementations of the same computation.

    make bench

Every row is measured in this one run: the same network, data, step size and number of steps, once
with the library (whole loop compiled) and once with NumPy, stacked (all domains in single matrices)
and route by route (as published simulations are written). Compile time is given apart.
"""

import os

os.environ.setdefault("NPROC", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import time
from collections.abc import Callable

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from recombine import data, learning, models, splits, tasks
from recombine.studies.neural_race.image_trial import observed

STEPS = 1000
M, K, WIDTH, RATE = 7, 4, 64, 0.02


def seconds(run: Callable[[], object], tries: int = 3) -> float:
    """The shortest of a few tries."""
    times = []
    for _ in range(tries):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)


def library(rule, state) -> tuple[float, float]:
    """Seconds for `STEPS` steps, and seconds spent compiling."""

    def run():
        return jax.block_until_ready(learning.train(rule, state, STEPS, every=100, chunk=STEPS)[0])

    started = time.perf_counter()
    run()
    first = time.perf_counter() - started
    then = seconds(run)
    return then, first - then


def stacked(W1, W2, W3, X, Y, mask, steps) -> None:
    """Gradient descent with the domains of each stage in one matrix."""
    (m, h, d), f, n = W1.shape, W3.shape[1], len(X)
    A, W, C = W1.transpose(1, 0, 2).reshape(h, m * d), W2.copy(), W3.reshape(m * f, h)
    weight = np.kron(mask.T, np.ones((f, n))) * 2 / (n * f)
    target = np.tile(Y.T, (m, m))
    for _ in range(steps):
        hidden = W @ A  # X is the identity
        error = weight * (C @ hidden - target)
        back = C.T @ error
        A, W, C = A - RATE * W.T @ back, W - RATE * back @ A.T, C - RATE * error @ hidden.T


def route_by_route(W1, W2, W3, X, Y, mask, steps) -> None:
    """Gradient descent with a loop over the trained routes."""
    W1, W2, W3 = W1.copy(), W2.copy(), W3.copy()
    for _ in range(steps):
        G1, G2, G3 = np.zeros_like(W1), np.zeros_like(W2), np.zeros_like(W3)
        for i, j in np.argwhere(mask):
            first = W1[i] @ X.T
            second = W2 @ first
            error = 2 / Y.size * (W3[j] @ second - Y.T)
            back = W3[j].T @ error
            G3[j] += error @ second.T
            G2 += back @ first.T
            G1[i] += W2.T @ back @ X
        W1, W2, W3 = W1 - RATE * G1, W2 - RATE * G2, W3 - RATE * G3


def main() -> None:
    table = Table(title=f"{STEPS} steps on one core", title_justify="left")
    for column in ("computation", "implementation", "seconds", "steps/s", "compiling", "speed"):
        table.add_column(column, justify="left" if column[0] in "ci" else "right")

    def row(name, how, took, compiling=None, baseline=None):
        table.add_row(
            name,
            how,
            f"{took:.3f}",
            f"{STEPS / took:,.0f}",
            "" if compiling is None else f"{compiling:.1f} s",
            "" if baseline is None else f"{baseline / took:.1f}x",
        )

    with jax.enable_x64(True):
        items = tasks.hierarchical_items()
        mask = splits.ring_mask(M, K)
        network = models.RoutingNetwork.orthogonal(
            0.2, num_domains=M, width=WIDTH, key=jax.random.key(0)
        )
        rule = learning.routing_descent(items.X, items.Y, mask, RATE)
        ours, compiling = library(rule, network)
        arrays = [np.asarray(a) for a in (network.W1, network.W2, network.W3, *items, mask)]
        slow = seconds(lambda: route_by_route(*arrays, STEPS), tries=1)
        plain = seconds(lambda: stacked(*arrays, STEPS), tries=1)
    name = f"routing network, M={M}, K={K}, width {WIDTH}, float64"
    row(name, "NumPy, route by route", slow, baseline=slow)
    row(name, "NumPy, stacked", plain, baseline=slow)
    row(name, "recombine", ours, compiling, baseline=slow)

    images = data.digits()
    task = tasks.ImageRouting(
        images, tasks.pixel_permutations(10, 64), tasks.random_labels(10, key=jax.random.key(1))
    )
    model = models.GatedClassifier(10, 64, 64, 10, gain=0.1, key=jax.random.key(2))
    loss = learning.RouteLoss(splits.ring_mask(10, 4))
    rule = learning.Descent(
        loss, learning.Sampled(task, 32), learning.sgd(0.1, momentum=0.9), key=jax.random.key(3),
        measure=jax.tree_util.Partial(observed, loss, task),
    )  # fmt: skip
    ours, compiling = library(rule, rule.init(model))
    row("gated classifier, digits, M=10, width 64, batch 32", "recombine", ours, compiling)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
