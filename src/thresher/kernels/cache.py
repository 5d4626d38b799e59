"""Compiled kernels on the disk, where a file that is torn or changed counts as none; `compiler.py` gives kernels one.

Numba takes whatever it finds in its files, which are written without being synced: after a crash of the machine, half
a file would end every later process, or be run. It also numbers them in an index that two processes may write at once,
and one's number then means the other's code. Here what was compiled for the same types has a file of its own, with a
digest at its end, and what cannot be read is compiled anew.
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
    """What was compiled of one kernel; a change of any of the sources makes it stale.

    Numba itself looks at the kernel's own file alone. Kernels are compiled into one another, so a kernel would
    otherwise go on with what its callee was before.
    """

    def __init__(self, function: Any, sources: str) -> None:
        super().__init__(function)
        self._cache_path = str(safe_folder(Path(self._cache_path), Path(function.__code__.co_filename).parent))
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, sources)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code; None if there is none that can be used."""
        with suppress(Exception):  # whatever unpacking raises
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if the disk has room and the folder is still there."""
        with suppress(OSError):
            super().save_overload(sig, data)


class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc, unused-ignore]
    """A file for each key, that is for the types of the arguments and the kind of processor, with or without bounds."""

    def save(self, key: Any, data: Any) -> None:
        """Write a file, whole or not at all."""
        written = (self._version, self._source_stamp, data)
        self._save_data(self._name(key), written)

    def load(self, key: Any) -> Any:
        """Return what was written; None if it is not there, not whole, or stale."""
        path = Path(self._cache_path) / self._name(key)
        if not path.exists() or not _is_whole(path.read_bytes()):
            return None
        version, stamp, data = self._load_data(path.name)
        return data if (version, stamp) == (self._version, self._source_stamp) else None

    def _name(self, key: Any) -> str:
        checked = bool(getattr(config, "BOUNDSCHECK", False))  # it is compiled in, and no key of Numba's tells it
        number = int(hashlib.sha256(repr((key, checked)).encode()).hexdigest()[:15], 16)
        return str(self._data_name_pattern.format(number=number))

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = BytesIO()
            yield content
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())


def _is_whole(content: bytes) -> bool:
    """Tell whether bytes end with the digest of the rest, which whoever reads them from the start never reaches."""
    return hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]
