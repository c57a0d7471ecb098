"""The folder that a report goes to: never somebody else's, and mended by the next report."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import UserError
from ..scratch import scratch

MARKER = ".recombine-report"
"""Its presence says that a folder is a report of ours. It comes first and never goes."""
ENTRIES = ("assets", "data", "studies", "data.json", "index.html")
"""All that a report consists of. Whatever else lies in the folder (a `.git`, say) stays."""


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
        with scratch(out.parent, f".{out.name}-") as stage:
            new, old = stage / "new", stage / "old"
            new.mkdir()
            old.mkdir()
            yield new
            out.mkdir(exist_ok=True)
            (out / MARKER).touch()
            for entry in ENTRIES:
                if (out / entry).exists():
                    shutil.move(out / entry, old / entry)
                if (new / entry).exists():
                    shutil.move(new / entry, out / entry)
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: Path, error: OSError) -> UserError:
    return UserError(
        f"{out} cannot be written ({error.strerror}): choose another folder with --out"
    )
