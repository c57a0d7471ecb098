"""Section 7.4: how large the outputs of mixtures are before training."""

from dataclasses import dataclass

import numpy as np

from recombine import theory
from recombine._checks import check_chosen
from recombine.lab import (
    Claim,
    Count,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    every_seed,
    figures,
    for_all,
    grid,
    mean,
    per_seed,
)
from recombine.models import specs

from . import DOCUMENT

EXPERTS = (4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Config:
    """Settings of an untrained layer."""

    experts: Count = 16
    """Number of experts, N_E."""
    hidden: Count = 512
    """Hidden units of all experts together, and of the dense layer."""
    chosen: Count = 4
    """Experts per token, K."""
    width: Count = 128
    """Column width, d_model."""
    layers: Count = 4
    """Layers of the network that the layer is one of."""
    tokens: Count = 1024
    """Columns, normal numbers of unit variance."""

    def __post_init__(self) -> None:
        if self.hidden % self.experts:
            raise ValueError(f"hidden={self.hidden} cannot be shared out to experts={self.experts}")
        check_chosen(self.chosen, self.experts)


def outputs(config: Config, key) -> dict:
    """What a dense layer and two mixtures make of the same columns."""
    import jax
    import jax.numpy as jnp

    of_layers, of_columns = jax.random.split(key)
    x = jax.random.normal(of_columns, (1, config.tokens, config.width))
    sizes = specs.LayerSizes(config.width, config.hidden, 1, 0.0, layers=config.layers)
    found = {"dense": specs.DepthScaledFeedForwardSpec().build(sizes, of_layers)(x)[0].std()}
    for init in ("sigma", "standard"):
        spec = specs.MixtureSpec(
            experts=config.experts, size=config.hidden // config.experts, chosen=config.chosen,
            init=init,
        )  # fmt: skip
        y, extras = spec.build(sizes, of_layers)(x)
        found[init] = y.std()
        found["rms_weight"] = jnp.sqrt(jnp.square(extras["weights"]).mean())
    return found


def trial(config: Config, key, recorder: Recorder) -> None:
    """Compare the outputs of untrained layers with the prediction."""
    import equinox as eqx

    found = {name: float(value) for name, value in eqx.filter_jit(outputs)(config, key).items()}
    predicted = theory.output_scale(found["rms_weight"], config.experts, config.chosen)
    recorder.metric("sigma", found["sigma"] / found["dense"])
    recorder.metric("standard", found["standard"] / found["dense"])
    recorder.metric("predicted", predicted)
    recorder.metric("standard_beside_sigma", found["standard"] / found["sigma"])
    recorder.metric("root_of_experts", np.sqrt(config.experts))
    recorder.metric("rms_weight", found["rms_weight"])


def draw_scale(results: Results):
    figure = figures.panels(
        "", x="experts", y="deviation of outputs / dense", log_x=True, log_y=True
    )
    counts = results.values("experts")
    for color, (metric, name) in enumerate((("sigma", "sigma-MoE"), ("standard", "standard"))):
        values = [results.metric(metric, experts=n) for n in counts]
        figures.add_points(figure, counts, values, name, color=color)
        scale = np.sqrt(counts) if metric == "standard" else 1.0
        line = [results.metric("predicted", experts=n).mean() for n in counts]
        figures.add_theory(figure, counts, scale * np.array(line))
    return figure


study = Study(
    name="sparse-experts/initialization",
    title="An untrained mixture writes as much as its chosen share, or √N times that",
    source=Source(DOCUMENT, "Section 7.4"),
    question="How large are the outputs of an untrained mixture of experts beside those of a dense "
    "layer, and what does the initialisation change?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(experts=(4,)),
            settings={"hidden": 16, "width": 8, "tokens": 32},
            cost="5 s on two cores",
        ),
        "laptop": Preset(
            seeds=5, conditions=grid(experts=EXPERTS), cost="a minute on two cores; not timed yet"
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(experts=(16, 32, 128)),
            settings={"width": 1024, "hidden": 4096, "layers": 18},
            cost="1 min on two cores",
        ),
    },
    claims=(
        Claim(
            "scale-is-predicted",
            "The deviation of a mixture's output beside a dense layer's is that of its weights "
            "times √(K / N), up to {0:%}.",
            "Section 7.4",
            for_all(
                "experts",
                lambda n: mean(
                    per_seed("sigma", experts=n) / per_seed("predicted", experts=n),
                    f"measured / predicted, {n} experts",
                ).near(1.0, 0.1),
            ),
        ),
        Claim(
            "standard-is-larger",
            "With the standard initialisation outputs are √N times as large, up to {0:%}.",
            "Section 7.4",
            every_seed(per_seed("standard_beside_sigma") / per_seed("root_of_experts")).equals(
                1.0, 0.01
            ),
        ),
    ),
    figures=(
        Figure(
            "scale",
            "Deviation of outputs beside a dense layer's",
            "All seeds, their mean and its 95 % interval; dashed: the prediction.",
            draw_scale,
        ),
    ),
    notes="Nothing is trained. The thesis states the initialisation; what follows for the outputs "
    "of untrained layers is computed here.",
)
