"""Files out of archives, by name: no path of an archive decides where something is written."""

import gzip
import lzma
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from ._download import Damaged, Unavailable

DAMAGES = (
    EOFError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def unpack(archive: Path, wanted: Collection[str], into: Path) -> None:
    """Write the files of `archive` whose last name is `wanted`, or that with `.gz`, to `into`.

    It may be a tar, a zip (or wheel), a Debian package, a gzipped file or a plain one. Of two
    files with one name the first is taken; links and the like are not.
    """
    try:
        for path, content in _files(archive):
            name = PurePosixPath(path).name
            plain = name.removesuffix(".gz")
            target = into / (name if name in wanted else plain)
            if target.name not in wanted or target.exists():
                continue
            whole = content if target.name == name else gzip.GzipFile(fileobj=content)
            with open(target, "wb") as out:
                shutil.copyfileobj(whole, out)
    except DAMAGES as error:
        raise Damaged(f"{archive.name} is damaged ({error})") from None


def _files(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
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
                with zipped.open(info) as content:
                    yield info.filename, content
    else:
        with open(archive, "rb") as content:
            yield archive.name, content


def _tar_files(tar: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    for member in tar:
        content = tar.extractfile(member) if member.isreg() else None
        if content is not None:
            yield member.name, content


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
