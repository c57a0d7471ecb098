"""Export of results as one table in a file."""

from pathlib import Path

from .errors import UserError, nearest
from .store import Store

SUFFIXES = (".parquet", ".csv")


def export_measurements(store: Store, to: Path) -> int:
    """Write every measurement of `store` to `to` (Parquet or CSV). Returns the number of rows."""
    import polars

    if to.suffix not in SUFFIXES:
        raise UserError(
            f"--to {to}: the file must end in {' or '.join(SUFFIXES)}:"
            f" {nearest(to.suffix, SUFFIXES)}"
        )
    if not to.parent.is_dir():
        raise UserError(f"--to {to}: there is no folder {to.parent}")
    schema = {
        "study": polars.String, "preset": polars.String, "overrides": polars.String,
        "condition": polars.String, "seed": polars.Int64, "trial": polars.String,
        "kind": polars.String, "name": polars.String, "x": polars.Float64,
        "value": polars.Float64,
    }  # fmt: skip
    table = polars.DataFrame(list(store.measurements()), schema=schema)
    temporary = to.with_name(f".{to.name}.tmp")
    try:
        if to.suffix == ".parquet":
            table.write_parquet(temporary)
        else:
            table.write_csv(temporary)
        temporary.replace(to)
    except OSError as error:
        raise UserError(f"--to {to}: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return len(table)
