"""The command line without a process of its own, which takes longer to start than most commands."""

import contextlib
import io
import os
import sys
from subprocess import CompletedProcess
from unittest import mock

from recombine.cli import main


def recombine(*words, **environment):
    """What `recombine WORDS` prints, and its exit code."""
    called = ["recombine", *map(str, words)]
    out, said = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", called),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return CompletedProcess(called, code, out.getvalue(), said.getvalue())
