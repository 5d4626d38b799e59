"""What the fault tests share: a nursery, and a model to be taught."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from faults.ledger import MEMORY, begin_model
from faults.nursery import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return begin_model(tmp_path)


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A folder where syncing takes no time, for what is about order and not about the disk."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)
