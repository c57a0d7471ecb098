"""Masks of one network: many in one program against one after another, and against plain training.

    make bench

Steps are in processor time, the least of several rounds in which the runs take turns. "One by one"
is 16 times a step of one mask, by a program that is compiled once. "With start" compares 400 steps
as a user waits for them: 16 masks after one another start 16 times, and compile once. The last
column is a step of one mask over a step of training the same network on the same batches.
"""

import time
from typing import NamedTuple

import jax

from recombine import learning, models
from timing import fastest

MASKS = 16
STEPS = 400
NETWORKS = {
    "8-16-16-4, batch 16": ((8, 16, 16, 4), 16),
    "42-64-64-20, batch 64": ((42, 64, 64, 20), 64),
    "42-128-128-128-20, batch 128": ((42, 128, 128, 128, 20), 128),
}


class Labelled(NamedTuple):
    x: jax.Array
    labels: jax.Array


def compare(sizes: tuple[int, ...], batch_size: int) -> tuple[float, ...]:
    key = jax.random.key(0)
    network = models.MLP(sizes, key=key)
    x = jax.random.normal(key, (1000, sizes[0]))
    data = learning.Drawn(Labelled(x, x[:, : sizes[-1]].argmax(axis=1)), batch_size)

    def masks(count: int):
        masked = learning.Masked(network, names=[str(i) for i in range(count)])
        return masked, learning.mask_descent(
            learning.ScoreLoss(), data, masked, beta=1e-3, batch_size=batch_size, rate=0.03,
            parallel=count, every=STEPS, key=key,
        )  # fmt: skip

    def run(start, rule):
        state = rule.init(start)
        return lambda: jax.block_until_ready(learning.train(rule, state, STEPS)[0].learns)

    plain = learning.Descent(
        learning.ScoreLoss(), data, learning.adam(1e-3), key=key, every=STEPS
    )  # fmt: skip
    begun = time.perf_counter()
    many = run(*masks(MASKS))
    many()
    first_many = time.perf_counter() - begun
    one = run(*masks(1))
    one()
    begun = time.perf_counter()
    run(*masks(1))()  # as the second to sixteenth mask: its loop is compiled
    first_one = time.perf_counter() - begun
    spent = fastest([run(network, plain), one, many], rounds=5)
    training, single, together = (s.processor / STEPS * 1e6 for s in spent)
    return training, single, together, first_many, MASKS * first_one


def main() -> None:
    titles = ("training", "one mask", "16 masks", "one by one / together", "with start")
    print(f"{'network':30s}" + "".join(f"{t:>{len(t) + 2}s}" for t in (*titles, "mask / training")))
    for name, (sizes, batch_size) in NETWORKS.items():
        training, single, together, first_many, first_one = compare(sizes, batch_size)
        print(
            f"{name:30s}{training:7.0f} µs{single:7.0f} µs{together:7.0f} µs"
            f"{MASKS * single / together:23.2f}{first_one / first_many:12.2f}"
            f"{single / training:17.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
