"""What trials of the study of mathematics do: learn one module, and find what easy ones need."""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from recombine import learning, probes, tasks
from recombine._ranges import Count, Fraction, Positive, Whole
from recombine.lab import Recorder, Trained, check_intervals
from recombine.models import specs

from .protocol import conclude

ModuleName = Literal["add_or_sub", "linear_1d", "differentiate", "sort", "collect"]
ABLE = 0.8
"""The least accuracy on hard questions of a network without a mask."""
SPEC = specs.EncoderDecoderSpec(width=256, hidden=512, heads=4, layers=3)


@dataclass(frozen=True)
class NetworkConfig:
    """Settings of the network whose modules are looked for."""

    module: ModuleName = "add_or_sub"
    """What is asked."""
    entropy: tuple[float, ...] = ()
    """The range of the number of digits, from the easiest to the hardest; empty: as published."""
    train: Count = 1_969_029
    """Questions to train, of all difficulties together."""
    test: Count = 30_000
    """Questions of the tests, of all difficulties together."""
    model: specs.AbstractTranslatorSpec = SPEC
    """The network."""
    learning_rate: Positive = 1e-4
    """Learning rate of Adam."""
    second_moment: Fraction = 0.995
    """Adam's β₂, of weights; that of masks is 0.999."""
    warmup_steps: Whole = 0
    """Updates over which the learning rate rises."""
    clip: Positive = 1.0
    """Norm to which longer gradients are cut, of weights and of masks."""
    batch_size: Count = 256
    """Questions per update of the weights."""
    steps: Whole = 30_000
    """Updates of the weights."""
    every: Count = 1000
    """Updates of the weights between two measurements."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)


@dataclass(frozen=True)
class Config(NetworkConfig):
    """Settings of the masks, too."""

    beta: Positive = 2e-5
    """Price of a weight times the batch size, β."""
    mask_rate: Positive = 3e-2
    """Learning rate of the logits."""
    mask_batch_size: Count = 256
    """Questions per update of the masks."""
    samples: Count = 8
    """Samples of a mask per update."""
    mask_steps: Whole = 30_000
    """Updates of the masks."""


def needed(config: Config) -> Trained:
    """The trial that trains the network of a config."""
    own = {field.name: getattr(config, field.name) for field in fields(NetworkConfig)}
    return Trained(network_trial, NetworkConfig(**own))


# The trials that a process runs one after another mostly have one data set.
@lru_cache(maxsize=1)
def questions(
    module: str, entropy: tuple[float, ...], train: int, test: int
) -> "tasks.Translations":
    """All questions; the same for all seeds."""
    chosen = (entropy[0], entropy[1]) if len(entropy) == 2 else None
    return tasks.MathematicsThirds(module, chosen).translations(train=train, test=test)


def parts_of(config: NetworkConfig) -> tuple[Any, np.ndarray, dict[str, Any], "tasks.Translations"]:
    """All training questions, the rows of the easy ones, the tests, and the whole."""
    whole = questions(config.module, config.entropy, config.train, config.test)
    train = tasks.joined_pairs(*(whole.part(name) for name in tasks.DIFFICULTIES))
    tests = {name: whole.part(f"{name}_test") for name in reversed(tasks.DIFFICULTIES)}
    return train, np.arange(whole.size("easy")), tests, whole


def network_trial(config: NetworkConfig, key, recorder: Recorder) -> None:
    """Train a network on all difficulties, and keep it."""
    import equinox as eqx
    import jax

    of_weights, of_batches = jax.random.split(key)
    train, _, tests, whole = parts_of(config)
    sizes = specs.TranslationSizes(len(whole.words.words), len(whole.symbols.words))
    model = eqx.filter_jit(lambda key: config.model.build(sizes, key))(of_weights)
    rate: Any = learning.WarmupLinear(config.learning_rate, config.warmup_steps)
    adam = learning.adam(rate, b2=config.second_moment, eps=1e-9)
    rule = learning.Descent(
        learning.token_loss, learning.Drawn(train, config.batch_size),
        learning.chain(learning.clip(config.clip), adam), key=of_batches,
        measure=learning.ExactTranslations(tests), every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, rule.init(model), config.steps)
    recorder.curve("loss", curves["step"], curves["loss"])
    for name in tasks.DIFFICULTIES:
        recorder.curve(name, curves["step"], curves[name])
        recorder.metric(f"trained_{name}", curves[name][-1])
    recorder.keep(state.model, config.model, sizes)


def trial(config: Config, key, recorder: Recorder) -> None:
    """A mask of all difficulties, and one of easy questions; both are asked hard ones."""
    import jax
    import jax.numpy as jnp

    network = recorder.trained().network
    train, easy, tests, _ = parts_of(config)
    learning.check_mask_steps(
        config.mask_steps, config.beta, config.mask_batch_size, config.mask_rate
    )
    rows = {"control": np.arange(len(train.inputs)), "easy": easy}
    rule = learning.mask_descent(
        learning.token_loss,
        learning.Targets({
            name: learning.DrawnRows(train, jnp.asarray(own), config.mask_batch_size)
            for name, own in rows.items()
        }),
        masked := learning.Masked(network, names=tuple(rows)), beta=config.beta,
        batch_size=config.mask_batch_size, rate=config.mask_rate, samples=config.samples,
        clip_norm=config.clip, key=jax.random.fold_in(key, 1),
        every=max(1, config.mask_steps // 20),
    )  # fmt: skip
    steps = config.mask_steps - config.mask_steps % rule.every
    state, _ = recorder.train(rule, rule.init(masked), steps, name="masks")
    masks = state.model.masks()
    tried = {"unmasked": masks["control"] | ~masks["control"], **masks}
    found = probes.under_masks(network, tried, learning.ExactTranslations(tests))
    right = {
        f"{name}_{part}": float(values[part])
        for name, values in found.items()
        for part in tasks.DIFFICULTIES
    }
    gate = probes.module_gate(right["unmasked_hard"], right["control_hard"], perfect=ABLE)
    drop = {"drop": right["control_hard"] - right["easy_hard"]}
    kept = {f"kept_{name}": probes.kept_share(mask) for name, mask in masks.items()}
    conclude(recorder, gate, right | drop | kept)
