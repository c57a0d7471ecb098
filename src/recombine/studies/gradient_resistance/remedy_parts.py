"""Remedies against the use of a redundant input, each made of parts of learning and models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from recombine import learning

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray


class Situation(NamedTuple):
    """What a remedy can be made of: a task with two inputs, and how it is learned without one."""

    parts: Array
    """Where X_1 and X_2 lie in an example's x: two masks."""
    objective: Callable[..., Any]
    """Of a network, a batch and a key."""
    loss: Callable[[Array, Any], Array]
    """Of outputs and a batch."""
    halves: Callable[[Any], tuple[Callable[[Array], Array], Callable[[Array], Array]]]
    """A network up to a hidden layer, and from there on."""
    informative: Callable[..., Any]
    """Batches in which X_2 tells something of the target."""
    uninformative: Callable[..., Any]
    """Batches in which it tells nothing."""
    steps: int
    """Updates of training."""
    network: Callable[[], Any]
    """Makes one network for both inputs."""
    towers: Callable[[], Any]
    """Makes one network per input, added up."""


class Remedy(NamedTuple):
    """What is done against the use of X_2, by functions of a strength s and a situation.

    What is not given is as without a remedy.
    """

    objective: Callable[[float, Situation], Any] = lambda s, at: at.objective
    batches: Callable[[float, Situation], Any] = lambda s, at: at.informative
    prepare: Callable[[float, Situation], Any] | None = None
    network: Callable[[Situation], Any] = lambda at: at.network()


REMEDIES = {
    "none": Remedy(),
    "penalty": Remedy(lambda s, at: learning.SlopePenalty(at.objective, s, at.parts[1])),
    "drop": Remedy(prepare=lambda s, at: learning.DropParts(at.parts[1:], s)),
    "noise": Remedy(prepare=lambda s, at: learning.AddNoise(at.parts[1], s)),
    "shuffle": Remedy(prepare=lambda s, at: learning.ExchangeParts(at.parts[1], s)),
    "either": Remedy(prepare=lambda s, at: learning.DropParts(at.parts, s)),
    "entropy": Remedy(lambda s, at: learning.HiddenNoise(at.halves, at.loss, s)),
    "order": Remedy(
        batches=lambda s, at: learning.Stages(at.uninformative, at.informative, s * at.steps)
    ),
    "reversed": Remedy(
        batches=lambda s, at: learning.Stages(at.informative, at.uninformative, s * at.steps)
    ),
    "modular": Remedy(network=lambda at: at.towers()),
}
"""The remedies, with their strengths s.

- `none`.
- `penalty`: adds s times the mean of ‖∂Ŷ/∂X_2‖² at training examples to the loss.
- `drop`: X_2 becomes 0 with probability s.
- `noise`: adds Gaussian noise of standard deviation s to X_2.
- `shuffle`: with probability s, X_2 is that of another example of the batch.
- `either`: with probability s one of the two inputs becomes 0, the first as often as the other.
- `entropy`: bounds what a hidden layer h can hold: adds Gaussian noise of standard deviation 1 to
    it in training, and s times the mean of ‖h‖² to the loss.
- `order`: X_2 tells nothing of the target for a share s of all steps; then it is informative.
- `reversed`: X_2 is informative for a share s of all steps; then it tells nothing.
- `modular`: one network for X_1 and one for X_2, whose outputs are added.
"""


def remedied_rule(
    remedy: str,
    strength: float,
    at: Situation,
    optimizer: learning.Optimizer,
    measure: Callable[[Any], dict[str, Array]] | None = None,
    *,
    key: PRNGKeyArray,
) -> tuple[learning.Descent, Any]:
    """How to learn with a remedy, and the network that learns."""
    chosen = REMEDIES[remedy]
    batches = chosen.batches(strength, at)
    if chosen.prepare is not None:
        batches = learning.Prepared(batches, chosen.prepare(strength, at))
    objective = chosen.objective(strength, at)
    rule = learning.Descent(objective, batches, optimizer, key=key, measure=measure, every=at.steps)
    return rule, chosen.network(at)
