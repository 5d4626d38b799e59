"""Settings of the whole test run, made before anything is imported that reads them."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

from pathlib import Path

import pytest
from hypothesis import settings

from cli import Ended, Run
from thresher.cli import run

# The first example may have a kernel compiled.
settings.register_profile("thresher", deadline=None)
settings.load_profile("thresher")


@pytest.fixture
def called(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line within this process, which spares the imports."""

    def call(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ended(code, *capfd.readouterr())

    return call
