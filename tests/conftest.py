import os
from pathlib import Path

from recombine.lab.engine import WORKER_FLAGS

# Tests compile far more than they compute, and two of them run at a time. Workers that they start
# take these flags over.
os.environ["XLA_FLAGS"] = " ".join((*WORKER_FLAGS, "--xla_backend_optimization_level=0"))
os.environ["NPROC"] = "1"

import hypothesis
import jax
import pytest

hypothesis.settings.register_profile("recombine", max_examples=40, deadline=None)
hypothesis.settings.load_profile("recombine")


@pytest.fixture
def x64():
    """Run a test with 64-bit numbers."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module", autouse=True)
def _forget_programs():
    """Let compiled programs go before they are too many.

    Each maps memory a few times over, Linux lets a process have 65,530 maps, and XLA dies of it.
    """
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > 20_000:
        jax.clear_caches()
