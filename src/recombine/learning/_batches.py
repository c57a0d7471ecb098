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


def size_of(data: Any) -> int:
    """The number of examples in a PyTree of arrays."""
    return len(jax.tree.leaves(data)[0])


def take(data: Any, places: Int[Array, " chosen"]) -> Any:
    """The examples at these places."""
    return jax.tree.map(lambda a: a[places], data)


class AbstractBatches(eqx.Module):
    """The batch of every step. Batches may differ in shape from step to step."""

    @abstractmethod
    def apply(self, use: Callable[[Any], Result], t: Int[Array, ""], key: PRNGKeyArray) -> Result:
        """`use(batch)` for the batch of step t."""


class AbstractSampler(AbstractBatches):
    """Batches that all have one shape."""

    @abstractmethod
    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batch of step t."""

    def apply(self, use: Callable[[Any], Result], t: Int[Array, ""], key: PRNGKeyArray) -> Result:
        """`use(batch)` for the batch of step t."""
        return use(self(t, key))


class AbstractStream(eqx.Module):
    """Batches that depend on a state, which learning carries along."""

    @abstractmethod
    def initial(self, key: PRNGKeyArray) -> Any:
        """The state before the first batch."""

    @abstractmethod
    def next(self, state: Any, t: Int[Array, ""], key: PRNGKeyArray) -> tuple[Any, Any]:
        """The batch of step t, and the state after it."""


Sampler = Callable[[Array, PRNGKeyArray], Any]
Batches = AbstractBatches | AbstractStream | Sampler


def on_batch(
    batches: Batches,
    use: Callable[[Any], Result],
    stream: Any,
    t: Int[Array, ""],
    key: PRNGKeyArray,
) -> tuple[Result, Any]:
    """`use(batch)` for the batch of step t, and the state of a stream after it."""
    if isinstance(batches, AbstractStream):
        batch, stream = batches.next(stream, t, key)
        return use(batch), stream
    if isinstance(batches, AbstractBatches):
        return batches.apply(use, t, key), stream
    return use(batches(t, key)), stream


class Whole(AbstractSampler):
    """All of a set at every step."""

    data: Any

    def __call__(self, t, key):
        """All of it."""
        return self.data


class Sampled(AbstractSampler):
    """Examples that a task draws afresh."""

    task: AbstractTask
    batch_size: int

    def __check_init__(self):
        check_counts(self, "batch_size")

    def __call__(self, t, key):
        """`task.sample(batch_size, key=key)`."""
        return self.task.sample(self.batch_size, key=key)


class Drawn(AbstractSampler):
    """Examples of a set, drawn with replacement.

    **Arguments:**

    - `data`: a PyTree of arrays whose first axis is the examples.
    - `batch_size`: examples per step.
    - `rows`: draw from the first so many only; an array, so that sets of all sizes share one
        program. `None`: from all.
    """

    data: Any
    batch_size: int
    rows: Int[Array, ""] | None = None

    def __check_init__(self):
        check_counts(self, "batch_size")

    def __call__(self, t, key):
        """The examples at random places."""
        rows = size_of(self.data) if self.rows is None else self.rows
        return take(self.data, jax.random.randint(key, (self.batch_size,), 0, rows))


class Passes(AbstractSampler):
    """One pass over a set after another, in its own order.

    As in the TensorFlow playground: examples at the end of a pass that do not fill a batch wait,
    and count in the first batch of the next pass. Batches have room for them, with weight 0 if
    there are none: `data` has an entry `weight`, by which a loss averages.
    """

    data: Any
    batch_size: int

    def __check_init__(self):
        if not 1 <= self.batch_size <= size_of(self.data):
            raise ValueError(
                f"a batch of {self.batch_size} of {size_of(self.data)} examples; use 1 to all"
            )

    @property
    def updates(self) -> int:
        """Batches per pass."""
        return size_of(self.data) // self.batch_size

    def __call__(self, t, key):
        """The examples of update t."""
        rest = size_of(self.data) - self.updates * self.batch_size
        place = t % self.updates
        batch = jax.tree.map(
            lambda a: jax.lax.dynamic_slice_in_dim(a, place * self.batch_size, self.batch_size),
            self.data,
        )
        if not rest:
            return batch
        waiting = jax.tree.map(lambda a: a[len(a) - rest :], self.data)
        counts = jnp.where((place == 0) & (t > 0), waiting.weight, 0)
        return jax.tree.map(
            lambda *parts: jnp.concatenate(parts), waiting._replace(weight=counts), batch
        )


class Shuffled(AbstractStream):
    """Passes over a set without replacement, in a new order each time.

    What does not fill a batch at the end of a pass is left out of it.
    """

    data: Any
    batch_size: int

    def __check_init__(self):
        if not 1 <= self.batch_size <= size_of(self.data):
            raise ValueError(
                f"a batch of {self.batch_size} of {size_of(self.data)} examples; use 1 to all"
            )

    def initial(self, key):
        """An order, and the place in it, at the end: the first batch begins a pass."""
        size = size_of(self.data)
        return jnp.arange(size), jnp.asarray(size)

    def next(self, state, t, key):
        """The next examples in the order of the pass."""
        order, place = state
        size = len(order)
        over = place + self.batch_size > size
        order = jax.lax.cond(over, lambda: jax.random.permutation(key, size), lambda: order)
        place = jnp.where(over, 0, place)
        chosen = jax.lax.dynamic_slice_in_dim(order, place, self.batch_size)
        return take(self.data, chosen), (order, place + self.batch_size)


class Mixture(AbstractBatches):
    """Every batch is of one of several sources, which may differ in shape.

    ```python
    Mixture.of_sets(sequences.buckets(5), batch_size=64)
    ```

    **Arguments:**

    - `sources`: what batches are drawn from.
    - `shares`: the probability of each, up to a factor.
    """

    sources: tuple["AbstractBatches | Sampler", ...]
    shares: Float[Array, " sources"] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        if not self.sources:
            raise ValueError("there is nothing to draw batches from; give one source or more")
        if len(self.shares) != len(self.sources):
            raise ValueError(f"{len(self.shares)} shares of {len(self.sources)} sources")

    @classmethod
    def of_sets(cls, sets: Sequence[Any], batch_size: int) -> "Mixture":
        """Sets that are drawn from with replacement, each as often as it is large."""
        shares = [float(size_of(part)) for part in sets]
        return cls(tuple(Drawn(part, batch_size) for part in sets), shares)

    def apply(self, use, t, key):
        """`use(batch)` for a batch of the source that is drawn."""
        of_source, of_batch = jax.random.split(key)
        branches = [lambda s=s: on_batch(s, use, None, t, of_batch)[0] for s in self.sources]
        if len(branches) == 1:
            return branches[0]()
        chosen = jax.random.categorical(of_source, jnp.log(self.shares))
        return jax.lax.switch(chosen, branches)


class Stages(AbstractSampler):
    """Batches of one source until step `until`, and of another one from then on."""

    first: AbstractSampler
    then: AbstractSampler
    until: float | Float[Array, ""]

    def __call__(self, t, key):
        """The batch of the source whose turn it is."""
        return jax.lax.cond(t < self.until, lambda: self.first(t, key), lambda: self.then(t, key))


class Prepared(AbstractBatches):
    """Batches to which something is done before they are learned from, `prepare(batch, key)`."""

    batches: AbstractBatches
    prepare: Callable[[Any, PRNGKeyArray], Any]

    def apply(self, use, t, key):
        """`use(prepare(batch))`, with a key of its own for `prepare`."""
        own = jax.random.fold_in(key, OF_PREPARE)
        return self.batches.apply(lambda batch: use(self.prepare(batch, own)), t, key)
