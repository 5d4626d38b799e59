"""A service in a process of its own that does not answer /healthz soon fails the test that it serves."""

import os
import signal
import time
from pathlib import Path

import pytest

from faults.harness import client_of, forked_service
from faults.nursery import Nursery
from support import polling

# A worker thread holds Python's lock while it sleeps: the event loop has no turn.
HOLDING = """
import ctypes
from thresher.web.queries import Queries
def summarize(self, summarize=Queries.summarize):
    ctypes.PyDLL(None).usleep({microseconds})
    return summarize(self)
Queries.summarize = summarize
"""


@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_a_stall_that_holds_the_gil_is_detected(nursery: Nursery, model: Path, seconds: float) -> None:
    patch = HOLDING.format(microseconds=int(seconds * 1e6))
    with forked_service(nursery, model, patch, polled=True) as service, client_of(service) as client:
        time.sleep(0.3)
        assert client.ask("GET", "/v1/stats").status == 200
        time.sleep(0.3)
    assert bool(polling.slow) is bool(seconds)
    assert all("test_a_stall_that_holds_the_gil" in one for one in polling.slow)
    polling.slow.clear()


def test_a_service_stopped_by_a_test_does_not_count_as_slow(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model) as service:
        time.sleep(0.3)
        os.kill(service.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(service.pid, signal.SIGCONT)
        time.sleep(0.3)
    assert polling.slow == []
