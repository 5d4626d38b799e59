"""Settings of the whole test run, made before anything is imported that reads them."""

import os
import resource
import signal
import time

os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.pop("PYTHONUNBUFFERED", None)  # few users have set these two, and some faults hide behind them
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from numba.core import event

from support import served as services
from support import tiers
from support.command_line import Ended, Run
from support.served import Served, new_model, served
from thresher.cli import run

PARTS = {
    "slow": "takes longer than a test that runs after each change may take",
    "scaled": "does as much as the tier asks for",
    "quick": "runs in the quick tier, although its group does not",
    **{group: f"in {place}" for place, group in tiers.GROUPS.items()},
}

# A shell lets what it runs in the background ignore Ctrl-C, and all that this starts in turn.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example may have a kernel compiled. A blob repeats a failure on a machine that has not met it.
settings.register_profile("thresher", deadline=None, print_blob=True)
settings.load_profile("thresher")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    for name, meaning in PARTS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files of the quick tier before they are imported."""
    if tiers.FULL or collection_path.suffix != ".py":
        return None
    group = tiers.group_of(collection_path)
    return (group not in (None, *tiers.IN_QUICK) and "mark.quick" not in collection_path.read_text()) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of each group, and leave out those that are not of the quick tier."""
    for item in items:
        group = tiers.group_of(item.path)
        if group is not None:
            item.add_marker(group)
    if not tiers.FULL:
        left_out = [item for item in items if not tiers.is_quick({mark.name for mark in item.iter_markers()})]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    items.sort(key=lambda item: tiers.rank(tiers.group_of(item.path)))


class Compilations(event.Listener):  # type: ignore[misc, unused-ignore]
    """Counts the kernels that are compiled."""

    count = 0

    def on_start(self, event: Any) -> None:
        """Count one."""
        self.count += 1

    def on_end(self, event: Any) -> None:
        """Do nothing."""


COMPILATIONS = Compilations()
event.register("numba:compile", COMPILATIONS)  # type: ignore[no-untyped-call, unused-ignore]


@pytest.fixture(autouse=True)
def affordable(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test without a marker that takes much CPU time, where THRESHER_CPU_LIMIT says how much is too much.

    The first test that needs a kernel may take longer.
    """
    limit, compiled = float(os.environ.get("THRESHER_CPU_LIMIT", "inf")), COMPILATIONS.count
    before, start = cpu_seconds(), time.monotonic()
    yield
    # A process that another test began counts when it ends, so no more than the time of this test is counted.
    spent = min(cpu_seconds() - before, time.monotonic() - start)
    if (
        spent > limit
        and compiled == COMPILATIONS.count
        and not {mark.name for mark in request.node.iter_markers()} & {*PARTS}
    ):
        slowness = slowness_of_this_machine()
        if spent > limit * slowness:
            pytest.fail(f"took {spent:.1f} s of CPU time, {slowness:.1f} x slowed: make it smaller, or mark it slow")


def slowness_of_this_machine() -> float:
    """Return how much longer a loop takes now than on a quiet machine of two cores, at least 1."""
    start = time.process_time()
    sum(range(3_000_000))
    return max((time.process_time() - start) / 0.03, 1.0)


def cpu_seconds() -> float:
    """Return the CPU time that this process and its ended children have taken."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.fixture
def called(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line within this process, which spares the imports."""

    def call(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ended(code, *capfd.readouterr())

    return call


@pytest.fixture(autouse=True)
def lively() -> Iterator[None]:
    """Fail a test in which a service of `served` did not answer /healthz soon."""
    services.slow.clear()
    yield
    assert services.slow == []


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that the tests of a file share."""
    with served(new_model(tmp_path_factory.mktemp("service"))) as running:
        yield running


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A service that nobody has asked yet."""
    with served(new_model(tmp_path)) as running:
        yield running
