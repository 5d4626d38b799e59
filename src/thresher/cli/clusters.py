"""Dask clusters, for the verbs that take --cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thresher.cli.failures import UsageError
from thresher.cli.options import ClusterOptions, Read
from thresher.cli.shell import Shell

if TYPE_CHECKING:
    from thresher.cluster.clients import Cluster
    from thresher.cluster.partitions import Partition


@contextmanager
def joined_cluster(shell: Shell, options: ClusterOptions) -> "Iterator[Cluster]":
    """Give the cluster at an address, or one on this machine, while the block runs."""
    from thresher.cluster.clients import Cluster, tls_security

    security = tls_security(*options.files) if any(options.files) else None
    with Cluster(options.address or "local", security=security) as cluster:
        if not cluster.is_encrypted:
            danger = "everyone who can reach it can run code on it and here"
            shell.remark(f"warning: {options.address} has no TLS: {danger} (use tls://; docs/cluster.md says how)")
        page = f"; the dashboard is {cluster.dashboard}" if cluster.dashboard else ""
        shell.remark(f"{cluster.n_threads} workers' threads{page}")
        yield cluster


def source_parts(read: Read, source: str, labelled: bool = False) -> "list[Partition]":
    """Return the partitions of a source, read as the options say."""
    from thresher.cluster.partitions import partitions_of

    if source == "-":
        raise UsageError("--cluster reads files and folders, not standard input")
    return partitions_of(source, format=read.format, **read.options, **({"labelled": True} if labelled else {}))
