"""What SIGKILL costs: `recombine run` is killed at random moments and must lose nothing.

    python benchmarks/kills.py [KILLS] [STUDY...]

Every study runs once undisturbed. Then it is run in a new store and killed at a moment drawn
between 0 and the time that it took, and run again in the same store, until it gets to its end
before the next kill. The export of every store that was finished, and all files of arrays and
networks, must have the bytes of the undisturbed one. Exit code 1 if any differs. What has been
killed and compared so far is told on standard error.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

from rich.console import Console
from rich.table import Table

KILLS = 100
STUDIES = ("neural-race/zero-shot", "gradient-resistance/images", "data-router/table-lookup")


def start(study: str, store: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "recombine.cli", "run", study, "--preset", "smoke"],
        env=os.environ | {"RECOMBINE_STORE": str(store), "RECOMBINE_CHECKPOINT_SECONDS": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(study: str, store: Path) -> float:
    """Run to the end; the seconds that it took."""
    begun = time.monotonic()
    process = start(study, store)
    _, said = process.communicate()
    if process.returncode:
        raise SystemExit(f"{study} ended with exit code {process.returncode}: {said.decode()}")
    return time.monotonic() - begun


def killed(study: str, store: Path, moment: float) -> bool:
    """Run until `moment`, in seconds; whether it had to be killed."""
    process = start(study, store)
    try:
        _, said = process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    if process.returncode:
        raise SystemExit(f"{study} after a kill: exit code {process.returncode}: {said.decode()}")
    return False


def content(store: Path) -> dict[str, str]:
    """Checksums of the export and of all files of arrays and networks."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export.csv"
        subprocess.run(
            [sys.executable, "-m", "recombine.cli", "export", "--to", str(file)],
            env=os.environ | {"RECOMBINE_STORE": str(store)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        found = {"export": file.read_bytes()}
    for kind in ("arrays", "networks"):
        found |= {
            path.relative_to(store).as_posix(): path.read_bytes()
            for path in sorted((store / kind).rglob("*"))
            if path.is_file()
        }
    return {name: sha256(data).hexdigest() for name, data in found.items()}


def attack(study: str, kills: int, draw: random.Random) -> tuple[int, int, int, list[str]]:
    """Kills, of which so many left checkpoints; stores compared; and what differed in them."""
    with tempfile.TemporaryDirectory() as folder:
        straight = Path(folder) / "straight"
        seconds = finish(study, straight)
        expected = content(straight)
        done, midway, stores, different = 0, 0, 0, []
        while done < kills:
            store = Path(folder) / f"killed-{stores}"
            while done < kills and killed(study, store, draw.uniform(0, seconds)):
                done += 1
                midway += any(store.glob("checkpoints/*/*/*.ckpt"))
            if done == kills:
                finish(study, store)
            stores += 1
            found = content(store)
            names = expected.keys() | found.keys()
            different += sorted(n for n in names if expected.get(n) != found.get(n))
            told = f"{study}: {done} kills, {stores} stores, {len(different)} files differ"
            print(told, file=sys.stderr, flush=True)
    return done, midway, stores, different


def main(kills: int = KILLS, studies: tuple[str, ...] = STUDIES) -> int:
    table = Table("study", "kills", "left checkpoints", "stores", "differ")
    draw, wrong = random.Random(0), 0
    for place, study in enumerate(studies):
        share = kills // len(studies) + (place < kills % len(studies))
        done, midway, stores, different = attack(study, share, draw)
        wrong += len(different)
        named = ", ".join(sorted(set(different))) or "nothing"
        table.add_row(study, str(done), str(midway), str(stores), named)
    Console().print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    count, *names = sys.argv[1:] or [str(KILLS)]
    raise SystemExit(main(int(count), tuple(names) or STUDIES))
