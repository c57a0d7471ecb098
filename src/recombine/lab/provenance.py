"""Where numbers come from: versions, commit, machine."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("recombine", "jax", "jaxlib", "equinox", "optax", "diffrax", "numpy", "scipy")


@cache
def provenance() -> dict[str, Any]:
    """Everything that may change the numbers of the same trial on another machine."""
    return {
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "commit": _commit(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _commit() -> str:
    """The git commit of the source tree, with `+` where it has changes; empty outside of one."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(here), *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=10)
        return done.stdout.strip()

    try:
        if not git("ls-files", Path(__file__).name):  # installed inside somebody else's repository
            return ""
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "-s", "..") else "")
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
