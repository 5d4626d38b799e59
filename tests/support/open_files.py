"""Files that this process has open, for tests that leave none behind."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_more_open_files() -> Iterator[None]:
    """Check that no more files are open after the block than before."""
    gc.collect()
    before = _count()
    yield
    assert _count() <= before


def _count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
