"""Figures 7.2, F.5 and F.6: what one layer of experts costs beside a dense one."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

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
    all_of,
    every_seed,
    figures,
    grid,
    per_seed,
)
from recombine.models import specs

from . import DOCUMENT

EXPERTS = (8, 16, 32, 64)
SIZES = (16, 32, 64, 128)
WIDTHS = (64, 128, 256)
USUAL = {"experts": 32, "size": 32, "width": 128}
"""The sizes of conditions that are about another one."""


@dataclass(frozen=True)
class Config:
    """Settings of one layer."""

    layer: Literal["dense", "mixture"] = "mixture"
    """A mixture of experts, or a dense network with the hidden units of all of them."""
    experts: Count = 32
    """Number of experts, N_E."""
    size: Count = 32
    """Hidden units per expert, G."""
    chosen: Count = 4
    """Experts per token, K."""
    width: Count = 128
    """Column width, d_model."""
    tokens: Count = 2048
    """Columns that the layer is applied to."""
    repeats: Count = 10
    """How often it is timed; the fastest counts."""

    def __post_init__(self) -> None:
        check_chosen(self.chosen, self.experts)


def layer_of(config: Config, key) -> Any:
    """The layer of a config."""
    sizes = specs.LayerSizes(config.width, config.experts * config.size, 1, 0.0)
    spec: specs.AbstractFeedForwardSpec = specs.DepthScaledFeedForwardSpec()
    if config.layer == "mixture":
        spec = specs.MixtureSpec(experts=config.experts, size=config.size, chosen=config.chosen)
    return spec.build(sizes, key)


def fastest(run: Callable[[], Any], repeats: int) -> float:
    """The least processor time of several runs, in milliseconds."""
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return 1e3 * best


def trial(config: Config, key, recorder: Recorder) -> None:
    """Time one layer forward and backward, and ask the compiler for its memory."""
    import equinox as eqx
    import jax

    of_layer, of_columns = jax.random.split(key)
    layer = eqx.filter_jit(layer_of)(config, of_layer)
    x = jax.random.normal(of_columns, (1, config.tokens, config.width))
    arrays, rest = eqx.partition(layer, eqx.is_array)

    def forward(arrays, x):
        return eqx.combine(arrays, rest)(x)[0]

    def loss(arrays, x):
        return (forward(arrays, x) ** 2).mean()

    options: dict[str, Any] = {"xla_backend_optimization_level": 3}
    for name, function in (("forward", forward), ("step", jax.grad(loss, argnums=(0, 1)))):
        program = jax.jit(function).lower(arrays, x).compile(options)
        jax.block_until_ready(program(arrays, x))
        run = lambda program=program: jax.block_until_ready(program(arrays, x))  # noqa: E731
        recorder.metric(f"{name}_ms", fastest(run, config.repeats))
        memory: Any = program.memory_analysis()
        recorder.metric(f"{name}_megabytes", memory.temp_size_in_bytes / 1e6)
    hidden = config.experts * config.size
    flops = theory.dense_flops(config.width, hidden)
    if config.layer == "mixture":
        flops = theory.mixture_flops(config.width, config.experts, config.size, config.chosen)
    recorder.metric("flops_per_token", flops)


def of(layer: str, metric: str = "step_ms", **where: Any):
    """A measurement of a layer at the sizes that most conditions have."""
    sizes = USUAL | where
    return per_seed(metric, f"{metric.replace('_', ' ')} of {layer}, {where}", layer=layer, **sizes)


AXES = {"experts": EXPERTS, "size": SIZES, "width": WIDTHS}


def draw(metric: str, y: str):
    """A figure of a measurement along all axes."""

    def drawn(results: Results):
        figure = figures.panels(*AXES, x=tuple(AXES), y=y, log_x=True, log_y=True)
        for panel, axis in enumerate(AXES):
            others = {name: value for name, value in USUAL.items() if name != axis}
            for color, layer in enumerate(results.values("layer")):
                runs = results.where(layer=layer, **others)
                places = runs.values(axis)
                values = [runs.metric(metric, **{axis: place}) for place in places]
                figures.add_points(figure, places, values, layer, color=color, panel=panel)
        return figure

    return drawn


def sweep() -> tuple[dict[str, Any], ...]:
    """Both layers along experts, sizes and widths, one at a time."""
    return tuple(
        {"layer": layer, axis: value}
        for axis, values in AXES.items()
        for value in values
        for layer in ("dense", "mixture")
    )


study = Study(
    name="sparse-experts/resources",
    title="The cost of a mixture does not grow with the number of its experts",
    source=Source(DOCUMENT, "Figures 7.2, F.5 and F.6"),
    question="How do time and memory of one layer grow with experts, their size and the width of "
    "columns, beside a dense layer of as many parameters?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(layer=("dense", "mixture")),
            settings={"experts": 4, "size": 4, "width": 8, "tokens": 32, "repeats": 1, "chosen": 2},
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3, conditions=sweep(), cost="a few minutes on two cores; not timed yet"
        ),
        "paper": Preset(
            seeds=1,
            conditions=tuple(
                {"layer": layer, "experts": 32, "size": 128, "width": 512} | {axis: value}
                for axis, values in (
                    ("experts", (8, 16, 32, 64, 128, 256)),
                    ("size", (64, 128, 256, 512, 1024)),
                    ("width", (128, 256, 512, 1024, 2048)),
                )
                for value in values
                for layer in ("dense", "mixture")
            ),
            settings={"tokens": 32_768},
            cost="minutes on an accelerator",
        ),
    },
    claims=(
        Claim(
            "flat-in-experts",
            "With 64 experts a step takes less than {0} times as long as with 8.",
            "Figure 7.2",
            every_seed(of("mixture", experts=64) / of("mixture", experts=8)) < 2.5,
        ),
        Claim(
            "dense-is-linear",
            "A dense layer with the hidden units of 64 experts takes more than {0} times as long "
            "as one with those of 8.",
            "Figure 7.2",
            every_seed(of("dense", experts=64) / of("dense", experts=8)) > 5,
        ),
        Claim(
            "faster-from-sixteen-experts",
            "From 16 experts on, a mixture is faster than a dense layer of as many parameters.",
            "Figure 7.2",
            all_of(
                every_seed(of("mixture", experts=n) / of("dense", experts=n)) < 1.0
                for n in EXPERTS[1:]
            ),
        ),
        Claim(
            "less-memory",
            "With 64 experts, what a step keeps in memory is less than {0:%} of what the dense "
            "layer's step keeps.",
            "Figure 7.2",
            every_seed(
                of("mixture", "step_megabytes", experts=64)
                / of("dense", "step_megabytes", experts=64)
            )
            < 0.5,
        ),
    ),
    figures=(
        Figure(
            "time",
            "Time of a step",
            "Figures 7.2, F.5 and F.6: processor time forward and backward; all seeds, their mean "
            "and its 95 % interval.",
            draw("step_ms", "ms"),
        ),
        Figure(
            "memory",
            "Memory of a step",
            "What the compiled program needs beside its inputs and outputs.",
            draw("step_megabytes", "MB"),
        ),
    ),
    notes="Times are of the machine at hand and differ from run to run, also of one seed; claims "
    "compare those of one run. The paper times an accelerator, where its kernel is faster than the "
    "dense layer above 16 experts.",
)
