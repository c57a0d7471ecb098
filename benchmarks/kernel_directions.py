"""The kernel rule for 32 modules: one program for all, against one module after the other.

    make bench

Both run the same code on the same samples, compiled before the clock starts, in 64-bit numbers.
They take turns, and the fastest of several rounds counts. One program may spread its modules over
the cores; one module at a time has nothing to spread.
"""

import os
import time

CORES = len(os.sched_getaffinity(0))
MODULES, DIMENSIONS, SAMPLES, BATCH, STEPS, ROUNDS = 32, 10, 1000, 128, 20, 15


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

    def rule(modules: int, key, mesh=None) -> learning.KernelDirections:
        columns = jnp.ones((modules, 1), bool)
        kernel = learning.SplitKernel(1.0, 0.1)
        return learning.KernelDirections(kernel, x, y[:, None], columns, key, BATCH, mesh=mesh)

    together = rule(MODULES, key, jax.sharding.Mesh(jax.devices()[:CORES], ("modules",)))
    alone = [rule(1, jax.random.fold_in(key, j)) for j in range(MODULES)]
    begin = eqx.filter_jit(lambda rule, u: rule.init(u))
    whole = begin(together, u)
    parts = [begin(r, u[j : j + 1]) for j, r in enumerate(alone)]

    def batched() -> None:
        jax.block_until_ready(learning.train(together, whole, STEPS, every=STEPS)[0])

    def looped() -> None:
        for r, start in zip(alone, parts, strict=True):
            jax.block_until_ready(learning.train(r, start, STEPS, every=STEPS)[0])

    best = {}
    for name, run in (("batched", batched), ("looped", looped)) * ROUNDS:
        if name not in best:
            run()  # compiles
            best[name] = float("inf")
        began = time.perf_counter()
        run()
        best[name] = min(best[name], time.perf_counter() - began)
    for name, seconds in best.items():
        print(f"{name}: {1e3 * seconds / STEPS:.2f} ms a step of {MODULES} modules")
    print(f"batched is {best['looped'] / best['batched']:.1f} times as fast")


if __name__ == "__main__":
    main()
