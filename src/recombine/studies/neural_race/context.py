"""Appendix A.2: report one of two inputs, as the context says."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine import learning, models, tasks, theory
from recombine.lab import (
    Beside,
    Claim,
    Count,
    Figure,
    Positive,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    all_of,
    every_seed,
    figures,
    grid,
    per_seed,
    reference,
)

from . import DOCUMENT


@dataclass(frozen=True)
class Config:
    """Settings of the contextual-classification study."""

    network: Literal["linear", "gated"] = "gated"
    """The network: one pathway that is always on, or one gated pathway per context."""
    data: Literal["population", "sample"] = "population"
    """Exact statistics with gradient flow from decoupled weights, or a sample with gradient
    descent from random weights."""
    samples: Count = 4000
    """Size of the sample."""
    width: Count = 8
    """Hidden units of a pathway."""
    start: float = 1e-3
    """Initial mode strength (population) or standard deviation of the weights (sample)."""
    tau: Positive = 1.0
    """Time constant of gradient flow."""
    epochs: Count = 200
    """Length of training in units of time."""
    learning_rate: Positive = 0.2
    """Time step of gradient descent."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train one network; report the maps of its pathways, and its loss with the theory's."""
    import jax
    import jax.numpy as jnp

    sample_key, weight_key = jax.random.split(key)
    task, gated = tasks.ContextTask(), config.network == "gated"
    closed_form = theory.GatedContext if gated else theory.LinearContext
    paths = 2 if gated else 1
    graph = models.pathway_graph(paths, width=config.width)
    times = jnp.arange(config.epochs + 1.0)
    if config.data == "population":
        statistics = task.population()
        modes = jnp.eye(2) if gated else jnp.ones((1, 2)) / jnp.sqrt(2.0)
        network = models.decoupled_pathways(
            config.start, modes, jnp.ones((paths, 1)), width=config.width, key=weight_key
        )
        loss = jax.tree_util.Partial(population_loss, statistics=statistics)
        flow = theory.gradient_flow(loss, network, times, tau=config.tau, rtol=1e-10, atol=1e-12)
        losses = jax.vmap(loss)(flow)
        network = jax.tree.map(lambda w: w[-1], flow)
        strength = closed_form.mode_strength(times, config.start, config.tau)
        maps = strength[:, None, None, None] * modes[:, None]
        predicted = jax.vmap(loss_of_maps, (0, None))(maps, statistics)
        recorder.curve("theory", times, predicted)
        recorder.metric("theory_error", jnp.abs(losses - predicted).max())
    else:
        batch = task.sample(config.samples, key=sample_key)
        statistics = task.statistics(batch)
        examples = task.gated_examples(batch, gated=gated)
        network = models.GatedLinearNetwork.random(graph, config.start, key=weight_key)
        loss = jax.tree_util.Partial(models.GatedLinearNetwork.loss, examples=examples)
        every = round(1 / config.learning_rate)
        network, curves = recorder.train(
            learning.GradientDescent(loss, config.learning_rate / config.tau),
            network,
            config.epochs * every,
            every=every,
        )
        losses = curves["loss"]
    recorder.curve("loss", times, losses)
    recorder.metric("final_loss", losses[-1])
    learned = path_maps(network)[:, 0]
    recorder.array("maps", learned)
    recorder.metric(
        "map_error", jnp.abs(learned - closed_form.solution(statistics).reshape(paths, 2)).max()
    )
    ideal = jnp.eye(2) if gated else jnp.full((1, 2), 0.5)
    recorder.metric("distance_to_population", jnp.abs(learned - ideal).max())


def path_maps(network):
    """The map of every pathway, `[paths, 1, 2]`."""
    import jax.numpy as jnp

    paths = theory.enumerate_paths(network.graph)
    return jnp.stack([theory.path_weights(network, path) for path in paths])


def loss_of_maps(maps, statistics):
    """The loss of pathways with these maps: one pathway is the linear network, two the gated."""
    if len(maps) == 1:
        return theory.LinearContext.loss(maps[0], statistics)
    return theory.GatedContext.loss(maps, statistics)


def population_loss(network, statistics):
    """The loss of a network on the whole population."""
    return loss_of_maps(path_maps(network), statistics)


def distance_over_bound(results: Results) -> np.ndarray:
    """The distance to the population's solution times √n, for samples of n."""
    return results.metric("distance_to_population") * np.sqrt(results.values("samples")[0])


def draw_losses(results: Results):
    figure = figures.panels("population", "sample", x="time", y="loss")
    for panel, data in enumerate(("population", "sample")):
        for color, network in enumerate(("linear", "gated")):
            times, values = results.curve("loss", network=network, data=data)
            figures.add_seeds(figure, times, values, network, color=color, panel=panel)
            if data == "population":
                times, predicted = results.curve("theory", network=network, data=data)
                figures.add_theory(figure, times, predicted[0], panel=panel)
        figures.add_level(figure, 1 / 12, "1/12", panel=panel)
    return figure


def map_entry(network: str, path: int, entry: int):
    """One entry of a pathway's learned map, one value per seed."""
    return lambda r: r.array("maps", network=network, data="sample")[:, path, entry]


def linear_entry(entry: int) -> Beside:
    paper = reference("neural-race", artifact="appendix-A2", metric=f"W_tot[{entry}]")
    return Beside(f"linear network, weight of x{entry + 1}", paper, map_entry("linear", 0, entry))


def gated_entry(path: int, entry: int) -> Beside:
    metric = f"W_tot({path + 1})[{entry}]"
    paper = reference("neural-race", artifact="appendix-A2", metric=metric)
    quantity = f"gated network, path {path + 1}, weight of x{entry + 1}"
    return Beside(quantity, paper, map_entry("gated", path, entry))


CONDITIONS = grid(network=("linear", "gated"), data=("population", "sample"))

study = Study(
    name="neural-race/context",
    title="Contextual classification: gates make a linear network solve a nonlinear task",
    source=Source(DOCUMENT, "Appendix A.2"),
    question="Does one gated pathway per context solve a task on which a deep linear network "
    "cannot do better than a loss of 1/12?",
    config=Config,
    trial=trial,
    float64=True,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=CONDITIONS,
            settings={"samples": 200, "epochs": 20},
            cost="20 s on two cores",
        ),
        "laptop": Preset(seeds=5, conditions=CONDITIONS, cost="22 s on two cores"),
        "paper": Preset(seeds=5, conditions=CONDITIONS, cost="22 s on two cores"),
    },
    claims=(
        Claim(
            "solutions",
            "The linear network learns [1/2, 1/2], the gated one [1, 0] and [0, 1]: to {0} with "
            "population statistics, to {1}/√n with a sample of n.",
            "Appendix A.2",
            all_of(
                every_seed("distance_to_population", data="population") < 1e-6,
                every_seed(distance_over_bound, "distance times √n", data="sample") < 5,
            ),
        ),
        Claim(
            "residual-losses",
            "The linear network is left with a loss of 1/12, the gated one with none (to {0}).",
            "Appendix A.2",
            all_of(
                every_seed(
                    abs(per_seed("final_loss", network="linear", data="population") - 1 / 12)
                )
                < 1e-6,
                every_seed(abs(per_seed("final_loss", network="gated", data="population"))) < 1e-6,
            ),
        ),
        Claim(
            "dynamics-are-exact",
            "From decoupled weights both networks follow Eq. 21 to {0} in loss.",
            "Eq. 21, 24-29",
            every_seed("theory_error", data="population") < 1e-6,
        ),
    ),
    figures=(
        Figure(
            "loss",
            "Loss over training",
            "Gradient flow on population statistics from decoupled weights with the theory's "
            "curve over it, and gradient descent on a sample from small random weights.",
            draw_losses,
        ),
    ),
    beside=(
        linear_entry(0), linear_entry(1),
        gated_entry(0, 0), gated_entry(0, 1), gated_entry(1, 0), gated_entry(1, 1),
    ),
    notes="The paper reports no simulation of this task; the sample and the random weights are "
    "ours. The numbers beside the paper's are those of the sample.",
)  # fmt: skip
