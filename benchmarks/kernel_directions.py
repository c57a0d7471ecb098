"""The kernel rule for 32 modules: one program for all, against one module after the other.

    make bench

All run the same code on the same samples, compiled before the clock starts, in 64-bit numbers, with
the batches of the paper. They take turns, and the fastest of several rounds counts. One program may
spread its modules over the cores; one module at a time has nothing to spread. The loop over modules
is written twice: within every step, as an epoch of training with something between the steps needs
it, and outside of whole compiled trainings, the fastest that it can be.
"""

import os
import time

CORES = len(os.sched_getaffinity(0))
MODULES, DIMENSIONS, SAMPLES, STEPS = 32, 10, 1000, 20
ROUNDS = {32: 15, 128: 15, 512: 3}
"""By batch; the studies use 128."""


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Devices that wait for each other without end if all are used, so twice as many.
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={2 * CORES}")

    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from recombine import learning, models, tasks

    jax.config.update("jax_enable_x64", True)
    key = jax.random.key(0)
    target = tasks.SineRegression.random(DIMENSIONS, DIMENSIONS, key=key)
    x, y = target.sample(SAMPLES, key=jax.random.key(1))
    u = models.random_directions(MODULES, DIMENSIONS, key=jax.random.key(2))

    begin = eqx.filter_jit(lambda rule, u: rule.init(u))
    one_step = eqx.filter_jit(lambda rule, state, t: rule.step(state, t))

    for batch, rounds in ROUNDS.items():

        def rule(modules: int, key, mesh=None, batch=batch) -> learning.KernelDirections:
            columns = jnp.ones((modules, 1), bool)
            kernel = learning.SplitKernel(1.0, 0.1)
            return learning.KernelDirections(kernel, x, y[:, None], columns, key, batch, mesh=mesh)

        together = rule(MODULES, key, jax.sharding.Mesh(jax.devices()[:CORES], ("modules",)))
        alone = [rule(1, jax.random.fold_in(key, j)) for j in range(MODULES)]
        whole = begin(together, u)
        parts = [begin(r, u[j : j + 1]) for j, r in enumerate(alone)]

        def batched(together=together, whole=whole) -> None:
            jax.block_until_ready(learning.train(together, whole, STEPS, every=STEPS)[0])

        def trainings(alone=alone, parts=parts) -> None:
            for r, start in zip(alone, parts, strict=True):
                jax.block_until_ready(learning.train(r, start, STEPS, every=STEPS)[0])

        def steps(alone=alone, states=parts) -> None:
            for t in map(jnp.asarray, range(STEPS)):
                states = [one_step(r, s, t) for r, s in zip(alone, states, strict=True)]
            jax.block_until_ready(states)

        runs = {"one program": batched, "loop in a step": steps, "loop of trainings": trainings}
        best = dict.fromkeys(runs, float("inf"))
        for run in runs.values():
            run()  # compiles
        for name, run in list(runs.items()) * rounds:
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
        for name, seconds in best.items():
            print(
                f"batch {batch:3d}, {name:17s} {1e3 * seconds / STEPS:7.2f} ms a step of "
                f"{MODULES} modules, {seconds / best['one program']:4.1f} times that of one program"
            )


if __name__ == "__main__":
    main()
