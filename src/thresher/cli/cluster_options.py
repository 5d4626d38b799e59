"""Connect to a Dask cluster for the verbs with --cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.options import ClusterOptions, Read

if TYPE_CHECKING:
    from thresher.cluster.clients import Cluster
    from thresher.cluster.partitions import Partition


@contextmanager
def connect_cluster(shell: Shell, options: ClusterOptions) -> "Iterator[Cluster]":
    """Yield the cluster at an address, or a local one, while the block runs."""
    from thresher.cluster.clients import Cluster, tls_security

    security = tls_security(*options.files) if any(options.files) else None
    with Cluster(options.address or "local", security=security) as cluster:
        if not cluster.is_encrypted:
            danger = "everyone who can reach it can run code on it and here"
            shell.remark(f"warning: {options.address} has no TLS: {danger} (use tls://; docs/cluster.md says how)")
        page = f"; the dashboard is {cluster.dashboard}" if cluster.dashboard else ""
        shell.remark(f"{cluster.n_threads} workers' threads{page}")
        yield cluster


def partition_source(read: Read, source: str, labelled: bool = False) -> "list[Partition]":
    """Return the partitions of a source, read with these options."""
    from thresher.cluster.partitions import partitions_of

    if source == "-":
        raise UsageError("--cluster reads files and folders, not standard input")
    return partitions_of(source, format=read.format, **read.options, **({"labelled": True} if labelled else {}))
