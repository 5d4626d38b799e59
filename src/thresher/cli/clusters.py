"""Dask clusters, for the verbs that take --cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thresher.cli.failures import UsageError
from thresher.cli.options import Read
from thresher.cli.shell import Shell

if TYPE_CHECKING:
    from thresher.cluster.clients import Cluster
    from thresher.cluster.partitions import Partition


@contextmanager
def joined_cluster(shell: Shell, address: str) -> "Iterator[Cluster]":
    """Give the cluster at an address, or one on this machine, while the block runs."""
    from thresher.cluster.clients import Cluster

    with Cluster(address) as cluster:
        shell.remark(f"{cluster.n_threads} workers' threads; the dashboard is {cluster.dashboard}")
        yield cluster


def source_parts(read: Read, source: str, labelled: bool = False) -> "list[Partition]":
    """Return the partitions of a source, read as the options say."""
    from thresher.cluster.partitions import partitions_of

    if source == "-":
        raise UsageError("--cluster reads files and folders, not standard input")
    return partitions_of(source, format=read.format, **read.options, **({"labelled": True} if labelled else {}))
