"""SCAN: commands in a small language are to be turned into the actions that they ask for."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from ._scan_language import scan_tokens
from ._scan_splits import ScanPart, ScanSplit, _lines
from ._sequences import SequenceBatch
from ._task import AbstractTask


class Scan(AbstractTask):
    """Translate commands such as `jump left twice` into actions, on one split of SCAN.

    ```python
    task = Scan(add_primitive_split("jump"))
    batch = task.sample(256, key=jax.random.key(0))
    SCAN_WORDS.decode(batch.inputs)  # commands; SCAN_ACTIONS.decode(batch.outputs): their actions
    ```

    Every part is kept as counts over all commands: splits of one shape share one compilation.
    """

    sentences: SequenceBatch
    """All commands and their actions, in the order of `scan_commands`."""
    ends: dict[ScanPart, Int[Array, " commands"]]
    """The cumulative number of lines up to each command, for every part that has lines."""

    def __init__(self, split: ScanSplit):
        self.sentences = SequenceBatch(*map(jnp.asarray, scan_tokens()))
        parts: tuple[ScanPart, ...] = ("train", "iid", "test")
        counts = {part: getattr(split, part) for part in parts if split.size(part)}
        self.ends = {part: jnp.asarray(c.cumsum(), jnp.int32) for part, c in counts.items()}

    def sample(self, size: int, part: ScanPart = "train", *, key: PRNGKeyArray) -> SequenceBatch:
        """Draw `size` lines of a part, with replacement."""
        ends = self._ends(part)
        lines = jax.random.randint(key, (size,), 0, ends[-1])
        commands = jnp.searchsorted(ends, lines, side="right")
        return jax.tree.map(lambda column: column[commands], self.sentences)

    def lines(self, part: ScanPart = "train") -> SequenceBatch:
        """All lines of a part; not to be compiled."""
        commands = _lines(np.diff(np.asarray(self._ends(part)), prepend=0))
        # On the host: every number of lines would be a program of its own.
        return jax.tree.map(
            lambda column: jnp.asarray(np.asarray(column)[commands]), self.sentences
        )

    def _ends(self, part: ScanPart) -> Int[Array, " commands"]:
        if part not in self.ends:
            raise ValueError(f"the split has no lines of {part!r}, only of {', '.join(self.ends)}")
        return self.ends[part]
