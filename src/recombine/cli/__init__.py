"""The command line: parses, calls the lab, prints.

A command is a function in a module of its own, and one line in `COMMANDS`.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from recombine import __version__

from ._claims import claims
from ._commands import Commands
from ._compare import compare
from ._completion import words_of_bash
from ._data import get_data, list_data
from ._diagnose import diagnose
from ._export import export
from ._report import report
from ._run import run
from ._show import show
from ._streams import give_up_output, of_system, prepare_streams
from ._studies import studies

COMMANDS: tuple[Callable[..., None], ...] = (
    studies, show, run, claims, report, export, diagnose, compare,
)  # fmt: skip
DATA_COMMANDS: dict[str, Callable[..., None]] = {"list": list_data, "get": get_data}
# The base of all usage errors; typer does not export it, and brings a click of its own.
CLICK_EXCEPTION: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="recombine",
    cls=Commands,
    help="A workbench for compositional generalization: run published studies, check their claims.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(
    name="data",
    cls=Commands,
    help="Real data sets: list and download them.",
    no_args_is_help=True,
)
for command in COMMANDS:
    app.command()(command)
for name, data_command in DATA_COMMANDS.items():
    data_app.command(name)(data_command)
app.add_typer(data_app)


def _version(asked: bool) -> None:
    if asked:
        print(f"recombine {__version__}")
        raise typer.Exit


@app.callback()
def _recombine(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The program `recombine`. A user's mistake is one line on standard error and exit code 2."""
    if wrong := prepare_streams():
        print(f"recombine: {wrong}", file=sys.stderr)
        sys.exit(2)
    try:
        code = _called()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has seen enough
        give_up_output()
        code = 0
    except OSError as error:
        give_up_output()
        print(f"recombine: {of_system(error)}", file=sys.stderr)
        code = 2
    sys.exit(code)


def _called() -> int | str | None:
    """The exit code of the command that was called."""
    import sqlite3

    from recombine.lab.errors import UserError

    try:
        with words_of_bash():
            return app(standalone_mode=False, prog_name="recombine")
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except CLICK_EXCEPTION as error:
        if message := " ".join(error.format_message().split()):  # empty after --help
            print(f"recombine: {message}", file=sys.stderr)
    except UserError as error:
        print(f"recombine: {error}", file=sys.stderr)
    except sqlite3.DatabaseError as error:
        print(f"recombine: the store cannot be used ({error})", file=sys.stderr)
    return 2
