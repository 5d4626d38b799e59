"""On-disk cache of compiled kernels that treats damaged files as missing; `compiler` uses it.

Numba trusts its cache files but writes them without syncing. After a machine crash, a half-written file would stop
every later process, or be executed. Numba also numbers its files in an index that two processes may write at the same
time, after which one's number may refer to the other's code. Here each combination of argument types has a file of its
own with a digest at its end, and a kernel whose file cannot be read is compiled again.
"""

# mypy: allow-untyped-calls

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

from thresher.kernels.cache_folder import safe_folder

_DIGEST = hashlib.sha256().digest_size


class KernelCache(FunctionCache):  # type: ignore[misc, unused-ignore]
    """The cached code of one kernel; a change to any kernel source makes it stale.

    Numba only checks the kernel's own file. Kernels are compiled into one another, so a kernel would otherwise keep an
    outdated version of its callee.
    """

    def __init__(self, function: Any, sources: str) -> None:
        super().__init__(function)
        self.sources = sources
        self._cache_path = str(safe_folder(Path(self._cache_path), Path(function.__code__.co_filename).parent))
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, sources)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code, or None if no usable code is cached."""
        with suppress(Exception):  # unpacking may raise any exception
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code if the disk has room and the folder still exists."""
        with suppress(OSError):
            super().save_overload(sig, data)


class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc, unused-ignore]
    """Cache files, one per key: argument types, processor, and whether bounds are checked."""

    def save(self, key: Any, data: Any) -> None:
        """Write a file completely or not at all."""
        written = (self._version, self._source_stamp, data)
        self._save_data(self._name(key), written)

    def load(self, key: Any) -> Any:
        """Return the saved data, or None if it is missing, damaged or stale."""
        path = Path(self._cache_path) / self._name(key)
        if not path.exists() or not _is_whole(path.read_bytes()):
            return None
        version, stamp, data = self._load_data(path.name)
        return data if (version, stamp) == (self._version, self._source_stamp) else None

    def _name(self, key: Any) -> str:
        # The check is compiled into the code, but is not part of Numba's key.
        checked = bool(getattr(config, "BOUNDSCHECK", False))
        number = int(hashlib.sha256(repr((key, checked)).encode()).hexdigest()[:15], 16)
        return str(self._data_name_pattern.format(number=number))

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = BytesIO()
            yield content
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())


def _is_whole(content: bytes) -> bool:
    """Return whether the content ends with the digest of all that precedes it.

    A reader that starts at the beginning never reaches the digest.
    """
    return hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]
