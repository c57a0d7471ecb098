"""Random numbers on the host."""

import jax
import numpy as np
from jaxtyping import PRNGKeyArray


def host_generator(key: PRNGKeyArray) -> np.random.Generator:
    """A NumPy generator seeded by `key`, for draws whose compilation would not pay."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
