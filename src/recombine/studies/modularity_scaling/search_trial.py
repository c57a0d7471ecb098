"""The trial of the studies of sample complexity: train on different numbers of samples.

Training sets are nested, the first n rows of one array; with batches n is an input of the compiled
program, which all trainings of a search share.
"""

from dataclasses import dataclass, replace

import numpy as np

from recombine import probes
from recombine.lab import Count, Diverged, Positive, Recorder, Results

from . import sine_trial
from .sine_trial import Problem, Streams, network_of, problem, regression, streams


@dataclass(frozen=True)
class Config(sine_trial.Config):
    """Settings of the studies of sample complexity, which search the number n of samples."""

    eps: tuple[Positive, ...] = (0.6,)
    """Test losses to reach, one search per loss; searches share trainings."""
    relative: bool = True
    """Whether `eps` is a fraction of the target's variance."""
    start: float = 10.0
    """log2 of the first n."""
    smallest: float = 5.0
    """log2 of the fewest samples."""
    largest: float = 13.0
    """log2 of the most samples."""
    tolerance: Positive = 0.5
    """Width of the bracket, in log2 n, at which a search stops."""
    evaluations: Count = 18
    """The largest number of trainings per search."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Search for the number of samples needed to reach each loss."""
    keys = streams(key)
    given = problem(replace(config, n=round(2**config.largest)), keys)
    losses: dict[int, float] = {}

    def loss_of(n: int) -> float:
        if n not in losses:
            losses[n] = train_on(n, config, given, keys, recorder)
        return losses[n]

    variance = float(np.var(given.test.y))
    recorder.metric("target_variance", variance)
    for eps in config.eps:
        found = probes.sample_search(
            loss_of,
            eps * (variance if config.relative else 1.0),
            start=config.start,
            evaluations=config.evaluations,
            tolerance=config.tolerance,
            smallest=config.smallest,
            largest=config.largest,
        )
        recorder.metric(f"log2_n_{eps:g}", np.log2(found.n))
        recorder.metric(f"never_{eps:g}", found.censored == "never")
        recorder.metric(f"always_{eps:g}", found.censored == "always")
        recorder.metric(f"trainings_{eps:g}", len(found.trace))
        trace = np.full((config.evaluations, 4), np.nan)
        trace[: len(found.trace)] = found.trace
        recorder.array(f"trace_{eps:g}", trace)
    recorder.curve("loss_by_n", sorted(losses), [losses[n] for n in sorted(losses)])


def train_on(n: int, config: Config, given: Problem, keys: Streams, recorder: Recorder) -> float:
    """The test loss after training on the first n samples; NaN if training diverges."""
    import jax.numpy as jnp

    rows = jnp.asarray(n) if config.batch else None
    if rows is None:
        x, y = given.train
        given = given._replace(train=type(given.train)(x[:n], y[:n]))
    batch = min(config.kernel_batch, n)
    try:
        network, trainable = network_of(
            replace(config, kernel_batch=batch),
            given,
            keys,
            recorder,
            rows=rows,
            name=f"kernel-{n}",
        )
        rule = regression(config, given, keys.batches, trainable, rows=rows)
        steps = config.task_steps
        _, seen = recorder.train(
            rule, rule.init(network), steps, every=steps, chunk=steps, name=f"train-{n}"
        )
    except Diverged:
        return float("nan")
    return float(seen["test_loss"][-1])


def log2_samples(results: Results, eps: float | None = None, **condition) -> np.ndarray:
    """log2 of the number of samples needed, one value per seed; a bound if censored.

    `eps` is the loss to reach; by default the first.
    """
    return results.metric(f"log2_n_{first_eps(results) if eps is None else eps:g}", **condition)


def censored(results: Results) -> np.ndarray:
    """Whether the search for the first loss ended at a bound, one value per seed."""
    eps = first_eps(results)
    return results.metric(f"never_{eps:g}") + results.metric(f"always_{eps:g}")


def first_eps(results: Results) -> float:
    """The first of the losses to reach."""
    return results.values("eps")[0][0]
