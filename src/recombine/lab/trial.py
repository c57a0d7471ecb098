"""A trial at work: what a study's trial function reports to, and trains through."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from . import checkpoint
from .errors import Diverged
from .networks import Kept

if TYPE_CHECKING:  # JAX is loaded when a trial trains, not when a study is listed
    from recombine.learning import AbstractRule, Progress

State = TypeVar("State")


class Listener(Protocol):
    """Told after every chunk of steps."""

    def __call__(self, step: int, steps: int, loss: float | None) -> None: ...


class Recorder:
    """What a trial reports its measurements to, and trains through.

    **Arguments:**

    - `folder`: where checkpoints go; without one there are none.
    - `listener`: told of progress.
    - `checkpoint_seconds`: the least time between two checkpoints.
    - `trained`: the networks of the trial that this one needs, by name.
    """

    def __init__(
        self,
        folder: Path | None = None,
        listener: Listener | None = None,
        checkpoint_seconds: float = 5.0,
        trained: Mapping[str, Kept] | None = None,
    ):
        self.metrics: dict[str, float] = {}
        self.curves: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.networks: dict[str, Kept] = {}
        self.steps = 0
        self._trained = trained
        self._loops: set[str] = set()
        self._folder = folder
        self._listener = listener
        self._checkpoint_seconds = checkpoint_seconds

    def metric(self, name: str, value: Any) -> None:
        """Report a number. One that is not finite ends the trial as diverged."""
        number = float(value)
        if not np.isfinite(number):
            raise Diverged(f"metric {name} is {number}")
        self.metrics[name] = number

    def curve(self, name: str, x: Any, y: Any) -> None:
        """Report a curve: abscissa `x` [points] and ordinate `y` [points]."""
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(
                f"curve {name}: x has shape {x.shape}, y {y.shape}; both must be [points]"
            )
        self.curves[name] = (x, y)

    def array(self, name: str, array: Any) -> None:
        """Report an array of any shape."""
        self.arrays[name] = np.asarray(array)

    def keep(self, network: Any, spec: Any, sizes: Any, name: str = "network") -> None:
        """Keep a trained network: for `recombine.load`, and for trials that look at it.

        **Arguments:**

        - `spec`, `sizes`: what it was built from, by `spec.build(sizes, key)`. Sizes are a number,
            a text, or a named tuple of them.
        - `name`: what to call it, if a trial keeps several.
        """
        if not name.isidentifier():
            raise ValueError(f"a network cannot be called {name!r}: use letters, digits and _")
        self.networks[name] = Kept(network, spec, sizes)

    def trained(self, name: str = "network") -> Kept:
        """The network that the trial has kept which this one needs: see `Study.needs`."""
        if self._trained is None:
            raise ValueError("this trial needs no other: say in its study, with `needs`, which")
        return self._trained[name]

    def train(
        self,
        rule: "AbstractRule[State]",
        state: State,
        steps: int,
        *,
        every: int | None = None,
        chunk: int = 500,
        name: str = "train",
    ) -> tuple[State, dict[str, np.ndarray]]:
        """[`recombine.learning.train`][], with checkpoints, progress and a stop at divergence.

        A trial that trains more than once gives each loop a `name` of its own.
        """
        from recombine.learning import Progress, train
        from recombine.learning._loop import carried

        if name in self._loops:
            raise ValueError(f"two loops are called {name!r}: give each a name of its own")
        self._loops.add(name)
        folder = self._folder / name if self._folder else None
        resume = None
        if folder is not None:
            found = checkpoint.latest(folder, carried(state))
            resume = Progress(*found) if found else None
        written = time.monotonic()

        def check(curves: dict[str, np.ndarray]) -> None:
            loss = curves.get("loss", np.empty(0))
            finite = np.isfinite(loss.reshape(len(loss), -1)).all(axis=1)
            if not finite.all():
                step = curves["step"][finite.argmin()]
                raise Diverged(f"the loss is not finite at step {step}: {rule.remedy(curves)}")

        def on_chunk(progress: "Progress") -> None:
            nonlocal written
            check(progress.curves)
            loss = progress.curves.get("loss", np.empty(0))
            if self._listener is not None:
                last = float(np.mean(loss[-1])) if len(loss) else None
                self._listener(progress.step, steps, last)
            now = time.monotonic()
            if folder is not None and now - written >= self._checkpoint_seconds:
                checkpoint.save(folder, progress.step, progress.state, progress.curves)
                written = now

        state, curves = train(
            rule, state, steps, every=every, chunk=chunk, resume=resume, on_chunk=on_chunk
        )
        check(curves)
        self.steps += steps
        return state, curves
