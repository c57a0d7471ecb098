"""Standard output and standard error, also where they are closed, full, or of few characters."""

import errno
import os
import sys

LONGEST_NAME = 60
"""How many characters of a file's name an error says."""
HINTS = {
    errno.EMFILE: "raise the limit, as with `ulimit -n 1024`",
    errno.ENFILE: "end other programs",
    errno.ENOSPC: "make room",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def prepare_streams() -> str:
    """Make output possible, whatever the terminal can show. What is wrong, if it is not."""
    for number in (0, 1, 2):  # else the next file that is opened would be taken for one of them
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for the whole program)
    if sys.stdout is None:
        return "standard output is closed: give a file, or > /dev/null"
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return ""


def give_up_output() -> None:
    """Let nothing more be written to standard output: it would fail again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def of_system(error: OSError) -> str:
    """What the system refused, with its remedy, in a line."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else ""
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}..."
    reason = (error.strerror or str(error)).lower()
    hint = HINTS.get(error.errno or 0, "")
    return ": ".join(filter(None, (name, reason, hint)))
