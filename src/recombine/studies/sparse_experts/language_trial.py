"""What trials on language share: a network learns a text, and is tested on its end."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from recombine import data, learning, models, probes, theory
from recombine.lab import Count, NotNegative, Positive, Recorder, UserError, Whole, check_intervals
from recombine.models import specs

from .rows import Row

Text = Literal[
    "generated", "tiny-shakespeare", "wikipedia-excerpt", "state-of-the-union", "enwik8",
    "wikitext-103",
]  # fmt: skip
TAIL = 4
"""Of how many of the least used experts the share is told."""
GENERATED = 60_000
"""Bytes of a generated text."""


@dataclass(frozen=True)
class Config:
    """Settings of the studies of language models."""

    row: Row = "sigma-moe"
    """The row of the tables; from it follow `feed_forward` and `balance`."""
    column: Literal["laptop", "E8", "WT-S", "WT-S*", "WT-B"] = "laptop"
    """The column of the tables; from it follow text, sizes and learning."""
    data: Text = "wikipedia-excerpt"
    """The text; generated: words of a made-up language."""
    pieces: Count | None = None
    """How many pieces of words SentencePiece learns as tokens; none: tokens are bytes."""
    model: specs.AbstractLanguageSpec = specs.TransformerXLSpec()
    """The network."""
    feed_forward: specs.AbstractFeedForwardSpec = specs.MixtureSpec()
    """The feed-forward networks of its layers."""
    balance: NotNegative = 1e-3
    """Weight of the term that balances experts, γ."""
    streams: Count = 16
    """Streams per update, each of which the network reads in order; the batch size."""
    context: Count = 64
    """Tokens per segment."""
    memory: Count = 1
    """Segments that are remembered in training."""
    test_memory: Count = 1
    """Segments that are remembered in tests."""
    test_streams: Count = 64
    """Streams that are read at once in tests."""
    evaluated: Count | None = 65_536
    """Tokens of the validation text on which networks are measured in training; none: all."""
    looked_at: Count = 32_768
    """Tokens of the validation text on which the use of experts and channels is counted."""
    learning_rate: Positive = 2e-3
    """Learning rate of Adam, which falls to 0 along half a cosine."""
    warmup_steps: Whole = 100
    """Updates over which the learning rate rises."""
    clip: Positive = 0.25
    """Norm to which longer gradients are cut."""
    steps: Count = 900
    """Number of updates."""
    every: Count = 300
    """Updates between two measurements."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)
        if self.steps <= self.warmup_steps:
            raise ValueError(
                f"steps={self.steps} end before warmup_steps={self.warmup_steps} are over"
            )


class Tokens(NamedTuple):
    """A text as tokens."""

    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    vocabulary: int


def tokens_of(config: Config) -> Tokens:
    """The text of a config; all seeds read the same."""
    if config.data == "generated":
        whole = data.generated_text(GENERATED, seed=0)
        cuts = round(0.8 * GENERATED), round(0.9 * GENERATED)
        parts = whole[: cuts[0]], whole[cuts[0] : cuts[1]], whole[cuts[1] :]
    else:
        found = data.corpus(config.data)
        parts = found.train, found.valid, found.test
    known: data.ByteVocabulary | data.PieceVocabulary
    if config.pieces is None:
        known = data.ByteVocabulary.of(*parts)
    else:
        known = data.PieceVocabulary.learned(parts[0], config.pieces)
    train, valid, test = map(known.encode, parts)
    return Tokens(train, valid, test, len(known))


def segments_of(config: Config, text: np.ndarray, count: int | None = None) -> "learning.Segments":
    """A text, or its first tokens, as it is read in tests."""
    text = text if count is None else text[: count + config.test_streams]
    return _segments("the test text", text, config.test_streams, config.context)


def _segments(name: str, text: np.ndarray, streams: int, length: int) -> "learning.Segments":
    try:
        return learning.Segments(text, streams, length)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None


class Learned(NamedTuple):
    """What is left of training."""

    model: Any
    untrained: Any
    tokens: Tokens


def untrained(spec: specs.AbstractLanguageSpec, vocabulary: int, *, key) -> Any:
    """The network of a spec. All seeds share one compiled program."""
    import equinox as eqx

    return eqx.filter_jit(_built)(spec, vocabulary, key)


def _built(spec, vocabulary, key):
    return spec.build(specs.LanguageSizes(vocabulary), key)


def learn(config: Config, key, recorder: Recorder) -> Learned:
    """Train a network, keep it, and report how well it predicts the end of the text.

    Of one key, all networks begin with the same embeddings and read the same segments.
    """
    import equinox as eqx
    import jax

    weight_key, batch_key = jax.random.split(key)
    tokens = tokens_of(config)
    given: Any = config.model
    spec = replace(given, feed_forward=config.feed_forward)
    made = untrained(spec, tokens.vocabulary, key=weight_key)
    rate = learning.Cosine(
        config.learning_rate, 0.0, config.steps - config.warmup_steps, config.warmup_steps
    )
    places = config.context * config.test_memory
    rule = learning.Descent(
        learning.LanguageLoss(config.streams, config.context * config.memory, config.balance),
        _segments("the training text", tokens.train, config.streams, config.context),
        learning.chain(learning.clip(config.clip), learning.adam(rate)),
        key=batch_key,
        measure=learning.TextLoss(
            {"valid": segments_of(config, tokens.valid, config.evaluated)}, places
        ),
        every=config.every,
    )
    state, curves = recorder.train(rule, eqx.filter_jit(rule.init)(made), config.steps)
    model = state.model
    recorder.keep(model, spec, specs.LanguageSizes(tokens.vocabulary))
    for name in ("valid_nats", "nats", "balance"):
        recorder.curve(name, curves["step"], curves[name])
    nats = float(
        eqx.filter_jit(learning.text_loss)(model, segments_of(config, tokens.test), places)
    )
    recorder.metric("bits", learning.bits_per_token(nats))
    recorder.metric("perplexity", learning.perplexity(nats))
    recorder.metric("valid_bits", learning.bits_per_token(curves["valid_nats"][-1]))
    recorder.metric("parameters", models.count_parameters(made))
    return Learned(model, made, tokens)


def traces_of(config: Config, model: Any, tokens: Tokens) -> dict[str, Any]:
    """What every layer does on the first tokens of the validation text."""
    segments = segments_of(config, tokens.valid, config.looked_at)
    return probes.text_traces(model, segments, config.context * config.test_memory)


def report_usage(config: Config, model: Any, traces: dict[str, Any], recorder: Recorder) -> None:
    """Report how the experts of a network are used."""
    import jax.numpy as jnp

    spec: Any = config.feed_forward
    chosen, experts = traces["chosen"], spec.experts
    usage = probes.expert_usage(chosen, traces["weights"], experts)
    recorder.array("usage", np.asarray(usage.weights))
    recorder.array("counts", np.asarray(usage.counts))
    recorder.metric("evenness", probes.relative_perplexity(usage.weights).mean())
    recorder.metric("least_even", probes.relative_perplexity(usage.weights).min())
    recorder.metric("dead", probes.dead_experts(usage.counts).mean())
    few = min(TAIL, experts)
    least = np.sort(np.asarray(usage.weights), axis=1)[:, :few]
    recorder.metric("tail", least.mean() * experts)
    pairs = jnp.stack([probes.co_occurrence(layer, experts) for layer in chosen])
    recorder.array("pairs", np.asarray(pairs))
    if chosen.shape[2] > 1:
        recorder.metric("partners", experts * probes.relative_perplexity(pairs).mean())
    recorder.metric(
        "specialisation",
        np.mean([probes.specialisation(layer, traces["tokens"], experts) for layer in chosen]),
    )
    if len(chosen) > 1:
        overlap = probes.overlap_of_choices(chosen[:-1], chosen[1:])
        recorder.metric("overlap_of_layers", np.mean(overlap))
    if experts > 1:
        router = model.stack.block.feed_forward.router.weight
        cosines = [probes.mean_pairwise_cosine(layer.T) for layer in router]
        recorder.metric("cosine_of_experts", np.mean(cosines))
    recorder.metric("flops", 100 * theory.nominal_share(experts, spec.chosen))


def report_channels(config: Config, active: Any, recorder: Recorder, prefix: str) -> None:
    """Report how many hidden units, or scores of values, are positive."""
    found = probes.active_channels(active)
    recorder.array(f"{prefix}active", np.asarray(found.mean))
    recorder.array(f"{prefix}deviation", np.asarray(found.deviation))
    recorder.metric(f"{prefix}active", np.mean(found.mean))
    model: Any = config.model
    recorder.metric(f"{prefix}share", np.mean(found.mean) / model.hidden)
    recorder.metric(f"{prefix}largest_share", np.max(found.mean) / model.hidden)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn a text, be tested on its end, and look at the experts and channels that it uses."""
    learned = learn(config, key, recorder)
    traces = traces_of(config, learned.model, learned.tokens)
    if "chosen" in traces and isinstance(config.feed_forward, specs.MixtureSpec):
        report_usage(config, learned.model, traces, recorder)
    if "active" in traces:
        report_channels(config, traces["active"], recorder, "")
        before = traces_of(config, learned.untrained, learned.tokens)
        report_channels(config, before["active"], recorder, "untrained_")
