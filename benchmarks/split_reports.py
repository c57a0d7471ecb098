"""Reports of splits: how the time of `describe` grows with the size of a mask or table.

    make bench

Every report is made and described once, since nothing is compiled. Masks of routes are a ring with
two routes per domain, one with three random routes per domain, and blocks of ten domains that no
route connects; all need many routes to mix. Tables of two and of four factors hold a random half
or quarter of all combinations of their values. The last figures are those of a whole diagnosis,
read from CSV files: eight factors with ten or thirty values, drawn at random.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from recombine import splits

DOMAINS = (50, 100, 200, 500)
COMBINATIONS = (1_000, 10_000, 100_000, 1_000_000)


def masks(M: int) -> Iterator[tuple[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    yield "ring", np.asarray(splits.ring_mask(M, 2))
    yield "random", rng.random((M, M)) < 3 / M
    yield "blocks", np.kron(np.eye(M // 10), np.ones((10, 10))).astype(bool)


def table(size: int, factors: int) -> np.ndarray:
    """One part in `factors` of all combinations of equally many values per factor."""
    values = int(np.ceil((factors * size) ** (1 / factors)))
    chosen = np.random.default_rng(0).permutation(values**factors)[:size]
    return np.stack(np.unravel_index(chosen, (values,) * factors), axis=1)


def seconds(report: Callable, data: np.ndarray) -> float:
    start = time.perf_counter()
    report(data).describe()
    return time.perf_counter() - start


def diagnosis(rows: int, values: int, folder: Path) -> float:
    """Seconds for a whole report on so many rows with eight factors, and a tenth as test."""
    import polars

    rng = np.random.default_rng(0)
    paths = []
    for size in (rows, rows // 10):
        columns = {f"factor {f}": rng.integers(values, size=size).astype(str) for f in range(8)}
        paths.append(folder / f"{len(paths)}.csv")
        polars.DataFrame(columns).write_csv(paths[-1])
    start = time.perf_counter()
    str(splits.diagnose(*paths))
    return time.perf_counter() - start


def main() -> None:
    splits.routing_report(np.eye(2, dtype=bool)).describe()  # imports
    print("routing_report(mask).describe(), seconds")
    print("domains" + "".join(f"{name:>10s}" for name, _ in masks(10)))
    for M in DOMAINS:
        spent = [seconds(splits.routing_report, mask) for _, mask in masks(M)]
        print(f"{M:7d}" + "".join(f"{s:10.2f}" for s in spent), flush=True)
    print("support_report(table).describe(), seconds")
    print("combinations  2 factors  4 factors")
    for size in COMBINATIONS:
        tables = [table(size, factors) for factors in (2, 4)]
        spent = [seconds(splits.support_report, t) for t in tables]
        print(f"{size:12d}" + "".join(f"{s:11.2f}" for s in spent), flush=True)
    print("diagnose(train.csv, test.csv), 8 factors, seconds")
    print("        rows  10 values  30 values")
    with tempfile.TemporaryDirectory() as folder:
        for size in COMBINATIONS:
            spent = [diagnosis(size, values, Path(folder)) for values in (10, 30)]
            print(f"{size:12d}" + "".join(f"{s:11.2f}" for s in spent), flush=True)


if __name__ == "__main__":
    main()
