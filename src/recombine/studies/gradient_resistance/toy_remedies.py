"""The toy of two coordinates, with remedies against the use of the second one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from recombine import learning, models, probes, tasks
from recombine.lab import Recorder

from .remedy_parts import Situation, remedied_rule
from .toy_trial import (
    BATCH,
    GRID,
    POINTS,
    RATE,
    SIZES,
    STEPS,
    accuracy,
    playground_network,
    training_set,
)

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray

STRENGTHS: dict[str, float] = {
    "none": 0.0,
    "penalty": 10.0,
    "drop": 0.5,
    "noise": 2.0,
    "entropy": 0.001,
    "order": 0.5,
    "modular": 0.0,
}
"""The remedies, and by default how much of each (see `REMEDIES`), chosen on seeds 500 to 509."""


class ToyScores(NamedTuple):
    """How a trained network does."""

    train_accuracy: float
    held_out_accuracy: float
    """The share of the held-out quadrant that it takes for positive."""
    leakage: float
    """I(Ŷ; X_2 | X_1) in bits, with X_1 and X_2 independent and uniform on their whole range."""


def scores(
    model: Callable[[Array], Array], task: tasks.QuadrantToy, batch: tasks.QuadrantBatch
) -> dict[str, Array]:
    """The entries of `ToyScores`, as arrays."""
    import jax.numpy as jnp

    # Rows of a map are values of X_2.
    answers = probes.decision_map(model, task.reach + task.margin, side=GRID).T > 0
    return {
        "train_accuracy": accuracy(model, batch),
        "held_out_accuracy": accuracy(model, task.held_out_grid(GRID)),
        "leakage": probes.leakage(answers.astype(jnp.int32), 2),
    }


def remedied(
    remedy: str, key: PRNGKeyArray, recorder: Recorder, *, strength: float | None = None,
    steps: int = STEPS, points: int = POINTS,
) -> ToyScores:  # fmt: skip
    """Train the playground's network on the toy with a remedy against the use of X_2.

    Of one key the training points are the same with every remedy, and the network's first weights
    too, unless it is modular.
    """
    import equinox as eqx
    import jax

    s = STRENGTHS[remedy] if strength is None else strength
    data_key, weight_key, noise_key = jax.random.split(key, 3)
    task = tasks.QuadrantToy()
    batch = eqx.filter_jit(task.sample)(points, key=data_key)
    at = toy_situation(training_set(batch), steps, weight_key)
    rule, model = remedied_rule(remedy, s, at, learning.sgd(RATE), key=noise_key)
    state, _ = recorder.train(
        rule, rule.init(model), at.steps, chunk=at.steps, name=f"toy-{remedy}"
    )
    found = eqx.filter_jit(scores)(state.model, task, batch)
    return ToyScores(**{name: float(value) for name, value in found.items()})


def toy_situation(examples: tasks.Examples, passes: int, key: PRNGKeyArray) -> Situation:
    """The toy; among points with Y_2 = 0, X_2 tells nothing of Y_1."""
    import equinox as eqx
    import jax.numpy as jnp

    alone = examples._replace(weight=examples.weight * (examples.x[:, 1] < 0))
    informative, uninformative = (learning.Passes(e, BATCH) for e in (examples, alone))
    return Situation(
        parts=jnp.eye(2, dtype=bool),
        objective=learning.half_squared_loss,
        loss=learning.half_squared_error,
        halves=first_hidden_layer,
        informative=informative,
        uninformative=uninformative,
        steps=passes * informative.updates,
        network=lambda: eqx.filter_jit(playground_network)(key=key),
        towers=lambda: eqx.filter_jit(towers_of)(key=key),
    )


def first_hidden_layer(model: models.MLP) -> Any:
    """The network up to its first hidden layer, and from there on."""
    import equinox as eqx
    import jax

    first, *others = model.layers
    after = eqx.tree_at(lambda m: m.layers, model, tuple(others))
    return lambda x: jax.nn.relu(first(x)), after


def towers_of(*, key: PRNGKeyArray) -> models.Towers:
    """A network for each coordinate, added up before the tanh."""
    import jax
    import jax.numpy as jnp

    towers = (
        models.MLP((1, *SIZES[1:]), layer=models.Dense.bounded, key=k)
        for k in jax.random.split(key)
    )
    return models.Towers(tuple(towers), axis=1, output=jnp.tanh)
