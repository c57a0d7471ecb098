"""The files of a store beside its database: arrays and networks, known by their checksums."""

from collections.abc import Iterable
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .checkpoint import pack, write_atomically
from .networks import Kept, write_network


class ArrayFile(NamedTuple):
    """The file that holds a trial's arrays, or a network, as it was written."""

    file: str
    """Its path, relative to the store."""
    sha256: str
    size: int
    changed: int
    """When it was written, in nanoseconds: a file with another time is read to be verified."""
    names: tuple[str, ...]
    """Of the arrays, or of the network."""

    @classmethod
    def written(cls, folder: Path, path: Path, names: Iterable[str]) -> "ArrayFile":
        """The file at `path`, as it is now in the store `folder`."""
        found = path.stat()
        file = path.relative_to(folder).as_posix()
        return cls(file, _sha256(path), found.st_size, found.st_mtime_ns, tuple(names))

    def is_whole(self, folder: Path) -> bool:
        """Whether the file is in the store `folder` as it was written."""
        path = folder / self.file
        try:
            found = path.stat()
            if found.st_size != self.size:
                return False
            return found.st_mtime_ns == self.changed or _sha256(path) == self.sha256
        except OSError:
            return False


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def write_arrays(folder: Path, trial: str, arrays: dict[str, np.ndarray]) -> ArrayFile:
    """Write a trial's arrays under the store `folder`."""
    path = folder / f"arrays/{trial}.npz"
    write_atomically(path, pack(arrays))
    return ArrayFile.written(folder, path, arrays)


def write_networks(folder: Path, trial: str, networks: dict[str, Kept]) -> tuple[ArrayFile, ...]:
    """Write the networks that a trial keeps under the store `folder`."""
    return tuple(
        ArrayFile.written(folder, write_network(folder, trial, name, kept), [name])
        for name, kept in networks.items()
    )
