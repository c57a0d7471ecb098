"""How long runs take that are to be compared."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Seconds(NamedTuple):
    """What a run has cost."""

    processor: float
    clock: float


def fastest(runs: Sequence[Callable[[], None]], rounds: int) -> list[Seconds]:
    """The least that each run has cost, of several rounds in which they take turns.

    Each is run once before, since it compiles.
    """
    for run in runs:
        run()
    best = [Seconds(float("inf"), float("inf"))] * len(runs)
    for _ in range(rounds):
        for i, run in enumerate(runs):
            processor, clock = time.process_time(), time.perf_counter()
            run()
            processor, clock = time.process_time() - processor, time.perf_counter() - clock
            best[i] = Seconds(min(best[i].processor, processor), min(best[i].clock, clock))
    return best
