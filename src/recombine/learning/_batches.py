"""What a step of learning sees: a fixed set, draws from a set or a task, mixtures, streams."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._checks import check_counts
from ..tasks._task import AbstractTask

Result = TypeVar("Result")

# What a batch draws for itself it gets by splitting its key, and `split(key)[i]` is
# `fold_in(key, i)`: keys of other things need numbers that no split reaches.
OF_OBJECTIVE, OF_PREPARE = 2**31 - 1, 2**31 - 2


def _size(data: Any) -> int:
    """The number of examples in a PyTree of arrays."""
    return len(jax.tree.leaves(data)[0])


def _take(data: Any, places: Int[Array, " chosen"]) -> Any:
    """The examples at these places."""
    return jax.tree.map(lambda a: a[places], data)


def _check_batch(batches: Any) -> None:
    """Refuse a batch that is larger than the set, or empty."""
    size = _size(batches.data)
    if not 1 <= batches.batch_size <= size:
        raise ValueError(f"a batch of {batches.batch_size} of {size} examples; use 1 to all")


class AbstractBatches(eqx.Module):
    """The batch of every step, where batches differ in shape from step to step."""

    @abstractmethod
    def apply(self, use: Callable[[Any], Result], t: Int[Array, ""], key: PRNGKeyArray) -> Result:
        """`use(batch)` for the batch of step t."""


class AbstractStream(eqx.Module):
    """Batches that depend on a state, which learning carries along."""

    @abstractmethod
    def initial(self, key: PRNGKeyArray) -> Any:
        """The state before the first batch."""

    @abstractmethod
    def next(self, state: Any, t: Int[Array, ""], key: PRNGKeyArray) -> tuple[Any, Any]:
        """The batch of step t, and the state after it."""


Sampler = Callable[[Array, PRNGKeyArray], Any]
"""The batch of step t: `sampler(t, key)`."""
Batches = Sampler | AbstractBatches | AbstractStream


def on_batch(
    batches: Batches, use: Callable[[Any], Result], t: Array, key: PRNGKeyArray, state: Any = None
) -> tuple[Result, Any]:
    """`use(batch)` for the batch of step t, and the state of a stream after it."""
    if isinstance(batches, AbstractStream):
        batch, state = batches.next(state, t, key)
        return use(batch), state
    if isinstance(batches, AbstractBatches):
        return batches.apply(use, t, key), state
    return use(batches(t, key)), state


class Sampled(eqx.Module):
    """Examples that a task draws afresh: `task.sample(batch_size, key=key)`."""

    task: AbstractTask
    batch_size: int

    def __check_init__(self):
        check_counts(self, "batch_size")

    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batch of step t."""
        return self.task.sample(self.batch_size, key=key)


class Drawn(eqx.Module):
    """Examples of a set, drawn with replacement, or all of it.

    **Arguments:**

    - `data`: a PyTree of arrays whose first axis is the examples.
    - `batch_size`: examples per step; `None`: all of them at every step.
    - `rows`: draw from the first so many only; an array, so that sets of all sizes share one
        program. `None`: from all.
    """

    data: Any
    batch_size: int | None = None
    rows: Int[Array, ""] | None = None

    def __check_init__(self):
        check_counts(self, "batch_size")

    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batch of step t."""
        if self.batch_size is None:
            return self.data
        rows = _size(self.data) if self.rows is None else self.rows
        return _take(self.data, jax.random.randint(key, (self.batch_size,), 0, rows))


class Passes(eqx.Module):
    """One pass over a set after another, in its own order.

    As in the TensorFlow playground: examples at the end of a pass that do not fill a batch wait,
    and count in the first batch of the next pass. Batches have room for them, with weight 0 if
    there are none: `data` has an entry `weight`, by which a loss averages.
    """

    data: Any
    batch_size: int

    def __check_init__(self):
        _check_batch(self)

    @property
    def updates(self) -> int:
        """Batches per pass."""
        return _size(self.data) // self.batch_size

    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batch of step t."""
        place = t % self.updates
        chosen = place * self.batch_size + jnp.arange(self.batch_size)
        waiting = jnp.arange(self.updates * self.batch_size, _size(self.data))
        batch = _take(self.data, jnp.concatenate([waiting, chosen]))
        counts = jnp.arange(len(batch.weight)) >= len(waiting)
        counts |= (place == 0) & (t > 0)
        return batch._replace(weight=jnp.where(counts, batch.weight, 0))


class Shuffled(AbstractStream):
    """Passes over a set without replacement, in a new order each time.

    What does not fill a batch at the end of a pass is left out of it.
    """

    data: Any
    batch_size: int

    def __check_init__(self):
        _check_batch(self)

    def initial(self, key):
        """An order, and a place in it at its end: the first batch begins a pass."""
        size = _size(self.data)
        return jnp.arange(size), jnp.asarray(size)

    def next(self, state, t, key):
        """The next examples in the order of the pass."""
        order, place = state
        over = place + self.batch_size > len(order)
        order = jax.lax.cond(over, lambda: jax.random.permutation(key, len(order)), lambda: order)
        place = jnp.where(over, 0, place)
        chosen = jax.lax.dynamic_slice_in_dim(order, place, self.batch_size)
        return _take(self.data, chosen), (order, place + self.batch_size)


class Mixture(AbstractBatches):
    """Every batch is of one of several sources, which may differ in shape.

    ```python
    Mixture.of_sets(sequences.buckets(5), batch_size=64)
    ```

    **Arguments:**

    - `sources`: what batches are drawn from.
    - `shares`: the probability of each, up to a factor.
    """

    sources: tuple[Sampler | AbstractBatches, ...]
    shares: Float[Array, " sources"] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        if not self.sources:
            raise ValueError("there is nothing to draw batches from; give one source or more")
        if len(self.shares) != len(self.sources):
            raise ValueError(f"{len(self.shares)} shares of {len(self.sources)} sources")

    @classmethod
    def of_sets(cls, sets: Sequence[Any], batch_size: int) -> "Mixture":
        """Sets that are drawn from with replacement, each as often as it is large."""
        shares = jnp.array([float(_size(part)) for part in sets])
        return cls(tuple(Drawn(part, batch_size) for part in sets), shares)

    def apply(self, use, t, key):
        """`use(batch)` for a batch of the source that is drawn."""
        of_source, of_batch = jax.random.split(key)
        branches = [lambda s=s: on_batch(s, use, t, of_batch)[0] for s in self.sources]
        if len(branches) == 1:
            return branches[0]()
        return jax.lax.switch(jax.random.categorical(of_source, jnp.log(self.shares)), branches)


class Stages(eqx.Module):
    """Batches of one sampler until step `until`, and of another one from then on."""

    first: Sampler
    then: Sampler
    until: float | Float[Array, ""]

    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batch of step t."""
        return jax.lax.cond(t < self.until, lambda: self.first(t, key), lambda: self.then(t, key))


class Prepared(AbstractBatches):
    """Batches to which something is done before they are learned from, `prepare(batch, key)`."""

    batches: Sampler | AbstractBatches
    prepare: Callable[[Any, PRNGKeyArray], Any]

    def apply(self, use, t, key):
        """`use(prepare(batch, key))`, with a key of its own for `prepare`."""
        own = jax.random.fold_in(key, OF_PREPARE)
        return on_batch(self.batches, lambda batch: use(self.prepare(batch, own)), t, key)[0]
