"""Gradient descent as a rule of passed parts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PRNGKeyArray

from ._batches import OF_OBJECTIVE, AbstractStream, Batches, on_batch
from ._keep import AbstractKeep, Kept, Last
from ._loop import AbstractRule, carried
from ._objectives import AbstractCarryingObjective
from ._optimizer import AnyOptimizer


class Recorded(eqx.Module):
    """Sums of named values over the steps since the last observation."""

    sums: dict[str, Array]
    steps: Int[Array, ""]

    def add(self, values: dict[str, Array]) -> "Recorded":
        """With the values of one more step; the first one after an observation begins anew."""
        sums = {
            name: jnp.where(self.steps == 0, 0, self.sums[name]) + values[name] for name in values
        }
        return Recorded(sums, self.steps + 1)

    def means(self) -> dict[str, Array]:
        """The mean of every value over the steps."""
        return {name: total / jnp.maximum(self.steps, 1) for name, total in self.sums.items()}

    def restarted(self) -> "Recorded":
        """The means, as they stay until the next step."""
        return Recorded(self.means(), jnp.zeros_like(self.steps))


class DescentState(eqx.Module):
    """Where learning stands."""

    learns: Any
    """The part of the network that learns, with `None` for all that does not."""
    rest: Any
    """The part that stays as it is."""
    opt_state: Any
    carry: Any
    """What the objective carries from batch to batch."""
    stream: Any
    """The state of batches that have one."""
    kept: Any
    recorded: Recorded

    @property
    def model(self) -> Any:
        """The whole network."""
        return eqx.combine(self.learns, self.rest)


class Descent(AbstractRule[DescentState]):
    """Descend an objective on batches, by an optimizer.

    ```python
    rule = Descent(
        ScoreLoss(), Sampled(task, 64), adam(1e-3), key=key,
        measure=Accuracy({"": seen, "ood": tests}), keep=Best("ood_accuracy"), every=10,
    )
    state, curves = train(rule, rule.init(network), 200)
    network, step = rule.kept(state)
    ```

    Everything is a part that is passed in. Parts are PyTrees or plain functions; the numbers in a
    PyTree are inputs of the compiled program, so that rules of one shape share one compilation.

    **Arguments:**

    - `objective`: `(model, batch, key)` to the loss, or to the loss and a dictionary of further
        values, which are recorded as means over the steps between two observations. An
        `AbstractCarryingObjective` carries something from batch to batch besides.
    - `batches`: what a step sees: an `AbstractBatches`, an `AbstractStream` or a function of t and
        a key.
    - `optimizer`: an `Optimizer`, or a plain Optax value.
    - `key`: everything in step t is drawn with `jax.random.fold_in(key, t)`.
    - `measure`: what to observe of a network, `model -> dict`; of a network and what the objective
        carries, where it does. `None`: the loss of the steps, recorded as above.
    - `keep`: which network is kept: by default the last, or `Best("a measurement")`.
    - `trainable`: what learns: a function of a leaf, or a PyTree of booleans that is a prefix of
        the model.
    - `every`: steps between two observations.
    """

    objective: Callable[..., Any]
    batches: Batches
    optimizer: AnyOptimizer
    key: PRNGKeyArray = eqx.field(kw_only=True)
    measure: Callable[..., dict[str, Array]] | None = eqx.field(kw_only=True, default=None)
    keep: AbstractKeep = eqx.field(kw_only=True, default=Last())
    trainable: Any = eqx.field(kw_only=True, default=eqx.is_inexact_array)
    every: int = eqx.field(kw_only=True, default=1)

    def __check_init__(self):
        if self.every < 1:
            raise ValueError(f"every={self.every} is less than 1")

    @property
    def _carries(self) -> bool:
        return isinstance(self.objective, AbstractCarryingObjective)

    def init(self, model: Any) -> DescentState:
        """The state before the first step."""
        learns, rest = eqx.partition(model, self.trainable)
        rest = carried(rest)
        carry = self.objective.initial(model) if self._carries else None  # type: ignore[attr-defined]
        batches = self.batches
        stream = batches.initial(self.key) if isinstance(batches, AbstractStream) else None
        state = DescentState(
            learns, rest, self.optimizer.init(learns), carry, stream, self.keep.initial(learns),
            Recorded({}, jnp.array(0)),
        )  # fmt: skip

        def first(state):
            """What there is to record, on the first batch."""

            def use(batch):
                return self._evaluate(state.learns, state, batch, key)[1][0]

            key = jax.random.fold_in(self.key, 0)
            return on_batch(self.batches, use, jnp.array(0), key, state.stream)[0]

        if eqx.filter_eval_shape(first, state):
            values = eqx.filter_jit(first)(state)
            # Means are real numbers, whatever they are means of.
            sums = {name: value * jnp.ones(()) for name, value in values.items()}
            state = replace(state, recorded=Recorded(sums, jnp.array(1)))
        return state

    def _evaluate(self, learns: Any, state: DescentState, batch: Any, key: PRNGKeyArray) -> Any:
        """The loss, what is recorded of it, and what the objective carries on."""
        model, key = eqx.combine(learns, state.rest), jax.random.fold_in(key, OF_OBJECTIVE)
        if self._carries:
            loss, extras, carry = self.objective(model, batch, key, state.carry)
        else:
            result = self.objective(model, batch, key)
            loss, extras = result if isinstance(result, tuple) else (result, {})
            carry = None
        return loss, ({"loss": loss} | extras if self.measure is None else extras, carry)

    def step(self, state: DescentState, t: Int[Array, ""]) -> DescentState:
        """One batch, one step of the optimizer."""
        key = jax.random.fold_in(self.key, t)

        def use(batch):
            evaluate = lambda learns: self._evaluate(learns, state, batch, key)  # noqa: E731
            return jax.grad(evaluate, has_aux=True)(state.learns)

        (gradient, (values, carry)), stream = on_batch(self.batches, use, t, key, state.stream)
        updates, opt_state = self.optimizer.update(gradient, state.opt_state, state.learns)
        learns = optax.apply_updates(state.learns, updates)
        recorded = state.recorded.add(values)
        return DescentState(learns, state.rest, opt_state, carry, stream, state.kept, recorded)

    def observe(self, state: DescentState) -> dict[str, Array]:
        """What `measure` returns, and the means of what the objective reports."""
        seen = state.recorded.means()
        if self.measure is None:
            return seen
        carried = (state.carry,) if self._carries else ()
        return seen | self.measure(state.model, *carried)

    def noted(self, state: DescentState, seen: dict[str, Array], t: Int[Array, ""]) -> DescentState:
        """The network is kept or not, and means begin anew."""
        kept = self.keep.update(state.kept, state.learns, seen, t)
        return replace(state, kept=kept, recorded=state.recorded.restarted())

    def kept(self, state: DescentState) -> Kept:
        """The network that is kept, and the step at which it was measured."""
        learns, step = self.keep.choice(state.kept, state.learns)
        return Kept(eqx.combine(learns, state.rest), step)
