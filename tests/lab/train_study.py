"""A study for the lab's own tests: a small network learns slowly, and is kept."""

from dataclasses import dataclass
from typing import NamedTuple

from recombine import learning
from recombine.lab import Preset, Source, Study, grid


class Sizes(NamedTuple):
    """What the network is built for."""

    inputs: int


@dataclass(frozen=True)
class Line:
    """A network of one layer."""

    width: int = 3
    """Outputs."""

    def build(self, sizes, key):
        """The untrained network."""
        import equinox as eqx

        return eqx.nn.Linear(sizes.inputs, self.width, key=key)


@dataclass(frozen=True)
class Config:
    """Settings of learning."""

    width: int = 3
    """Outputs of the network."""
    rate: float = 0.1
    """Step size."""
    steps: int = 200
    """Number of steps."""
    fault: str = ""
    """What goes wrong: nothing, or `raise`."""


def trial(config, key, recorder):
    """Learn to be zero, noisily; keep the network."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    class Shrink(learning.AbstractRule):
        key: jax.Array
        rate: float

        def step(self, state, t):
            noise = jax.random.normal(jax.random.fold_in(self.key, t), state.weight.shape)
            weight = state.weight - self.rate * (state.weight + noise)
            return eqx.tree_at(lambda n: n.weight, state, weight)

        def observe(self, state):
            return {"loss": jnp.mean(state.weight**2)}

    if config.fault == "raise":
        raise RuntimeError("asked to")
    spec, sizes = Line(config.width), Sizes(4)
    rule = Shrink(key, config.rate)
    network, curves = recorder.train(rule, spec.build(sizes, key), config.steps, every=10, chunk=50)
    recorder.curve("loss", curves["step"], curves["loss"])
    recorder.metric("final", curves["loss"][-1])
    recorder.array("weight", network.weight)
    recorder.keep(network, spec, sizes)


study = Study(
    name="tests/train",
    title="It learns",
    source=Source("Nobody", "nowhere"),
    question="Does it learn?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(seeds=1),
        "laptop": Preset(seeds=2, conditions=grid(rate=(0.1, 0.2))),
        "paper": Preset(seeds=3),
    },
)
