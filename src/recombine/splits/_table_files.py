"""Files of tables: CSV, TSV, Parquet, JSON lines, JSON records, and lines of text."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import DataFrame

NO_VALUE = ("", "NA", "N/A", "NaN", "nan", "null")
"""What stands for a missing value in a CSV file."""

_IN_OUT = re.compile(r"IN: (.*) OUT: (.*)")


def read_file(path: Path, *, missing: tuple[str, ...] = ()) -> "DataFrame":
    """The table of a file, by the ending of its name.

    Everything in a CSV or TSV file is text: else 1 and "1" could be different values in two files.
    Lines of a `.txt` file are sequences of tokens, in the column `text`, or, if all lines read
    `IN: ... OUT: ...` as those of SCAN do, in the columns `IN` and `OUT`.

    **Arguments:**

    - `path`: the file.
    - `missing`: words of a CSV or TSV file that stand for a missing value.
    """
    import polars

    readers: dict[str, Callable[[], DataFrame]] = {
        ".csv": lambda: _separated(path, ",", missing),
        ".tsv": lambda: _separated(path, "\t", missing),
        ".parquet": lambda: polars.read_parquet(path),
        ".jsonl": lambda: polars.read_ndjson(path, infer_schema_length=None),
        ".ndjson": lambda: polars.read_ndjson(path, infer_schema_length=None),
        ".json": lambda: _records(path),
        ".txt": lambda: _lines(path),
    }
    if path.suffix.lower() not in readers:
        *others, last = readers
        raise ValueError(
            f"{path} is no table: its name ends in {', '.join(others)} or {last};"
            " or give a data frame, rows, dicts or columns by name"
        )
    if path.is_dir():
        raise ValueError(f"{path} is a folder, no table: give the file")
    try:
        if path.stat().st_size == 0:
            raise ValueError(f"{path} is empty: give a file with a row per item")
        if path.suffix.lower() != ".parquet":
            _refuse_bytes(path)
        return readers[path.suffix.lower()]()
    except (OSError, polars.exceptions.PolarsError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} cannot be read: {reason[:200]}") from None


def _refuse_bytes(path: Path) -> None:
    with path.open("rb") as file:
        if b"\0" in file.read(4096):
            raise ValueError(f"{path} is no table: it does not hold text")


def _separated(path: Path, separator: str, missing: tuple[str, ...]) -> "DataFrame":
    import polars

    return polars.read_csv(path, separator=separator, infer_schema=False, null_values=list(missing))


def _records(path: Path) -> "DataFrame":
    import polars

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} cannot be read: it is no JSON ({error})") from None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ValueError(f"{path} is no table: it holds no list of records; or name it .jsonl")
    return polars.DataFrame(found, infer_schema_length=None)


def _lines(path: Path) -> "DataFrame":
    import polars

    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line]
    pairs = [_IN_OUT.fullmatch(line) for line in lines]
    if lines and all(pairs):
        found = [pair.groups() for pair in pairs if pair is not None]
        return polars.DataFrame({"IN": [a for a, _ in found], "OUT": [b for _, b in found]})
    return polars.DataFrame({"text": lines})
