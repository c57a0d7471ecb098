import jax
import pytest


@pytest.fixture
def x64():
    """Run a test with 64-bit numbers."""
    with jax.enable_x64(True):
        yield
