"""A connection to a cluster of Ray, whose machines get the package and the user's files."""

import logging
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .engine import Job, worker_environment
from .errors import UserError
from .files import copy_with_neighbours
from .scratch import scratch
from .specs import IN_FILE

OBJECT_BYTES = 128 << 20
"""Memory that Ray may take on this machine for what is on its way; more goes by way of the disk."""

RAY_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # as with the local engine
    # What Ray says of workers and of accelerators is of no use beside our progress.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Unless the user has set others. Ray reads them when it is imported."""


def import_ray() -> Any:
    for name, value in RAY_SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise UserError(
            "--engine ray: Ray is not installed: run pip install 'recombine[ray]'"
        ) from None
    return ray


def check_address(address: str) -> None:
    """Refuse an address at which nobody listens: Ray would try to reach it forever."""
    place = address
    if address == "auto":  # where Ray itself looks
        current = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
        with suppress(OSError):
            place = current.read_text().strip()
        place = os.environ.get("RAY_ADDRESS") or place
    host, _, port = place.rpartition(":")
    remedy = "start one with ray start --head, or leave the address out for this machine alone"
    if place == "auto":
        raise UserError(f"--address auto: this machine belongs to no Ray cluster: {remedy}")
    if not host or not port.isdecimal() or "/" in host:
        raise UserError(f"--address {address}: write HOST:PORT, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"no Ray cluster answers at {place} ({reason}): {remedy}") from None


@contextmanager
def cluster(address: str | None, cores: int, jobs: Sequence[Job]) -> Iterator[bool]:
    """A connection to the cluster, which has the package and the user's files.

    Yields whether there are such files.
    """
    ray = import_ray()
    # Its sockets lie in this folder, and their paths must be short.
    parent = Path("/tmp") if os.path.isdir("/tmp") else Path(tempfile.gettempdir())
    with scratch(parent, ".recombine-ray-") as folder:
        copies = folder / "files"
        for file in _files(jobs):
            copy_with_neighbours(file, copies)
        environment: dict[str, Any] = {
            "py_modules": [str(Path(__file__).parent.parent)],
            "excludes": ["__pycache__"],
            "env_vars": worker_environment() | _settings(os.environ),
        }
        if copies.is_dir():
            environment["working_dir"] = str(copies)
        options: dict[str, Any] = {"address": address}
        if address is None:
            options = {
                "address": "local",
                "num_cpus": cores,
                "include_dashboard": False,
                "object_store_memory": OBJECT_BYTES,
                "_temp_dir": str(folder / "ray"),
            }
        try:
            ray.init(
                log_to_driver=False,
                logging_level=logging.CRITICAL,
                runtime_env=environment,
                **options,
            )
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            what = f"--address {address}" if address else "--engine ray"
            raise UserError(f"{what}: {first_line(error)}") from None
        try:
            yield copies.is_dir()
        finally:
            ray.shutdown()


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What the user has set for workers."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("RECOMBINE_", "JAX_")) and name != "RECOMBINE_STORE"
    }


def _files(jobs: Sequence[Job]) -> set[Path]:
    """The user's files that trials load: studies, and specs in their configs."""
    found: set[str] = {job.study for job in jobs if job.study.endswith(".py")}

    def collect(values: Mapping[str, Any]) -> None:
        for value in values.values():
            if isinstance(value, Mapping):
                if named := IN_FILE.fullmatch(str(value.get("spec", ""))):
                    found.add(named["path"])
                collect(value)

    for job in jobs:
        collect(job.trial.config)
    return set(map(Path, found))


def first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
