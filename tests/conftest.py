import os

from recombine.lab.engine import WORKER_FLAGS

# Tests compile far more than they compute, and two of them run at a time.
os.environ["XLA_FLAGS"] = " ".join(WORKER_FLAGS)
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
