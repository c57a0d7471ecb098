"""Progress of downloads, on a terminal."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)


class DataProgress:
    """Shows the source of a download; use it as a context manager, pass it as `tell`."""

    def __init__(self, name: str, console: Console):
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._name, self._what = name, ""
        self._row = self._bars.add_task(name, total=None)

    def __enter__(self) -> "DataProgress":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if what != self._what:
            self._what = what
            self._bars.reset(self._row, description=f"{self._name}: {what}", total=total)
        self._bars.update(self._row, completed=done, total=total)
