"""Connect to a Dask cluster, by its address or on this machine, and run tasks on it."""

import importlib.metadata
import logging
import ssl
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from thresher import __version__
from thresher.cluster import tasks
from thresher.errors import MissingPackageError, ParameterError, ThresherError
from thresher.support.progress import Report, Step

try:
    import cryptography  # noqa: F401  # Security.temporary needs it
    import dask
    from distributed import Client, KilledWorker, LocalCluster, Security, as_completed
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError, get_address_host_port
except ImportError as error:
    raise MissingPackageError(f"{error.name} is missing", hint="pip install 'thresher-text[cluster]'") from None


# Workers on this machine are spawned: a fork of a process with threads may wait indefinitely for one of them.
dask.config.set({"distributed.worker.multiprocessing-method": "spawn"})


class ClusterError(ThresherError):
    """The cluster cannot do what was requested; the message says what to do."""


class Cluster:
    """A client of a scheduler.

    Every member of a cluster can run code in all of its processes and in the client. Join one only if you trust it.

    Parameters
    ----------
    address : str
        The address of a scheduler, such as tls://host:8786 or tcp://host:8786. Or "local": processes of one thread each
        on this machine, which only this process can reach.
    n_workers : int, optional
        The number of processes of a local cluster.
    memory_limit : str, optional
        The memory limit of each worker of a local cluster, such as "500MB".
    security : distributed.Security, optional
        The CA file, certificate and key for a tls:// address, as `tls_security` returns them. Default: those of Dask's
        configuration. A local cluster creates its own.
    """

    def __init__(
        self,
        address: str = "local",
        *,
        n_workers: int | None = None,
        memory_limit: str = "auto",
        security: Security | None = None,
    ) -> None:
        with ExitStack() as opened:
            scheduler: Any = address
            if address == "local":
                if security is not None:
                    raise ParameterError("a local cluster takes no security", hint="a local cluster creates its own")
                scheduler = _start_local(opened, n_workers, memory_limit)
            else:
                _check_address(address)
                if address.startswith("tls://"):
                    _check_credentials(address, security)
            try:
                self.client = Client(scheduler, security=security, timeout=5)
            except (OSError, ValueError, RuntimeError) as error:
                raise ClusterError(f"{_explain_failure(address, error)}", path=address) from None
            opened.callback(self.client.close)
            self._is_local, self._opened = address == "local", opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; a local cluster is stopped."""
        self._opened.close()

    @property
    def dashboard(self) -> str:
        """The address of the dashboard; empty for a local cluster, which does not have one."""
        return "" if self._is_local else str(self.client.dashboard_link)

    @property
    def is_encrypted(self) -> bool:
        """Whether the scheduler accepts only clients and workers with a certificate."""
        return str(self.client.scheduler.address).startswith(("tls://", "wss://"))

    @property
    def n_threads(self) -> int:
        """The number of tasks that run at the same time."""
        return max(int(sum(self.client.nthreads().values())), 1)

    def check(self, folder: Path) -> None:
        """Raise a ClusterError if there are no workers, or if one has another version or does not see the `folder`."""
        if not self.client.nthreads():
            try:
                self.client.wait_for_workers(1, timeout=30)
            except TimeoutError:
                raise ClusterError(
                    "the scheduler has no workers", hint="start some with: dask worker ADDRESS"
                ) from None
        versions = self.client.run(importlib.metadata.version, "thresher-text", on_error="return")
        for worker, version in versions.items():
            if isinstance(version, Exception):
                raise ClusterError(
                    f"worker {worker} has no thresher-text", hint=f"pip install thresher-text=={__version__} there"
                )
            if version != __version__:
                raise ClusterError(f"worker {worker} has thresher {version}, and this is {__version__}")
        self.check_sees(folder)

    def check_sees(self, path: Path) -> None:
        """Raise a ClusterError if a worker does not see the file or folder `path`."""
        blind = [worker for worker, sees in self.client.run(tasks.can_see, str(path)).items() if not sees]
        if blind:
            raise ClusterError(
                f"worker {blind[0]} does not see {path}", hint="name a folder that all see with {shared}"
            )

    def compute_parts(self, parts: Sequence[Any]) -> list[Any]:
        """Return `parts` as arguments for tasks; delayed parts are computed and stay on the workers."""
        return [self.client.compute(part) if hasattr(part, "dask") else part for part in parts]

    def scatter(self, things: list[Any]) -> list[Any]:
        """Send `things` to all workers at once."""
        return list(self.client.scatter(things, broadcast=True, hash=False))

    def gather(
        self, name: str, work: Sequence[tuple[Any, ...]], report: Callable[[int, int], None] | None
    ) -> list[Any]:
        """Run tasks and return their results in order; each item of `work` is a function and its arguments.

        The dashboard shows the tasks under this `name`. `report` is called with the numbers of
        finished and of all tasks.
        """
        run = uuid4().hex[:8]
        futures = [
            self.client.submit(function, *arguments, key=f"{name}-{run}-{i}", pure=False)
            for i, (function, *arguments) in enumerate(work)
        ]
        places = {future.key: i for i, future in enumerate(futures)}
        results: list[Any] = [None] * len(futures)
        try:
            # Fetch each result as soon as it is done, so that workers hold no results, and lose none when they die.
            for done, (future, result) in enumerate(as_completed(futures, with_results=True), 1):
                results[places[future.key]] = result
                future.release()
                if report is not None:
                    report(done, len(futures))
        except (KilledWorker, FutureCancelledError, CommClosedError) as error:
            raise ClusterError(f"the cluster gave up on {name}: {str(error).splitlines()[0][:200]}") from None
        finally:
            self.client.cancel(futures)
        return results

    def peaks(self) -> dict[str, int]:
        """Return the peak memory of each worker, in bytes."""
        return dict(self.client.run(tasks.measure_peak_memory))


def report_steps(name: str, progress: Report | None) -> Callable[[int, int], None] | None:
    """Return the function that `Cluster.gather` reports to, or None if `progress` is None."""
    return None if progress is None else lambda done, total: progress(Step(name, done, total))


def tls_security(
    ca: str | Path | None = None, cert: str | Path | None = None, key: str | Path | None = None
) -> Security:
    """Return the credentials of a client for a tls:// address.

    Parameters
    ----------
    ca : path, optional
        The certificate of the authority that signed those of the scheduler and the workers, in PEM format. Default:
        `distributed.comm.tls.ca-file` of Dask's configuration.
    cert, key : path, optional
        The client's certificate, signed by the same authority, and its key. Default: `distributed.comm.tls.client.cert`
        and `distributed.comm.tls.client.key`.
    """
    paths = {"tls_ca_file": ca, "tls_client_cert": cert, "tls_client_key": key}
    files = {name: str(path) for name, path in paths.items() if path is not None}
    return Security(require_encryption=True, **files)


def _start_local(opened: ExitStack, n_workers: int | None, memory_limit: str) -> LocalCluster:
    """Start a cluster that other users of this machine can neither join nor inspect.

    Dask runs what its peers send, so all of them need the certificate, which only this process and its children know.
    Dask unpickles what workers spill, and imports modules from its folder. It gets a private folder, because its usual
    one may belong to another user. The pages that Dask serves would show logs and task arguments to everyone, so they
    are switched off.
    """
    parent = dask.config.get("temporary-directory", default=None)
    folder = opened.enter_context(
        tempfile.TemporaryDirectory(prefix="thresher-", dir=parent, ignore_cleanup_errors=True)
    )
    opened.callback(_remove_from_path, folder)
    settings = {
        "temporary-directory": folder, "distributed.scheduler.http.routes": [], "distributed.worker.http.routes": [],
    }  # fmt: skip
    with dask.config.set(settings):
        local = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=memory_limit, host="127.0.0.1",
            security=Security.temporary(), dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )  # fmt: skip
    opened.callback(local.close)
    return local


def _remove_from_path(folder: str) -> None:
    """Stop importing from a folder that will be deleted, and that another user could create again."""
    sys.path[:] = [path for path in sys.path if not path.startswith(folder)]


def _check_address(address: str) -> None:
    try:
        get_address_host_port(address)
    except (ValueError, TypeError):
        advice = "one looks like tls://host:8786"
        raise ClusterError("not the address of a scheduler", path=address, hint=advice) from None


def _check_credentials(address: str, security: Security | None) -> None:
    """Refuse credentials that are missing, or whose files cannot be read or used."""
    if security is None and dask.config.get("distributed.client.security-loader", default=None):
        return  # Dask's configuration names a function that returns them
    security = security or Security()
    tls = security.get_tls_config_for_role("client")
    ca, cert, key = tls["ca_file"], tls["cert"], tls["key"]
    if ca is None or cert is None:
        advice = "name a CA file, a certificate and its key, or set distributed.comm.tls in Dask's configuration"
        raise ClusterError("there are no credentials for TLS", path=address, hint=advice)
    for path in (ca, cert, key):
        if path is not None and "\n" not in path:
            with open(path, "rb"):  # noqa: PTH123  # an error names the path as it was given
                pass
    try:
        if "\n" not in ca:
            ssl.create_default_context(cafile=ca)
    except ssl.SSLError:
        raise ClusterError("contains no certificate", path=ca, hint="name a CA file in PEM format") from None
    try:
        security.get_connection_args("client")
    except ssl.SSLError as error:
        advice = "name a certificate and its own key, in PEM format"
        raise ClusterError(
            f"cannot be used with the key {key or cert}: {error.reason}", path=cert, hint=advice
        ) from None


def _explain_failure(address: str, error: Exception) -> str:
    """Return why joining the scheduler failed, and what to do."""
    refused, encrypted, cause = isinstance(error, CommClosedError), address.startswith("tls://"), error.__cause__
    if isinstance(error, RuntimeError):
        return f"{error} (use a tls:// address)"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the scheduler's certificate is not valid: {cause.verify_message} (name the CA file of the cluster)"
    is_plain = isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER"
    if encrypted and (is_plain or isinstance(error, ValueError)):  # ValueError: it sent data before TLS began
        return "the scheduler does not use TLS (start it with: dask scheduler --protocol tls)"
    if encrypted and refused:
        return "the scheduler refused your certificate (name one that the cluster's CA has signed)"
    if refused:
        return "the scheduler closed the connection (if it uses TLS, the address begins with tls://)"
    return "no scheduler answers there (start one with: dask scheduler; an address looks like tls://host:8786)"
