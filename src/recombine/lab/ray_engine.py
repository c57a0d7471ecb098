"""An engine on as many machines as there are: a pool of actors of Ray."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .engine import Event, Job, available_cores
from .errors import UserError
from .ray_cluster import check_address, cluster, import_ray
from .ray_crew import Crew


class RayEngine:
    """Actors of Ray with one thread each, on one machine or on a cluster.

    Only this process writes to the store. A trial whose worker or machine dies is given to another
    one, with its last checkpoint.

    **Arguments:**

    - `workers`: how many; by default one per core of the cluster.
    - `time_limit`: seconds that a trial may take before it is ended and recorded as failed.
    - `address`: that of a cluster, `HOST:PORT`, or `auto` for the one that this machine belongs to.
      Without one, a cluster of this machine alone is started, and ended after the run.
    - `checkpoints`: a folder that all machines have, if checkpoints go there instead of to the
      store.
    """

    def __init__(
        self,
        workers: int | None = None,
        time_limit: float | None = None,
        address: str | None = None,
        checkpoints: Path | None = None,
    ):
        ray = import_ray()
        if ray.is_initialized():
            raise UserError("Ray runs in this process already: call ray.shutdown() before")
        if address is not None:
            check_address(address)
        self._most = workers
        self._time_limit = time_limit
        self._address = address
        self._checkpoints = checkpoints.absolute() if checkpoints else None

    @property
    def workers(self) -> int:
        """How many were asked for, or the cores of this machine; a cluster's are counted later."""
        return self._most or available_cores()

    def run(self, jobs: Sequence[Job]) -> Iterator[Event]:
        if not jobs:
            return
        with cluster(self._address, self.workers, jobs) as copies:
            crew = Crew(jobs, self._most, self._time_limit, self._checkpoints, copies)
            yield from crew.run()
