"""Data sets in the cache: downloaded once, verified, never incomplete."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EDQUOT, EFBIG, ENOSPC
from hashlib import file_digest
from pathlib import Path
from typing import Any

from .._errors import UserError, nearest
from .._folders import data_folder
from ._download import Damaged, Tell, Unavailable
from ._sets import DATA_SETS, DataSet, File
from ._sources import AbstractSource, Given, Placed

RECORD = ".verified.json"
"""Size and time of change of the files when they were verified, so that it is done once."""


@dataclass(frozen=True)
class Got:
    """How a data set was got."""

    folder: Path
    source: str = ""
    """The source; empty if the data set was in the cache."""
    passed_over: tuple[str, ...] = ()
    """The sources that did not answer, and why."""


def data_set(name: str) -> DataSet:
    """The data set of that name."""
    if name not in DATA_SETS:
        raise UserError(f"no data set {name!r}: {nearest(name, DATA_SETS)}")
    return DATA_SETS[name]


def is_cached(name: str) -> bool:
    """Whether the files of a data set are in the cache and have the right checksums."""
    return not _faults(data_set(name), data_folder(name))


def require(name: str) -> Path:
    """The folder of a data set in the cache, or a `UserError` with the command that gets it."""
    folder = data_folder(name)
    faults = _faults(data_set(name), folder)
    if faults:
        wrong = "; ".join(filter(_is_wrong, faults))
        raise UserError(
            f"{name} is not in {folder}{f' ({wrong})' if wrong else ''}: "
            f"get it with `recombine data get {name}`"
        )
    return folder


def get(
    name: str,
    tell: Tell = lambda what, done, total: None,
    *,
    given: Path | None = None,
) -> Got:
    """Make sure that a data set is in the cache: from the first source that has it.

    Whatever goes wrong is a `UserError`, and leaves nothing in the cache but downloads that the
    same call goes on with. Several processes may ask for one data set at a time.

    **Arguments:**

    - `name`: the name of a data set.
    - `tell`: called with progress: what is being done, the bytes received, and their total.
    - `given`: a file, an archive or a folder to take it from; nothing else is tried then.
    """
    data, folder = data_set(name), data_folder(name)
    if not _faults(data, folder):
        return Got(folder)
    parts = folder.with_name(f".{name}.parts")
    try:
        with _alone(folder, name, tell), _tidied(folder, parts):
            if _faults(data, folder):
                return _fetch(data, folder, parts, tell, given)
            return Got(folder)
    except OSError as error:
        full = error.errno in (ENOSPC, EDQUOT, EFBIG)
        room = f"; it needs {data.megabytes}, and room for its packages while it is got"
        raise UserError(
            f"{name} cannot be written to {folder} ({error.strerror or error})"
            f"{room if full else ''}: RECOMBINE_DATA names another folder"
        ) from None


def _fetch(data: DataSet, folder: Path, parts: Path, tell: Tell, given: Path | None) -> Got:
    """Get the files from the first source that has them."""
    sources: list[AbstractSource] = list(data.sources)
    web = data.published
    if given is not None:
        sources = [Given(given, web)]
    elif any((folder / file).is_file() for file in web.files):
        sources.insert(0, Placed(folder, web))
    reasons: list[str] = []
    for source in sources:
        try:
            with _staging(folder) as staging:
                source.fetch({f.name: f.size for f in data.files}, staging, parts, tell)
                if faults := _faults(data, staging):
                    raise Damaged("; ".join(faults))
                folder.mkdir(exist_ok=True)
                for file in data.files:
                    os.replace(staging / file.name, folder / file.name)
        except Unavailable as reason:
            if isinstance(reason, Damaged):
                shutil.rmtree(parts, ignore_errors=True)
            reasons.append(f"{source}: {reason}")
        else:
            _remember(data, folder)
            shutil.rmtree(parts, ignore_errors=True)
            return Got(folder, str(source), tuple(reasons))
    said = "; ".join(reasons)
    said += "".join(f"; {f}" for f in _faults(data, folder) if f not in said and _is_wrong(f))
    raise UserError(
        f"{data.name} could not be downloaded: {said}. "
        f"By hand: place {', '.join(web.files)} of {web.base} in {folder}, "
        f"then `recombine data get {data.name}`"
    )


@contextmanager
def _alone(folder: Path, name: str, tell: Tell) -> Iterator[None]:
    """Wait until no other process is getting this data set, and keep others waiting."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f".{name}.lock"), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting for another process that is getting {name}", 0, None)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _tidied(folder: Path, parts: Path) -> Iterator[None]:
    """Remove empty folders, and files that could not be written completely."""
    try:
        yield
    except OSError:
        shutil.rmtree(parts, ignore_errors=True)
        raise
    finally:
        for empty in (parts, folder):
            with suppress(OSError):
                empty.rmdir()


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """An empty folder on the same disk, which is gone afterwards."""
    staging = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(staging, ignore_errors=True)  # of a process that was killed
    staging.mkdir()
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _faults(data: DataSet, folder: Path) -> list[str]:
    """What is wrong with the files in `folder`, file by file."""
    known = _record(folder)
    faults = [_fault(folder / file.name, file, known.get(file.name)) for file in data.files]
    found = [fault for fault in faults if fault]
    if not found and any(known.get(f.name) != _stamp(folder / f.name) for f in data.files):
        _remember(data, folder)
    return found


def _is_wrong(fault: str) -> bool:
    """Whether a fault is more than a file's absence."""
    return not fault.endswith("is missing")


def _fault(path: Path, file: File, known: Any) -> str:
    if not path.is_file():
        return f"{file.name} is missing"
    if not file.sha256:
        size = path.stat().st_size
        return "" if 0 < size <= file.size else f"{file.name} has {size} bytes"
    if path.stat().st_size != file.size:
        return f"{file.name} has {path.stat().st_size} bytes instead of {file.size}"
    if known == _stamp(path):
        return ""
    with open(path, "rb") as content:
        right = file_digest(content, "sha256").hexdigest() == file.sha256
    return "" if right else f"{file.name} has a wrong checksum"


def _stamp(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _record(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(data: DataSet, folder: Path) -> None:
    """Note that the files are right. A folder that cannot be written is verified every time."""
    new = folder / f"{RECORD}.{os.getpid()}"
    with suppress(OSError):
        try:
            new.write_text(json.dumps({f.name: _stamp(folder / f.name) for f in data.files}))
            os.replace(new, folder / RECORD)
        finally:
            new.unlink(missing_ok=True)
