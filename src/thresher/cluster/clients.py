"""A Dask cluster, by its address or on this machine: what is sent to it, and what comes back in order."""

import importlib.metadata
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from thresher import __version__
from thresher.cluster import tasks
from thresher.errors import MissingPackageError, ThresherError

try:
    import dask
    from distributed import Client, KilledWorker, LocalCluster, as_completed
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError
except ImportError as error:
    raise MissingPackageError(f"{error.name} is missing (pip install 'thresher[cluster]')") from None


# Workers on this machine are started anew: a fork of a process that has threads may wait for ever for one of them.
dask.config.set({"distributed.worker.multiprocessing-method": "spawn"})


class ClusterError(ThresherError):
    """A cluster cannot do what it is asked for; the message says what to do."""


class Cluster:
    """A client of a scheduler.

    Parameters
    ----------
    address : str
        Of a scheduler, as tcp://host:8786; or "local" for processes of one thread each on this machine.
    n_workers : int, optional
        How many processes a local cluster has.
    memory_limit : str, optional
        What a worker of a local cluster may take, as "500MB".
    """

    def __init__(self, address: str = "local", *, n_workers: int | None = None, memory_limit: str = "auto") -> None:
        self._local = None
        if address == "local":
            self._local = LocalCluster(
                n_workers=n_workers, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            )  # fmt: skip
        try:
            self.client = Client(self._local or address, timeout=5)
        except (OSError, ValueError):
            advice = "start one with: dask scheduler; an address looks like tcp://host:8786"
            raise ClusterError(f"{address}: no scheduler answers there ({advice})") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; one on this machine ends."""
        self.client.close()
        if self._local is not None:
            self._local.close()

    @property
    def dashboard(self) -> str:
        """Where the dashboard is."""
        return str(self.client.dashboard_link)

    @property
    def n_threads(self) -> int:
        """How many tasks run at a time."""
        return max(int(sum(self.client.nthreads().values())), 1)

    def check(self, folder: Path) -> None:
        """Refuse a cluster that has no workers, or others than ours, or that do not see the `folder`."""
        if not self.client.nthreads():
            try:
                self.client.wait_for_workers(1, timeout=30)
            except TimeoutError:
                raise ClusterError("the scheduler has no workers (start some with: dask worker ADDRESS)") from None
        found = self.client.run(importlib.metadata.version, "thresher", on_error="return")
        for worker, version in found.items():
            if isinstance(version, Exception):
                raise ClusterError(f"worker {worker} has no thresher (pip install thresher=={__version__} there)")
            if version != __version__:
                raise ClusterError(f"worker {worker} has thresher {version}, and this is {__version__}")
        self.check_sees(folder)

    def check_sees(self, path: Path) -> None:
        """Refuse a cluster of which a worker does not see a file or folder, the `path`."""
        blind = [worker for worker, sees in self.client.run(tasks.sees, str(path)).items() if not sees]
        if blind:
            raise ClusterError(f"worker {blind[0]} does not see {path} (name a folder that all see with --shared)")

    def taken(self, parts: Sequence[Any]) -> list[Any]:
        """Return `parts` as tasks take them; what is delayed is computed, and stays on the workers."""
        return [self.client.compute(part) if hasattr(part, "dask") else part for part in parts]

    def scattered(self, things: list[Any]) -> list[Any]:
        """Send `things` to all workers at once."""
        return list(self.client.scatter(things, broadcast=True, hash=False))

    def gather(
        self, name: str, work: Sequence[tuple[Any, ...]], report: Callable[[int, int], None] | None
    ) -> list[Any]:
        """Have `work` done, each a function and its arguments, and return what came of it in its order.

        The dashboard shows it by its `name`; `report` is told how much is done, and of how much.
        """
        run = uuid4().hex[:8]
        futures = [
            self.client.submit(function, *arguments, key=f"{name}-{run}-{i}", pure=False)
            for i, (function, *arguments) in enumerate(work)
        ]
        places = {future.key: i for i, future in enumerate(futures)}
        found: list[Any] = [None] * len(futures)
        try:
            # Each is taken as soon as it is done, so that workers keep nothing, and lose nothing when they die.
            for done, (future, result) in enumerate(as_completed(futures, with_results=True), 1):
                found[places[future.key]] = result
                future.release()
                if report is not None:
                    report(done, len(futures))
        except (KilledWorker, FutureCancelledError, CommClosedError) as error:
            raise ClusterError(f"the cluster gave up on {name}: {str(error).splitlines()[0][:200]}") from None
        finally:
            self.client.cancel(futures)
        return found

    def peaks(self) -> dict[str, int]:
        """Return the largest memory that each worker has taken, in bytes."""
        return dict(self.client.run(tasks.peak_memory))
