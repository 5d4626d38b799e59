"""Arrays and texts that move to temporary files when they outgrow memory; `fit` uses them for large corpora.

The files have no names. They are in the folder that TMPDIR names, and disappear with the last array that maps them.
Pages that were read count as the process's memory until they are released, so readers release what they have passed.
"""

import ctypes
import json
import mmap
import os
import tempfile
from array import array as packed_array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, overload

import numpy as np
from numpy.typing import NDArray

from thresher.errors import SpillError, TextError
from thresher.kernels.csr import Rows, count_features

_TEXT, _FIELDS = b"t", b"f"
ROWS_AT_ONCE = 2**22  # entries of rows that are processed together
_AT_ONCE, _TEXTS_AT_ONCE = 2**20, 256  # bytes written together, and texts read together


def _temporary_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(buffering=2**20)
    except OSError as error:
        raise _no_room(error) from None


def _close(file: IO[bytes] | None) -> None:
    """Close a file that nobody will read.

    Errors are ignored: pending writes may not fit on the disk, which has been reported before.
    """
    if file is not None:
        with suppress(OSError):
            file.close()


def _no_room(error: OSError) -> SpillError:
    folder = tempfile.gettempdir()
    return SpillError(str(error.strerror), path=folder, hint="name another folder for temporary files with TMPDIR")


class SpillingArray:
    """A flat array made of pieces, in memory while it is small and then in a file.

    >>> numbers = SpillingArray(np.int64, limit=20)
    >>> numbers.append(np.array([1, 2]))
    >>> numbers.append(np.array([3]))
    >>> numbers.array().tolist(), is_spilled(numbers.array())
    ([1, 2, 3], True)
    """

    def __init__(self, dtype: Any, limit: int) -> None:
        self.dtype, self.limit = np.dtype(dtype), limit
        self.length = 0
        self._pieces: list[NDArray[Any]] = []
        self._lengths: list[int] = []
        self._file: IO[bytes] | None = None

    def __del__(self) -> None:
        _close(self._file)

    def append(self, piece: NDArray[Any]) -> None:
        """Append a piece."""
        self.length += len(piece)
        self._lengths.append(len(piece))
        self._pieces.append(piece)
        if self._file is not None or self.length * self.dtype.itemsize > self.limit:
            self._file = self._file or _temporary_file()
            try:
                for waiting in self._pieces:
                    self._file.write(np.ascontiguousarray(waiting, dtype=self.dtype).data)
            except OSError as error:
                raise _no_room(error) from None
            self._pieces = []

    def pieces(self) -> Iterator[NDArray[Any]]:
        """Yield the pieces in order, once; each one is dropped when it is yielded, or read from the file."""
        if self._file is None:
            while self._pieces:
                yield self._pieces.pop(0)
            return
        whole, first = self.array(), 0
        for length in self._lengths:
            piece = whole[first : first + length]
            yield piece.copy()
            release(piece)
            first += length

    @property
    def is_spilled(self) -> bool:
        """Whether the array is in a file."""
        return self._file is not None

    def array(self) -> NDArray[Any]:
        """Return the whole array, which is writable even if it is in a file."""
        if self._file is None or self.length == 0:
            return np.concatenate([np.zeros(0, dtype=self.dtype), *self._pieces])
        try:
            self._file.flush()
        except OSError as error:
            raise _no_room(error) from None
        return np.frombuffer(mmap.mmap(self._file.fileno(), 0), dtype=self.dtype)


def _map_of(array: NDArray[Any]) -> mmap.mmap | None:
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap.mmap) else None


def is_spilled(array: NDArray[Any]) -> bool:
    """Return whether an array is in a file."""
    return _map_of(array) is not None


def release(array: NDArray[Any]) -> None:
    """Release the memory of a part of a spilled array, which is read again when it is needed; leave other arrays."""
    mapped = _map_of(array)
    if mapped is None or len(array) == 0:
        return
    offset = array.ctypes.data - np.frombuffer(mapped, dtype=np.uint8).ctypes.data
    first = offset // mmap.PAGESIZE * mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, first, offset + array.nbytes - first)


def release_rows(rows: Rows, first: int, last: int) -> None:
    """Release the memory of the rows from `first` to before `last`."""
    entries = slice(rows.indptr[first], rows.indptr[last])
    release(rows.indices[entries])
    release(rows.data[entries])


def iterate_parts(rows: Rows) -> Iterator[Rows]:
    """Yield spilled rows in parts of bounded size, each released before the next; yield other rows at once."""
    if not is_spilled(rows.indices):
        yield rows
        return
    steps = np.arange(ROWS_AT_ONCE, rows.indptr[-1], ROWS_AT_ONCE)
    cuts = np.unique(np.concatenate(([0], np.searchsorted(rows.indptr, steps), [len(rows.indptr) - 1])))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        entries = slice(rows.indptr[first], rows.indptr[last])
        yield rows._replace(
            indptr=rows.indptr[first : last + 1] - rows.indptr[first],
            indices=rows.indices[entries],
            data=rows.data[entries],
        )
        release_rows(rows, first, last)


def join_rows(parts: Iterator[Rows], n_features: int, limit: int) -> Rows:
    """Return parts of rows as one, in files if they are larger than `limit` bytes."""
    indices, data = SpillingArray(np.int32, limit // 2), SpillingArray(np.float32, limit // 2)
    ends = [np.zeros(1, dtype=np.int64)]
    for part in parts:
        ends.append(part.indptr[1:] + ends[-1][-1])
        indices.append(part.indices)
        data.append(part.data)
    return Rows(np.concatenate(ends), indices.array(), data.array(), n_features)


def convert_rows(rows: Rows, convert: Callable[[Rows], Rows]) -> Rows:
    """Return what `convert` makes of rows; spilled rows are converted part by part, and the result is spilled too."""
    if not is_spilled(rows.indices):
        return convert(rows)
    return join_rows(map(convert, iterate_parts(rows)), rows.n_features, limit=0)


def count_documents_by_feature(rows: Rows) -> NDArray[np.int64]:
    """Return the number of rows that have each feature.

    >>> count_documents_by_feature(Rows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3), 3))
    array([2, 1, 0])
    """
    counts = np.zeros(rows.n_features, dtype=np.int64)
    for part in iterate_parts(rows):
        count_features(part.indices, counts)
    return counts


def return_freed_memory(entries: int) -> None:
    """Return freed memory to the system after work on many entries of rows, as large arrays would not reuse it.

    Only glibc supports this. It takes milliseconds, and more to get the memory back.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if entries >= ROWS_AT_ONCE and trim is not None:
        trim(0)


class SpillingTexts(Sequence[Any]):
    """Texts in order, in memory while they are small and then in a file.

    >>> texts = SpillingTexts(["crude oil", {"title": "wheat"}], limit=8)
    >>> len(texts), texts[1], list(texts)
    (2, {'title': 'wheat'}, ['crude oil', {'title': 'wheat'}])
    """

    def __init__(self, texts: Any = (), limit: int = 2**26) -> None:
        self.limit = limit
        self._stops = packed_array("q", [0])
        self._waiting: list[bytes] = []  # those that are not in the file yet
        self._written = 0
        self._file: IO[bytes] | None = None
        for text in texts:
            self.append(text)

    def __del__(self) -> None:
        _close(self._file)

    def append(self, text: Any) -> None:
        """Append a text."""
        if isinstance(text, str):
            encoded = _TEXT + text.encode("utf-8", "surrogatepass")
        elif isinstance(text, Mapping) and all(isinstance(part, str) for part in (*text, *text.values())):
            encoded = _FIELDS + json.dumps(dict(text)).encode()
        else:
            raise TextError(f"a text must be str or fields of str, not {type(text).__name__}")
        self._waiting.append(encoded)
        self._stops.append(self._stops[-1] + len(encoded))
        if self._stops[-1] - self._stops[self._written] > min(self.limit, _AT_ONCE if self._file else self.limit):
            self._write()

    def _write(self) -> None:
        self._file = self._file or _temporary_file()
        try:
            self._file.writelines(self._waiting)
            self._file.flush()
        except OSError as error:
            raise _no_room(error) from None
        self._waiting, self._written = [], len(self)

    def __len__(self) -> int:
        return len(self._stops) - 1

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return a text, or a list of texts."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        return next(self._read(number, number + 1))

    def __iter__(self) -> Iterator[Any]:
        """Yield the texts, reading a few hundred at a time."""
        number = 0
        while number < len(self):
            last = min(number + _TEXTS_AT_ONCE, len(self))
            yield from self._read(number, last)
            number = last

    def _read(self, first: int, last: int) -> Iterator[Any]:
        """Yield the texts from number `first` to before `last`."""
        stored = min(max(self._written, first), last)
        waiting = self._waiting[stored - self._written : last - self._written]
        if self._file is not None and first < stored:
            begin = self._stops[first]
            data = os.pread(self._file.fileno(), self._stops[stored] - begin, begin)
            for number in range(first, stored):
                yield _decode(data[self._stops[number] - begin : self._stops[number + 1] - begin])
        yield from map(_decode, waiting)


def _decode(data: bytes) -> Any:
    return data[1:].decode("utf-8", "surrogatepass") if data[:1] == _TEXT else json.loads(data[1:])
