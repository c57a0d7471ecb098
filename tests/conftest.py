import os
import shutil
from pathlib import Path

from recombine._folders import cache_folder
from recombine.lab.engine import WORKER_FLAGS

# Tests compile far more than they compute, and two of them run at a time: what counts is how fast
# XLA compiles, not what it makes of a program. Workers that tests start take these flags over.
os.environ["XLA_FLAGS"] = " ".join(
    (
        *WORKER_FLAGS,
        "--xla_backend_optimization_level=0",
        "--xla_cpu_use_fusion_emitters=false",  # which halves the time
        "--xla_cpu_parallel_codegen_split_count=1",
    )
)
os.environ["NPROC"] = "1"
# Threads of linear algebra would only wait for those of the other half of the tests.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
# All processes of tests share compiled programs, today's and tomorrow's.
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(cache_folder() / "tests")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

import hypothesis
import jax
import pytest
from threadpoolctl import threadpool_limits

from recombine.lab.memory import make_room

PROGRAMS = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
MOST_PROGRAM_BYTES = 1 << 30
LONGEST = (
    "studies/test_studies.py",
    "lab/test_engine.py",
    "conformance/test_models.py",
    "conformance/test_rules.py",
    "lab/test_hostile.py",
    "lab/test_spec_runs.py",
    "models/test_dnc.py",
    "studies/test_meta_models.py",
)
"""Files that take long come first, so that both halves of the tests end together."""

threadpool_limits(1)  # of libraries that were loaded before their variables were set
hypothesis.settings.register_profile("recombine", max_examples=40, deadline=None)
hypothesis.settings.load_profile("recombine")


def pytest_configure(config):
    """Begin anew with compiled programs when those that nobody needs any more fill the folder."""
    is_worker = hasattr(config, "workerinput")
    if PROGRAMS.is_dir() and not is_worker:
        size = sum(file.stat().st_size for file in PROGRAMS.iterdir())
        if size > MOST_PROGRAM_BYTES:
            shutil.rmtree(PROGRAMS, ignore_errors=True)


def pytest_collection_modifyitems(items):
    """Sort files as `LONGEST` has them; the others follow in their own order."""
    root = Path(__file__).parent
    rank = {root / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture
def x64():
    """Run a test with 64-bit numbers."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module", autouse=True)
def _forget_programs():
    """Let compiled programs go before they fill the memory.

    Each also maps memory a few times over, Linux lets a process have 65,530 maps, and XLA dies of
    it.
    """
    yield
    make_room()
