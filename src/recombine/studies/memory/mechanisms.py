"""Sections 2.1 to 2.3 without any training: each defect of the memory, and its remedy."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from recombine import probes
from recombine._ranges import Count, Positive
from recombine.lab import (
    Claim,
    Figure,
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

KNOWN = (3, 8, 16, 24)
"""How many numbers of a word a lookup knows."""
BLURS = (0.05, 0.1)
"""η: the share of a writing that goes to other cells."""
GATES = (0.9, 0.99, 0.999, 1.0)
"""How far a free gate is open."""
POWERS: dict[str, float | None] = {"none": None, "1": 1.0, "2": 2.0}
"""What distributions along links are raised to; the first is a DNC without sharp links."""
JUMPS = (1, 4, 8, 15)
FOUND = 0.99
BLURRED, SHARP = 0.15, 0.99


@dataclass(frozen=True)
class Config:
    """Settings of the study of mechanisms."""

    mechanism: Literal["lookup", "freed", "links"] = "lookup"
    """What is looked at: lookups of words of which a part is known, cells that were freed, or links
    that are followed."""
    memories: Count = 200
    """How many memories are drawn."""
    cells: Count = 32
    """Cells of a memory, N; 16 where links are followed, and 4 where one is freed."""
    word: Count = 32
    """Numbers of a cell, W."""
    strength: Positive = 10.0
    """Strength of lookups, β."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Look at one mechanism; nothing learns."""
    {"lookup": lookups, "freed": freed, "links": links}[config.mechanism](config, key, recorder)


def lookups(config: Config, key, recorder: Recorder) -> None:
    """The weight on the cell that is meant, by how much of its word is known."""
    import jax

    cells = jax.random.normal(key, (config.memories, config.cells, config.word))
    for masked in (False, True):
        name = "masked" if masked else "plain"
        shares, weights = [], []
        for known in KNOWN:
            found = np.asarray(probes.lookup_of_part(cells, known, config.strength, masked=masked))
            own = np.diagonal(found, axis1=1, axis2=2)
            shares.append((found.argmax(axis=2) == np.arange(config.cells)).mean())
            weights.append(own.mean())
            recorder.metric(f"{name}_found_{known}", shares[-1])
            recorder.metric(f"{name}_weight_{known}", weights[-1])
        recorder.curve(f"{name}_found", KNOWN, shares)
        recorder.curve(f"{name}_weight", KNOWN, weights)


def freed(config: Config, key, recorder: Recorder) -> None:
    """The weight on a cell that was freed, looked up by the word that was in it."""
    import jax.numpy as jnp

    # Words that have nothing in common, and one cell that was never written.
    cells = jnp.eye(4, config.word).at[3].set(0.0)[None]
    for empties in (False, True):
        name = "emptied" if empties else "kept"
        weights = [
            np.asarray(probes.lookup_of_freed(cells, gate, config.strength, empties=empties))[0]
            for gate in GATES
        ]
        recorder.curve(name, GATES, [w[0] for w in weights])
        for gate, w in zip(GATES, weights, strict=True):
            recorder.metric(f"{name}_weight_{gate:g}", w[0])
        recorder.metric(f"{name}_above_empty", abs(weights[-1][0] - weights[-1][3]))


def links(config: Config, key, recorder: Recorder) -> None:
    """The peak and the entropy of forward distributions, jump by jump."""
    for blur in BLURS:
        made = probes.blurred_links(16, blur)
        for name, power in POWERS.items():
            at = probes.followed_links(made, max(JUMPS), power)
            peaks = np.asarray(probes.peak(at))
            recorder.curve(f"peak_{blur:g}_{name}", 1 + np.arange(len(peaks)), peaks)
            for jump in JUMPS:
                recorder.metric(f"peak_{blur:g}_{name}_{jump}", peaks[jump - 1])
            entropy = np.asarray(probes.entropy(at))[-1] * np.log(16)
            recorder.metric(f"entropy_{blur:g}_{name}", entropy)
            recorder.metric(f"mass_{blur:g}_{name}", np.asarray(at)[-1].sum())


def advantage(known: int):
    """How many more words are found with a mask, as a share."""

    def read(results: Results) -> np.ndarray:
        masked, plain = (results.metric(f"{n}_found_{known}") for n in ("masked", "plain"))
        return masked - plain

    return read


def loss_of_advantage(results: Results) -> np.ndarray:
    """The least by which the advantage of masks shrinks from one known part to the next."""
    steps = [advantage(known)(results) for known in KNOWN]
    return np.min([a - b for a, b in pairwise(steps)], axis=0)


def draw_lookups(results: Results):
    titles = ("the right cell is found", "weight on the right cell")
    figure = figures.panels(*titles, x="known numbers of 32", y="", columns=2, shared_y=True)
    runs = results.where(mechanism="lookup")
    for panel, what in enumerate(("found", "weight")):
        for color, name in enumerate(("plain", "masked")):
            known, values = runs.curve(f"{name}_{what}")
            label = "DNC-M" if name == "masked" else "DNC"
            figures.add_points(figure, known, list(values.T), label, color=color, panel=panel)
    return figure


def draw_freed(results: Results):
    figure = figures.panels("", x="free gate", y="weight on the cell that was freed")
    runs = results.where(mechanism="freed")
    for color, name in enumerate(("kept", "emptied")):
        gates, weights = runs.curve(name)
        label = "DNC-D" if name == "emptied" else "DNC"
        figures.add_points(
            figure, [f"{gate:g}" for gate in gates], list(weights.T), label, color=color
        )
    return figure


def draw_links(results: Results):
    figure = figures.panels(
        *(f"η = {blur:g}" for blur in BLURS), x="jumps", y="largest weight", shared_y=True
    )
    runs = results.where(mechanism="links")
    for panel, blur in enumerate(BLURS):
        for color, name in enumerate(POWERS):
            jumps, peaks = runs.curve(f"peak_{blur:g}_{name}")
            label = "DNC" if name == "none" else f"DNC-S, power {name}"
            figures.add_seeds(figure, jumps, peaks, label, color=color, panel=panel)
    return figure


LOOKUP, FREED, LINKS = ({"mechanism": name} for name in ("lookup", "freed", "links"))

study = Study(
    name="memory/mechanisms",
    title="Three defects of a memory, and three remedies, without any training",
    source=Source(DOCUMENT, "Sections 2.1 to 2.3"),
    question="Do masks find words of which little is known, does emptying hide what was freed, and "
    "do sharp links stay sharp?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(mechanism=("lookup", "freed", "links")),
            settings={"memories": 4, "cells": 8},
            cost="seconds",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(mechanism=("lookup", "freed", "links")),
            cost="10 s of processor time, mechanisms and subspace together",
        ),
        "paper": Preset(
            seeds=12,
            conditions=grid(mechanism=("lookup", "freed", "links")),
            settings={"memories": 1000},
            cost="not measured",
        ),
    },
    claims=(
        Claim(
            "masks-find-words",
            "With a mask, a word of 32 numbers of which 3 are known is found in more than {0:%} of "
            "cases; without one, in less than {1:%}.",
            "Section 2.1",
            all_of(
                every_seed("masked_found_3", **LOOKUP) > FOUND,
                every_seed("plain_found_3", **LOOKUP) < 0.4,
            ),
        ),
        Claim(
            "masks-matter-for-little-knowledge",
            "The less of a word is known, the more words are found with a mask that are not "
            "without.",
            "Section 2.1",
            every_seed(loss_of_advantage, "least loss of advantage", **LOOKUP) > 0,
        ),
        Claim(
            "freed-cells-are-found",
            "What was in a freed cell is found as before: the weight is more than {0}.",
            "Section 2.2",
            every_seed("kept_weight_1", **FREED) > FOUND,
        ),
        Claim(
            "emptied-cells-are-hidden",
            "A cell that is emptied by an open gate has the weight of an empty one, up to {0}, and "
            "less than {1} of the weight.",
            "Section 2.2",
            all_of(
                every_seed("emptied_above_empty", **FREED) <= 1e-6,
                every_seed("emptied_weight_1", **FREED) < 0.3,
            ),
        ),
        Claim(
            "gates-must-saturate",
            "A gate that is open to 99.9 % hides nothing: cosines have no scale, and the weight is "
            "more than {0}.",
            "Section 2.2",
            every_seed("emptied_weight_0.999", **FREED) > FOUND,
        ),
        Claim(
            "links-blur",
            "Where writings are off by 5 %, fifteen jumps along links leave less than {0} of the "
            "weight on the right cell.",
            "Section 2.3",
            every_seed("peak_0.05_none_15", **LINKS) < BLURRED,
        ),
        Claim(
            "sharp-links-stay-sharp",
            "With a power of 2 more than {0} of the weight is on it, also where they are off by "
            "10 %.",
            "Section 2.3",
            all_of(
                every_seed("peak_0.05_2_15", **LINKS) > SHARP,
                every_seed("peak_0.1_2_15", **LINKS) > SHARP,
            ),
        ),
    ),
    figures=(
        Figure(
            "lookups",
            "Lookups of words of which a part is known",
            "Random words of 32 numbers in 32 cells; the strength of lookups is 10.",
            draw_lookups,
        ),
        Figure(
            "freed",
            "Lookups of a word that was freed",
            "The weight on the freed cell, by how far the free gate was open.",
            draw_freed,
        ),
        Figure(
            "links",
            "Links that are followed",
            "16 cells were written in turn, each with the share η on all others; then links are "
            "followed from the first one.",
            draw_links,
        ),
    ),
    notes="Nothing is trained, and nothing but the words of the lookups is drawn.",
)
