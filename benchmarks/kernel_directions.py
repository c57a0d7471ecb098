"""The kernel rule for 32 modules: one program for all, against one module after the other.

    make bench

All run the same code on the same samples, compiled before the clock starts, in 64-bit numbers, with
the batches of the paper. They take turns, and the fastest of several rounds counts. One program may
spread its modules over the cores; one module at a time has nothing to spread.

There are two loops. In one every step is a loop over the modules, each by a compiled step: what one
writes who wants to see all modules after a step. In the other all steps of a module are one
compiled program, and one module's training follows another's: the least that a loop can cost.
"""

import os
from collections.abc import Callable

from timing import fastest

CORES = len(os.sched_getaffinity(0))
MODULES, DIMENSIONS, SAMPLES, STEPS = 32, 10, 1000, 20
ROUNDS = {32: 15, 128: 15, 512: 3}
"""By batch; the studies use 128."""


def runs_of(batch: int) -> dict[str, Callable[[], None]]:
    """All of them for one size of the batch, each `STEPS` steps of all modules."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from recombine import learning, models, tasks

    key = jax.random.key(0)
    target = tasks.SineRegression.random(DIMENSIONS, DIMENSIONS, key=key)
    x, y = target.sample(SAMPLES, key=jax.random.key(1))
    u = models.random_directions(MODULES, DIMENSIONS, key=jax.random.key(2))
    kernel = models.SplitKernel(1.0, 0.1)

    def rule(modules: int, key, mesh=None) -> learning.KernelDirections:
        columns = jnp.ones((modules, 1), bool)
        return learning.KernelDirections(kernel, x, y[:, None], columns, key, batch, mesh=mesh)

    begin = eqx.filter_jit(lambda rule, u: rule.init(u))
    step = eqx.filter_jit(lambda rule, state, t: rule.step(state, t))
    together = rule(MODULES, key, jax.sharding.Mesh(jax.devices()[:CORES], ("modules",)))
    alone = [rule(1, jax.random.fold_in(key, j)) for j in range(MODULES)]
    whole = begin(together, u)
    parts = [begin(r, u[j : j + 1]) for j, r in enumerate(alone)]

    def one_program() -> None:
        jax.block_until_ready(learning.train(together, whole, STEPS, every=STEPS)[0])

    def loop_in_every_step() -> None:
        states = parts
        for t in map(jnp.asarray, range(STEPS)):
            states = [step(r, s, t) for r, s in zip(alone, states, strict=True)]
        jax.block_until_ready(states)

    def loop_of_trainings() -> None:
        for r, start in zip(alone, parts, strict=True):
            jax.block_until_ready(learning.train(r, start, STEPS, every=STEPS)[0])

    return {
        "one program": one_program,
        "a loop in every step": loop_in_every_step,
        "a loop of trainings": loop_of_trainings,
    }


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Devices that wait for each other without end if all are used, so twice as many.
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={2 * CORES}")

    import jax

    jax.config.update("jax_enable_x64", True)
    for batch, rounds in ROUNDS.items():
        runs = runs_of(batch)
        seconds = [best.clock for best in fastest(list(runs.values()), rounds)]
        for name, spent in zip(runs, seconds, strict=True):
            print(
                f"batch {batch:3d}, {name:20s} {1e3 * spent / STEPS:7.2f} ms per step of "
                f"{MODULES} modules, {spent / seconds[0]:4.1f} times that of one program"
            )


if __name__ == "__main__":
    main()
