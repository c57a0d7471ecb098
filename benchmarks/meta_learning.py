"""Speed of meta-learning at the paper's size: outer steps per second of the four models.

    make bench

One outer step draws 128 tasks of the hyperteacher (M = 8, K = 2, 256 + 256 samples), adapts to each
(10 inner steps, ANIL 100), differentiates through the adaptation and updates the slow parameters.
Beside the library's linear hypernetwork stands the same computation as it is usually written: all
tasks at once under `vmap`, activations divided by √fan-in. The library spreads the tasks over one
device per core, plain JAX has one device with as many threads: both use all cores. Every row is
measured in a process of its own.
"""

import os
import subprocess
import sys
import time

STEPS = 3
CORES = len(os.sched_getaffinity(0))
ROWS = ("plain", "linear-hypernetwork", "nonlinear-hypernetwork", "anil", "maml")


def seconds_per_step(step, state) -> tuple[float, float]:
    """Seconds per step, and seconds of the first call, which compiles."""
    import jax

    started = time.perf_counter()
    state = jax.block_until_ready(step(state))
    first = time.perf_counter() - started
    started = time.perf_counter()
    for _ in range(STEPS):
        state = jax.block_until_ready(step(state))
    return (time.perf_counter() - started) / STEPS, first


def world():
    """The hyperteacher with all 1,296 combinations of two layers."""
    import jax

    from recombine import splits, tasks

    codes = splits.layered_codes(splits.up_to_k_hot_masks(8, 2), 2)
    return tasks.HyperTeacher(splits.ListedCodes(codes), key=jax.random.key(0))


def library(name: str) -> tuple[float, float]:
    """A model of the library, with the hyperparameters of Table A10."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from recombine import learning, tasks
    from recombine.lab.settings import from_plain
    from recombine.models.specs import VectorSizes
    from recombine.studies.hyperteacher.support import study

    trial = study.trials("paper", overrides={"model": name})[0]
    config = from_plain(study.config, trial.config)
    task = world()
    rule = learning.MetaLearning(
        task,
        learning.Adaptation(
            learning.kl_divergence, config.inner_steps, learning.inner_adamw(config.inner_rate)
        ),
        tasks.TaskSets({"valid": task.sample(1, key=jax.random.key(1))}),
        learning.chain(
            learning.clip(config.clip),
            learning.adamw(config.outer_rate, weight_decay=config.weight_decay),
        ),
        tasks=config.tasks,
        batch_size=config.batch_size,
        mesh=jax.sharding.Mesh(jax.devices(), ("tasks",)),
    )
    model = config.model.build(VectorSizes(16, 8), jax.random.key(2))
    step = eqx.filter_jit(rule.step)
    return seconds_per_step(
        lambda state: step(state, jnp.asarray(0)), rule.init(model, key=jax.random.key(3))
    )


def plain() -> tuple[float, float]:
    """The linear hypernetwork with three hidden layers, plainly written."""
    import jax
    import jax.numpy as jnp
    import optax

    task = world()
    sizes = ((16, 128), (128, 128), (128, 128), (128, 8))
    groups = (0, 1, 1, 2)

    def predict(bank, fast, x):
        rows = [e * jax.lax.stop_gradient(e.size**0.5 / jnp.linalg.norm(e)) for e in fast[:-1]]
        for n, ((a, b), group, row) in enumerate(zip(sizes, groups, rows, strict=True)):
            vector = row @ bank[group]
            x = x @ vector[: a * b].reshape(a, b) / a**0.5 + vector[a * b :]
            x = jax.nn.relu(x) if n < 3 else x
        return x + fast[-1]

    def loss(fast, bank, x, y):
        log = jax.nn.log_softmax(predict(bank, fast, x))
        return jnp.mean(jnp.sum(jax.scipy.special.xlogy(y, y) - y * log, -1))

    inner = optax.adamw(0.3, eps_root=1.2e-7)
    outer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.001, weight_decay=0.01))

    def of_task(slow, support, query):
        bank, embeddings = slow

        def step(carry, _):
            fast, opt_state = carry
            gradient = jax.grad(loss)(fast, bank, support.x, support.y)
            updates, opt_state = inner.update(gradient, opt_state, fast)
            return (optax.apply_updates(fast, updates), opt_state), None

        start = (*embeddings, jnp.zeros(8))
        (fast, _), _ = jax.lax.scan(step, (start, inner.init(start)), length=10)
        return loss(fast, bank, query.x, query.y)

    @jax.jit
    def step(state):
        slow, opt_state, key = state
        key, of_tasks = jax.random.split(key)
        episode = task.sample(128, key=of_tasks)

        def mean_loss(slow):
            over_tasks = jax.vmap(of_task, in_axes=(None, 0, 0))
            return over_tasks(slow, episode.support, episode.query).mean()

        updates, opt_state = outer.update(jax.grad(mean_loss)(slow), opt_state, slow)
        return optax.apply_updates(slow, updates), opt_state, key

    keys = jax.random.split(jax.random.key(2), 7)
    shapes = ((32, a * b + b) for a, b in (sizes[0], sizes[1], sizes[3]))
    bank = [jax.random.normal(k, shape) / 32**0.5 for k, shape in zip(keys, shapes, strict=False)]
    slow = (bank, [jax.random.normal(k, (32,)) for k in keys[3:]])
    return seconds_per_step(step, (slow, outer.init(slow), jax.random.key(3)))


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"One outer step at the paper's size, {CORES} cores", title_justify="left")
    for column in ("model", "implementation", "seconds per step", "steps per second", "first call"):
        table.add_column(column, justify="left" if column[0] in "mi" else "right")
    for row in ROWS:
        flags = f"--xla_force_host_platform_device_count={CORES} --xla_cpu_multi_thread_eigen=false"
        done = subprocess.run(
            [sys.executable, __file__, row],
            env=os.environ | ({} if row == "plain" else {"XLA_FLAGS": flags}),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        took, first = map(float, done.stdout.split())
        name, how = ("linear-hypernetwork", "plain JAX") if row == "plain" else (row, "recombine")
        table.add_row(name, how, f"{took:.2f}", f"{1 / took:.3f}", f"{first:.1f} s")
    Console(width=100).print(table)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*(plain() if sys.argv[1] == "plain" else library(sys.argv[1])))
    else:
        main()
