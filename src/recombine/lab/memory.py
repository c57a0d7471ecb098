"""The memory of a worker, in which every compiled program stays until it is made to go."""

import ctypes
import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 3 << 29
MOST_MAPS = 20_000
"""Each compiled program has a few maps of memory, and Linux lets a process have 65,530."""


def most_bytes() -> int:
    """What a worker may have when it turns to another shape: `RECOMBINE_WORKER_MEMORY` megabytes,
    or its core's share of half of the machine's memory, but no more than `MOST_BYTES`."""
    if given := os.environ.get("RECOMBINE_WORKER_MEMORY"):
        return int(float(given) * 1e6)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(MOST_BYTES, memory // (2 * (os.cpu_count() or 1)))


def is_crowded() -> bool | None:
    """Whether this process has more memory than it may; None where that cannot be told."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        maps = Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") > most_bytes() or maps > MOST_MAPS


def make_room() -> bool:
    """Let compiled programs go, unless there is room. Returns whether there is room then."""
    if is_crowded() is False:
        return True
    import jax

    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux":
        with suppress(AttributeError):  # of the GNU library, which keeps what is freed
            ctypes.CDLL(None).malloc_trim(0)
    return not is_crowded()
