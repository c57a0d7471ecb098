"""A study of which three seeds decide little: its trials measure noise."""

from dataclasses import dataclass

from recombine.lab import Claim, Preset, Source, Study, mean


@dataclass(frozen=True)
class Config:
    """Settings."""

    shift: float = 0.5
    """What is added to the noise."""


def trial(config, key, recorder):
    import jax

    recorder.metric("a", float(jax.random.normal(key)) + config.shift)


study = Study(
    name="tests/noisy",
    title="Noise",
    source=Source("made up", "nowhere"),
    question="Is it above 0?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(seeds=1),
        "laptop": Preset(seeds=3),
        "paper": Preset(seeds=3),
    },
    claims=(
        Claim("above", "It is above 0.", "nowhere", mean("a") > 0),
        Claim("not-far", "It is below {0}.", "nowhere", mean("a") < 9),
    ),
)
