"""A worker of the Ray engine: an actor that carries out trials on some machine of a cluster."""

import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import NamedTuple

from .._folders import cache_folder
from . import lines
from .files import use_copies
from .memory import make_room
from .scratch import scratch
from .study import Trial
from .worker import CompileClock, carry_out, end_with

NEWS_SECONDS = 0.2
"""How long news is gathered before it is sent."""
MOST_PRINTED = 1 << 20
"""How many characters of what trials print are sent at a time: the last ones."""


class File(NamedTuple):
    """A file of a store, on its way to or from a worker."""

    path: str
    """Relative to the store."""
    content: bytes
    changed: int = 0
    """When it was written, in nanoseconds."""


class Task(NamedTuple):
    """A trial to carry out."""

    trial: Trial
    study: str
    files: Sequence[File]
    """Checkpoints from which it goes on, and the networks that it looks at."""


class News(NamedTuple):
    """What has happened since the last news."""

    lines: bytes
    """Events, as a local worker sends them."""
    files: Sequence[File]
    """Arrays and networks of the trials that finished, and new checkpoints."""
    printed: str


class RayWorker:
    """Carries out trials one after another, in a folder that stands for the store.

    All that it writes there comes back as news: the machines of a cluster need no common folder.

    **Arguments:**

    - `checkpoints`: a folder that all machines have, if checkpoints go there instead.
    - `copies`: whether the working directory has copies of the user's files.
    """

    def __init__(self, checkpoints: str | None, copies: bool):
        self._printed = _Printed()
        sys.stdout = sys.stderr = self._printed
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder() / "xla"))
        if copies:
            use_copies(Path.cwd())
        self._exit = ExitStack()
        here = scratch(Path(tempfile.gettempdir()), ".recombine-ray-")
        self._folder = self._exit.enter_context(here)
        self._comes_back = checkpoints is None
        if checkpoints is not None:
            Path(checkpoints).mkdir(parents=True, exist_ok=True)
            (self._folder / "checkpoints").symlink_to(checkpoints)
        self._sent: set[Path] = set()
        self._clock = CompileClock()
        self._shape = ""
        _keep_from_forks(_sockets())

    def ready(self) -> None:
        """Returns once the worker has started."""

    def leave(self) -> None:
        """Remove what was written here."""
        self._exit.close()

    def work(self, tasks: Sequence[Task]) -> Iterator[News]:
        """Carry out trials of one shape; there is no news if the memory has no room for them."""
        shape = tasks[0].trial.shape
        if self._shape not in ("", shape) and not make_room():
            return
        self._shape = shape
        told: SimpleQueue[bytes | File | None] = SimpleQueue()
        Thread(target=self._carry_out, args=(tasks, told), daemon=True).start()
        over = False
        while not over:
            heard: list[bytes | File] = []
            until = monotonic() + NEWS_SECONDS
            while not over and (left := until - monotonic()) > 0:
                with suppress(Empty):
                    item = told.get(timeout=left)
                    over = item is None
                    heard += [item] if item is not None else []
            files = [item for item in heard if isinstance(item, File)]
            text = b"".join(item for item in heard if isinstance(item, bytes))
            news = News(text, [*files, *self._new_checkpoints()], self._printed.take())
            if any(news):
                yield news

    def _carry_out(self, tasks: Sequence[Task], told: "SimpleQueue[bytes | File | None]") -> None:
        try:
            for trial, study, files in tasks:
                given = [self._folder / file.path for file in files]
                for path, file in zip(given, files, strict=True):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(file.content)
                self._sent.update(given)
                told.put(lines.encode({"event": "started", "trial": trial.id}))
                end = carry_out(trial, study, self._folder, self._clock, told.put)
                for path in given:
                    if not path.is_relative_to(self._folder / "checkpoints"):
                        path.unlink(missing_ok=True)
                for file in self._written():
                    told.put(file)
                told.put(end)
                if self._comes_back:
                    shutil.rmtree(self._folder / "checkpoints" / trial.id, ignore_errors=True)
        finally:
            told.put(None)

    def _written(self) -> Iterator[File]:
        """What the trial that has finished leaves in the store."""
        folders = [f for f in self._folder.iterdir() if f.is_dir() and f.name != "checkpoints"]
        for path in sorted(path for folder in folders for path in folder.rglob("[!.]*")):
            if path.is_file():
                inside = str(path.relative_to(self._folder))
                yield File(inside, path.read_bytes(), path.stat().st_mtime_ns)
                path.unlink()

    def _new_checkpoints(self) -> list[File]:
        """The last checkpoint of each loop, unless it was sent before."""
        if not self._comes_back:
            return []
        last = {path.parent: path for path in sorted(self._folder.glob("checkpoints/*/*/*.ckpt"))}
        new = []
        for path in set(last.values()) - self._sent:
            with suppress(OSError):  # the trial has finished meanwhile
                new.append(File(str(path.relative_to(self._folder)), path.read_bytes()))
        self._sent = set(last.values())
        return new


def _sockets() -> list[int]:
    """The connections that this process has."""
    found = []
    for descriptor in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):  # that of the listing itself
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                found.append(descriptor)
    return found


def _keep_from_forks(descriptors: Sequence[int]) -> None:
    """Forks end with this process, and give these up: else nobody would notice its end."""
    void, worker = os.open(os.devnull, os.O_RDWR), os.getpid()

    def give_up() -> None:
        if os.getppid() == worker:
            end_with(worker)
        for descriptor in descriptors:
            os.dup2(void, descriptor, inheritable=False)

    os.register_at_fork(after_in_child=give_up)


class _Printed(io.TextIOBase):
    """Takes what is printed, to be sent to where the store is."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._pieces.append(text)
        self._size += len(text)
        if self._size > 2 * MOST_PRINTED:
            end = self.take()
            self._pieces.append(end)
            self._size = len(end)
        return len(text)

    def take(self) -> str:
        pieces, self._pieces, self._size = self._pieces, [], 0
        return "".join(pieces)[-MOST_PRINTED:]
