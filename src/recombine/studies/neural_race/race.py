"""The race itself: pathways of all sharing schemes in one network."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from recombine import learning, models, probes, splits, tasks, theory
from recombine.lab import (
    Claim,
    Count,
    Figure,
    NotNegative,
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
)

from . import DOCUMENT

HEAD_STARTS = (0.9, 1.1)
"""Head starts of the dedicated pathway, as multiples of the one that gives a draw in theory."""
STARTS = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Initial strengths of the shared pathway at which the draw is computed."""


@dataclass(frozen=True)
class Config:
    """Settings of the race study."""

    init: Literal["decoupled", "random"] = "decoupled"
    """Weights aligned with the data's modes, or random orthogonal ones."""
    schemes: tuple[Count, ...] = (1, 2, 5, 10)
    """Domains per block on either side, √P, one entry per scheme in the network."""
    M: Count = 10
    """Number of input and of output domains."""
    b_0: NotNegative = 0.1
    """Initial strength of every weight."""
    sigma_0: NotNegative = 0.1
    """Singular value of random initial weights."""
    head_start: NotNegative = 0.0
    """Initial strength of the dedicated pathway, as a multiple of the one that gives a draw with
    the shared pathway in the strongest mode; with 0 all schemes start equal."""
    learning_rate: Positive = 0.005
    """Step size."""
    epochs: Count = 1500
    """Steps of gradient descent."""
    width: Count = 32
    """Hidden units of every pathway."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train all schemes at once on all routes; see which one carries each mode."""
    import jax.numpy as jnp
    from jax.tree_util import Partial

    items = tasks.hierarchical_items()
    task = tasks.RoutingTask(items.X, items.Y, config.M)
    _, S, D, _, _ = task.modes()
    draw = theory.head_start_ratio(
        np.asarray(S)[:1], np.asarray(D)[:1], b0=config.b_0, shared=max(config.schemes)
    )[0]
    start = np.full(len(config.schemes), config.b_0)
    if config.head_start:
        start[config.schemes.index(1)] *= draw * config.head_start
    if config.init == "decoupled":
        build = partial(models.SharedPathways.decoupled, start.tolist(), task.target_map)
    else:
        build = partial(models.SharedPathways.orthogonal, config.sigma_0)
    network = build(block_sizes=config.schemes, num_domains=config.M, width=config.width, key=key)
    mask = splits.full_mask(config.M)
    modes = Partial(probes.route_modes, target_map=task.target_map, mask=mask)
    rule = learning.routing_descent(items.X, items.Y, mask, config.learning_rate, modes)
    _, seen = recorder.train(rule, network, config.epochs, every=5, chunk=100)
    strengths = seen["scheme_modes"]  # [times, schemes, modes]
    shares = strengths[-1] / strengths[-1].sum(axis=0)
    recorder.array("shares", shares)
    recorder.metric("most_shared", shares[np.argmax(config.schemes)].min())
    recorder.metric("dedicated_share", shares[config.schemes.index(1), 0])
    recorder.metric("trained_error", seen["trained_error"][-1])
    for scheme, q in enumerate(config.schemes):
        recorder.curve(f"strength_{q}", seen["step"], strengths[:, scheme, 0])
    if config.init == "decoupled":
        tau = theory.time_constant(
            outputs=items.Y.shape[1], M=config.M, K=config.M, learning_rate=config.learning_rate
        )
        dynamics = theory.RaceDynamics(S, D, config.M, jnp.array(config.schemes), tau)
        states = theory.euler(dynamics, dynamics.start(start[:, None]), config.epochs)
        reduced = np.asarray(states.B2 * states.B1**2)[seen["step"]]
        recorder.metric("theory_error", np.abs(strengths - reduced).max())
        for scheme, q in enumerate(config.schemes):
            recorder.curve(f"reduced_{q}", seen["step"], reduced[:, scheme, 0])
    recorder.array(
        "draws",
        [
            theory.head_start_ratio(np.asarray(S), np.asarray(D), b0=b, shared=max(config.schemes))
            for b in STARTS
        ],
    )


def draw_race(results: Results):
    figure = figures.panels(
        "decoupled weights", "random weights", x="epoch", y="strength of the strongest mode"
    )
    for panel, init in enumerate(("decoupled", "random")):
        runs = results.where(init=init, head_start=0.0)
        for color, q in enumerate((1, 2, 5, 10)):
            epochs, strength = runs.curve(f"strength_{q}")
            name = f"√P = {q}"
            figures.add_seeds(figure, epochs, strength, name, color=color, panel=panel)
            if init == "decoupled":
                epochs, reduced = runs.curve(f"reduced_{q}")
                figures.add_theory(figure, epochs, reduced[0], panel=panel)
    return figure


def draw_head_starts(results: Results):
    figure = figures.panels(
        "", x="initial strength of the shared pathway", y="head start for a draw", log_x=True
    )
    draws = results.array("draws", head_start=0.0)[0]
    for mode in range(3):
        name = f"mode {mode + 1}" + (" and 4" if mode == 2 else "")
        figures.add_curve(figure, STARTS, draws[:, mode], name, color=mode)
    return figure


EQUAL = grid(init=("decoupled",), head_start=(0.0,))
RANDOM = grid(init=("random",), head_start=(0.0,), epochs=(4000,))  # they first have to align
UNEQUAL = grid(init=("decoupled",), schemes=((1, 10),), head_start=HEAD_STARTS)
CONDITIONS = EQUAL + RANDOM + UNEQUAL

study = Study(
    name="neural-race/race",
    title="The race: pathways of all sharing schemes in one network",
    source=Source(DOCUMENT, "Section 4.2"),
    question="If pathways that share little and pathways that share much can all solve the task, "
    "which ones end up carrying it?",
    config=Config,
    trial=trial,
    float64=True,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=EQUAL + grid(init=("random",), head_start=(0.0,)) + UNEQUAL,
            settings={"epochs": 20, "width": 8},
            cost="24 s on two cores",
        ),
        "laptop": Preset(seeds=5, conditions=CONDITIONS, cost="45 s on two cores"),
        "paper": Preset(
            seeds=5, conditions=CONDITIONS, settings={"width": 64}, cost="2 min on two cores"
        ),
    },
    claims=(
        Claim(
            "most-shared-wins",
            "From equal small weights, decoupled or random, the most shared scheme carries more "
            "than {0:%} of every mode.",
            "Section 4.2, Figure 5",
            every_seed("most_shared", head_start=0.0) > 0.99,
        ),
        Claim(
            "race-equals-theory",
            "A simulated race from decoupled weights follows its reduction, with one error common "
            "to all schemes, to {0}.",
            "Eq. 10, 16-17",
            every_seed("theory_error", init="decoupled") < 1e-9,
        ),
        Claim(
            "head-start-decides",
            "A dedicated pathway carries less than {0:%} of the strongest mode with 0.9 times, and "
            "more with 1.1 times, the head start at which theory expects a draw.",
            "beyond the paper",
            all_of(
                every_seed("dedicated_share", head_start=HEAD_STARTS[0]) < 0.5,
                every_seed("dedicated_share", head_start=HEAD_STARTS[1]) > 0.5,
            ),
        ),
    ),
    figures=(
        Figure(
            "race",
            "The race for the strongest mode",
            "Strength contributed by each scheme, all of them in one network; dashed: theory.",
            draw_race,
        ),
        Figure(
            "head-start",
            "The head start that a dedicated pathway needs",
            "Ratio of initial strengths, dedicated over shared, at which both end with one half "
            "of a mode (M = 10): a measure of the bias toward sharing.",
            draw_head_starts,
        ),
    ),
    notes="The paper describes the race in words only; the combined network, its reduction and the "
    "head start are ours.",
)
