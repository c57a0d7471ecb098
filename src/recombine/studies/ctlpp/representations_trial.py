"""What one trial of the study of representations does: make a network, and analyse it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from recombine import models, probes, tasks
from recombine.lab import NotNegative, Recorder, Trained

from . import pattern_trial
from .pattern_trial import seed_of, task_of
from .symbols import groups_of, report_symbols


@dataclass(frozen=True)
class Config(pattern_trial.Config):
    """Settings of the study of representations."""

    network: Literal["one code", "two codes", "half a group", "trained"] = "two codes"
    """Made by hand: all functions write and read one code of the symbols; each group writes a code
    of its own, which those that follow it in training can read; half of group a writes a code that
    only group a can read, and all other functions one that all can read. Or trained, on `variant`.
    """
    noise: NotNegative = 0.0
    """Noise that is added to representations, relative to their norm."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "S":
            raise ValueError("variant=S has no groups a and b; A and R have")
        if self.network == "half a group" and self.variant == "A":
            raise ValueError(
                "on A group b reads all that a writes; use half a group with variant=R"
            )


def made_by_hand(config: Config, task: tasks.TableLookupPatterns, key) -> models.CodedLookup:
    """A network that is right on all that training shows."""
    import equinox as eqx
    import jax.numpy as jnp

    tables, groups = task.lookup.tables, groups_of(task)
    if config.network == "one code":
        return models.CodedLookup.shared(tables, key=key)
    if config.network == "two codes":
        own = np.eye(2, dtype=bool)
        reads = ~own if config.variant == "A" else own
        return models.CodedLookup.per_group(
            tables, tuple(groups.tolist()), jnp.asarray(reads), key=key
        )
    half = (groups == 0).sum() // 2
    parts = np.where(np.arange(len(groups)) < half, 0, 1 + groups)
    reads = np.ones((3, 3), bool)
    reads[2, 0] = False
    network = models.CodedLookup.per_group(
        tables, tuple(parts.tolist()), jnp.asarray(reads), key=key
    )
    # The codes of the other half of a and of b, which all can read, become one.
    return eqx.tree_at(lambda m: m.writes, network, jnp.minimum(network.writes, 2))


def needed(config: Config) -> Trained | None:
    """The trial of the study of patterns that trains the network, if it is not made by hand."""
    if config.network != "trained":
        return None
    settings = {f.name: getattr(config, f.name) for f in fields(pattern_trial.Config)}
    return Trained(pattern_trial.trial, pattern_trial.Config(**settings))


def trial(config: Config, key, recorder: Recorder) -> None:
    """Make a network; see how it represents symbols, and who reads them.

    Of a network that is trained this has been seen where it was trained.
    """
    import jax

    if config.network == "trained":
        return
    data_key, network_key, noise_key = jax.random.split(key, 3)
    seed = seed_of(config, data_key)
    task = task_of(config, seed)
    network = made_by_hand(config, task, network_key)
    sets = task.sets(train=config.train, iid=config.tested, ood=config.tested, seed=seed)
    for name in ("iid", "ood"):
        recorder.metric(name, probes.is_right(network, sets[name]).mean())
    recorder.metric("chance", 1 / config.symbols)

    def blur(vectors: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(noise_key)))
        noise = rng.standard_normal(vectors.shape)
        size = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return vectors + config.noise * size * noise / np.sqrt(vectors.shape[-1])

    report_symbols(network, task, None, recorder, blur if config.noise else None)
