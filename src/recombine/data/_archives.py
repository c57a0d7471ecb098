"""Files out of archives, by name: no path of an archive decides where something is written."""

import bz2
import gzip
import lzma
import shutil
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EINVAL
from functools import partial
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol, runtime_checkable

from ._download import CHUNK, Damaged, Unavailable

DAMAGES = (
    EOFError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    # What zipfile has for encrypted files, methods that it does not know and places before the
    # beginning of a file.
    RuntimeError,
    ValueError,
    struct.error,
)

Open = Callable[[], Any]
COMPRESSED: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda content: gzip.GzipFile(fileobj=content),
    ".bz2": bz2.BZ2File,
}
"""How files are read that have one of these endings more than the one that is wanted."""


@runtime_checkable
class Wanted(Protocol):
    """Which names of files are wanted, and how many bytes each of them may have."""

    def __contains__(self, name: object, /) -> bool: ...

    def __getitem__(self, name: str, /) -> int: ...


def unpack(archive: Path, wanted: Wanted, into: Path) -> None:
    """Write the files of `archive` whose last name is `wanted` to `into`.

    They may be compressed, with `.gz` or `.bz2` after the name. `wanted` says how many bytes each
    of them may have; no more than that is written. The archive may be a tar, a zip (or wheel), a
    Debian package, a compressed file or a plain one. Of two files with one name the first is taken;
    links and the like are not. A file `test.txt` in a folder `en` has the name `en-test.txt`, too.
    """
    try:
        for path, opened in _files(archive):
            name, folder = PurePosixPath(path).name, PurePosixPath(path).parent.name
            name = f"{folder}-{name}" if f"{folder}-{name}" in wanted else name
            plain = next((name.removesuffix(e) for e in COMPRESSED if name.endswith(e)), name)
            target = into / (name if name in wanted else plain)
            if target.name not in wanted or target.exists():
                continue
            with opened() as content, open(target, "wb") as out:
                ending = name.removeprefix(plain)
                whole = content if target.name == name else COMPRESSED[ending](content)
                _copy(whole, out, wanted[target.name], target.name)
    except DAMAGES as error:
        raise Damaged(f"{archive.name} is damaged ({error})") from None
    except OSError as error:
        if error.errno != EINVAL:  # what comes of a place that no file has
            raise
        raise Damaged(f"{archive.name} is damaged ({error.strerror})") from None


def is_archive(path: Path) -> bool:
    """Whether `unpack` looks for files in it, rather than taking it as one."""
    return path.name.endswith((".deb", ".tgz", ".tar.gz", ".zip", ".whl", *COMPRESSED))


def _copy(content: BufferedIOBase, out: BufferedIOBase, most: int, name: str) -> None:
    left = most
    while chunk := content.read(min(CHUNK, left + 1)):
        left -= len(chunk)
        if left < 0:
            raise Damaged(f"{name} is longer than {most} bytes")
        out.write(chunk)


def _files(archive: Path) -> Iterator[tuple[str, Open]]:
    """Path and content of every regular file."""
    if archive.suffix == ".deb":
        with _deb(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            yield from _tar_files(tar)
    elif archive.suffix == ".tgz" or archive.name.endswith(".tar.gz"):
        with tarfile.open(archive, "r:gz") as tar:
            yield from _tar_files(tar)
    elif archive.suffix in (".zip", ".whl"):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                yield info.filename, partial(zipped.open, info)
    else:
        yield str(archive), partial(open, archive, "rb")


def _tar_files(tar: tarfile.TarFile) -> Iterator[tuple[str, Open]]:
    for member in tar:
        if member.isreg():
            yield member.name, partial(tar.extractfile, member)


@contextmanager
def _deb(archive: Path) -> Iterator[IO[bytes]]:
    """The files of a Debian package as a tar."""
    program = shutil.which("dpkg-deb")
    if program is None:
        raise Unavailable("dpkg-deb is not installed")
    with subprocess.Popen(
        [program, "--fsys-tarfile", str(archive.absolute())],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        yield process.stdout
        process.stdout.read()  # it must not end on a full pipe
        if process.wait():
            raise Damaged(f"{archive.name} is damaged (dpkg-deb does not read it)")
