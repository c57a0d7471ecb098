"""Python files that a user names: studies, and specs."""

import importlib.util
import sys
import traceback
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from .errors import UserError

_loaded: dict[Path, tuple[str, ModuleType]] = {}


def digest(path: Path) -> str:
    """A checksum of a file's content."""
    try:
        return sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})") from None


def load_module(path: Path) -> ModuleType:
    """The module in a Python file, as it is now; a file that has not changed is not run again."""
    if not path.is_file():
        raise UserError(f"no file {path}")
    absolute = path.resolve()
    code = digest(absolute)
    if absolute in _loaded and _loaded[absolute][0] == code:
        return _loaded[absolute][1]
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
