"""A study for the lab's own tests: random walks, in steps that can be made slow."""

from dataclasses import dataclass

from recombine import learning
from recombine.lab import Claim, Preset, Source, Study, every_seed, grid


@dataclass(frozen=True)
class Config:
    """Settings of the walk."""

    width: int = 64
    """Width of the walker."""
    rate: float = 0.1
    """Size of its steps."""
    steps: int = 400
    """Number of steps."""
    fault: str = ""
    """What goes wrong: nothing, `raise`, `diverge` or `die`."""


def trial(config, key, recorder):
    import os

    import jax
    import jax.numpy as jnp

    class Walk(learning.AbstractRule):
        key: jax.Array
        rate: float

        def step(self, state, t):
            noise = jax.random.normal(jax.random.fold_in(self.key, t), state.shape)
            return jnp.tanh(state @ state.T / state.shape[0]) + self.rate * noise

        def observe(self, state):
            return {"loss": jnp.mean(state**2)}

    if config.fault == "raise":
        raise RuntimeError("asked to")
    if config.fault == "die":
        os.kill(os.getpid(), 9)
    rate = float("inf") if config.fault == "diverge" else config.rate
    state = jax.random.normal(key, (config.width, config.width))
    state, curves = recorder.train(Walk(key, rate), state, config.steps, every=10, chunk=50)
    again, _ = recorder.train(
        Walk(key, rate), state, config.steps, every=10, chunk=50, name="again"
    )
    recorder.curve("loss", curves["step"], curves["loss"])
    recorder.metric("final", curves["loss"][-1])
    recorder.metric("sum", jnp.sum(again))
    recorder.array("state", again)


study = Study(
    name="tests/walk",
    title="A walk",
    source=Source("Nobody", "nowhere"),
    question="Does it walk?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(seeds=1, settings={"steps": 100}),
        "laptop": Preset(seeds=3, conditions=grid(rate=(0.1, 0.2))),
        "paper": Preset(seeds=3),
    },
    claims=(
        Claim("small", "The walk stays below {0}.", "nowhere", every_seed("final") < 10),
        Claim(
            "impossible", "It ends at zero.", "nowhere",
            every_seed("final").equals(0),
        ),
    ),
)  # fmt: skip
