"""Settings of the whole test run, made before anything is imported that reads them."""

import os
import signal

os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.pop("PYTHONUNBUFFERED", None)  # few users have set these two, and some faults hide behind them
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from support import served as services
from support.command_line import Ended, Run
from support.served import Served, new_model, served
from thresher.cli import run

# A shell lets what it runs in the background ignore Ctrl-C, and all that this starts in turn.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example may have a kernel compiled. A blob repeats a failure on a machine that has not met it.
settings.register_profile("thresher", deadline=None, print_blob=True)
settings.load_profile("thresher")


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
