"""The report's folder: other folders are never overwritten, and a report is never half written."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import UserError

MARKER = ".recombine-report"
"""The file that marks a folder as a report."""
ENTRIES = (MARKER, "assets", "data", "studies", "data.json", "index.html")
"""The entries of a report. Anything else in the folder (a `.git`, say) stays."""


def refuse_foreign(out: Path) -> None:
    """Raise `UserError` if a report must not be written to `out`."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: name a folder with --out")
    try:
        foreign = out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists()
    except OSError as error:
        raise _unwritable(out, error) from None
    if foreign:
        raise UserError(f"{out} is neither empty nor a report: name another folder with --out")


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A new folder beside `out`, whose entries replace those of `out` at the end."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise _unwritable(out, error) from None
    new, old = stage / "new", stage / "old"
    try:
        new.mkdir()
        old.mkdir()
        yield new
        (new / MARKER).touch()
        out.mkdir(exist_ok=True)
        for entry in ENTRIES:
            if (out / entry).exists():
                shutil.move(out / entry, old / entry)
            if (new / entry).exists():
                shutil.move(new / entry, out / entry)
    except OSError as error:
        raise _unwritable(out, error) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _unwritable(out: Path, error: OSError) -> UserError:
    return UserError(
        f"{out} cannot be written ({error.strerror}): choose another folder with --out"
    )
