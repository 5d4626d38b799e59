"""What the fault tests share: a nursery, and a model to be taught."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.ledger import begin_model
from faults.nursery import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return begin_model(tmp_path)
