"""Python files that a user names: studies, and specs."""

import importlib.util
import shutil
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from .errors import UserError

DATABASE = "store.sqlite"
"""The file by which a store is known."""

_loaded: dict[Path, tuple[str, ModuleType]] = {}
_copies: Path | None = None
_named: ContextVar[frozenset[Path] | None] = ContextVar("_named", default=None)


@contextmanager
def only(named: Iterable[str | Path]) -> Iterator[None]:
    """Within, no Python files are run but these; those that were run before stay as they are.

    For reading a store, which may name any file: it is data, and may be somebody else's.
    """
    token = _named.set(frozenset(Path(file).resolve() for file in named))
    try:
        yield
    finally:
        _named.reset(token)


def use_copies(folder: Path) -> None:
    """From now on, take the user's files from `folder`, where they lie under their full paths."""
    global _copies  # noqa: PLW0603
    _copies = folder


def located(path: Path) -> Path:
    """Where a file that the user has named is on this machine: there, or in the copies."""
    copy = _copies and _copies.joinpath(*path.absolute().parts[1:])
    return copy if copy and copy.is_file() else path


def copy_with_neighbours(path: Path, folder: Path) -> None:
    """Copy a Python file into `folder`, under its full path, with all that it can import.

    Its neighbours come along: the modules and packages in its folder.
    """
    source = path.resolve().parent
    for file in _modules(source):
        copy = folder.joinpath(*file.parts[1:])
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def _modules(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.suffix == ".py" and entry.is_file():
            yield entry
        elif (entry / "__init__.py").is_file():
            yield from _modules(entry)


def digest(path: Path) -> str:
    """A checksum of a file's content."""
    path = located(path)
    try:
        return sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})") from None


def load_module(path: Path) -> ModuleType:
    """The module in a Python file, as it is now; a file that has not changed is not run again."""
    path = located(path)
    if not path.is_file():
        raise UserError(f"no file {path}")
    absolute = path.resolve()
    for folder in absolute.parents:
        if (folder / DATABASE).exists():
            raise UserError(
                f"{path} lies in the store {folder}, whose files are data and are not run: move it"
                " elsewhere"
            )
    code = digest(absolute)
    if absolute in _loaded and _loaded[absolute][0] == code:
        return _loaded[absolute][1]
    named = _named.get()
    if named is not None and absolute not in named:
        raise UserError(f"{path} is named by the store alone, and not run: say --load {path}")
    name = f"recombine_file_{path.stem}_{sha256(str(absolute).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, absolute)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(absolute.parent) not in sys.path:  # as for a script: its neighbours can be imported
        sys.path.insert(0, str(absolute.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"{path}, line {_line(error, absolute)}: {reason}") from None
    _loaded[absolute] = code, module
    return module


def was_loaded(path: Path) -> bool:
    """Whether a file has been loaded."""
    return path.resolve() in _loaded


def _line(error: BaseException, path: Path) -> int | str:
    """The line of the file at which an error arose."""
    if isinstance(error, SyntaxError):
        return error.lineno or "?"
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno or "?" for f in reversed(frames) if f.filename == str(path)), "?")
