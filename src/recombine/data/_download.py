"""Downloads that can be taken up again where they stopped."""

import os
import ssl
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from .. import __version__

SECONDS = 10.0
"""How long a server may be silent."""
CHUNK = 1 << 18

Tell = Callable[[str, int, int | None], None]
"""Called with progress: what is being done, the bytes received, and their total if known."""


class Unavailable(Exception):
    """A source does not give what is asked of it: one line that says why."""


class Damaged(Unavailable):
    """What a source gave is not what it should be: the download cannot continue."""


def download(address: str, file: Path, tell: Tell, most: int) -> Path:
    """Fetch `address` into `file`; one that is there is taken as it is.

    A server that sends more than `most` bytes is not listened to.

    What has come stays beside it as `.part` if the connection breaks and the server can go on from
    there; the next call then does. Its `.mark` says which version of the file it is a part of.
    """
    if file.exists():
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    part, mark = (file.with_name(file.name + suffix) for suffix in (".part", ".mark"))
    headers = {"User-Agent": f"recombine/{__version__}"}
    have = part.stat().st_size if part.exists() and mark.exists() else 0
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": mark.read_text()}
    resumable = False
    try:
        with _asked(address, headers) as answer:
            begin = _begin(answer, have)
            if version := _version(answer):
                mark.write_text(version)
                resumable = True
            length = _length(answer)
            total = None if length is None else begin + length
            _refuse_beyond(most, total or 0, file)
            with open(part, "ab" if begin else "wb") as out:
                done = begin
                tell(file.name, done, total)
                while chunk := _read(answer):
                    done += len(chunk)
                    _refuse_beyond(most, done, file)
                    out.write(chunk)
                    tell(file.name, done, total)
        if total is not None and done != total:
            again = "; the same command goes on from there" if resumable else ""
            raise Unavailable(f"{file.name} was cut short at {done} of {total} bytes{again}")
    except (Unavailable, KeyboardInterrupt) as error:
        if not resumable or isinstance(error, Damaged):
            part.unlink(missing_ok=True)
            mark.unlink(missing_ok=True)
        raise
    os.replace(part, file)
    mark.unlink(missing_ok=True)
    return file


def _refuse_beyond(most: int, size: int, file: Path) -> None:
    if size > most:
        raise Damaged(f"{file.name} is longer than {most} bytes")


def _length(answer: Any) -> int | None:
    """How many bytes the answer says that it has."""
    length = answer.headers.get("Content-Length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def _asked(address: str, headers: dict[str, str]) -> Any:
    """The answer to a request. Only what the network does wrong becomes `Unavailable`."""
    try:
        return urlopen(Request(address, headers=headers), timeout=SECONDS)
    except HTTPError as error:
        error.close()
        if error.code == 416 and "Range" in headers:  # another version of the file
            return _asked(address, {"User-Agent": headers["User-Agent"]})
        raise Unavailable(f"{address} answers {error.code} {error.reason}") from None
    except (URLError, HTTPException, OSError) as error:
        raise Unavailable(f"no connection ({_cause(error)})") from None


def _begin(answer: Any, have: int) -> int:
    """The byte at which the answer begins: after those that we have, or at the first."""
    if answer.status != 206:
        return 0
    if not str(answer.headers["Content-Range"]).startswith(f"bytes {have}-"):
        raise Unavailable("it answers with another part of the file than it was asked for")
    return have


def _version(answer: Any) -> str:
    """What to ask for to go on with this very file; empty if that cannot be done."""
    if answer.status != 206 and answer.headers["Accept-Ranges"] != "bytes":
        return ""
    tag = answer.headers["ETag"] or ""
    return tag if tag and not tag.startswith("W/") else answer.headers["Last-Modified"] or ""


def _read(answer: Any) -> bytes:
    try:
        return answer.read(CHUNK)
    except (HTTPException, OSError) as error:
        host = urlsplit(answer.url).hostname
        raise Unavailable(f"the connection to {host} broke ({_cause(error)})") from None


def _cause(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return f"no answer within {SECONDS:g} s"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {reason.verify_message}"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__
