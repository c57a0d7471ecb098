"""A study for the lab's own tests: it looks at the networks of another."""

from dataclasses import dataclass

import train_study

from recombine.lab import Preset, Source, Study, Trained, grid


@dataclass(frozen=True)
class Config:
    """Settings of looking."""

    rate: float = 0.1
    """Step size of the training."""
    steps: int = 200
    """Number of steps of the training."""
    fault: str = ""
    """What goes wrong in the training."""
    power: int = 2
    """What is looked at."""


def needed(config):
    """The training; how it is looked at is not its concern."""
    return Trained(
        train_study.trial,
        train_study.Config(rate=config.rate, steps=config.steps, fault=config.fault),
    )


def trial(config, key, recorder):
    """Look at the weights of the trained network."""
    kept = recorder.trained()
    recorder.metric("moment", (kept.network.weight**config.power).mean())
    recorder.metric("width", kept.spec.width)
    recorder.metric("inputs", kept.sizes.inputs)
    recorder.array("seen", kept.network.weight)


study = Study(
    name="tests/look",
    title="It looks",
    source=Source("Nobody", "nowhere"),
    question="What does it see?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(seeds=1),
        "laptop": Preset(seeds=2, conditions=grid(rate=(0.1, 0.2), power=(2, 4))),
        "paper": Preset(seeds=3),
    },
)
