"""Arrays in the folder that the client and all workers see; files are written atomically and read by mapping."""

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Labels, Rows

ROWS = {"indptr": np.int64, "indices": np.int32, "data": np.float32}


def write(folder: Path, name: str, array: NDArray[Any]) -> None:
    """Write an array atomically; writing it twice is harmless, because both writers write the same."""
    path, temporary = folder / name, folder / f".{name}.{uuid4().hex}"
    np.ascontiguousarray(array).tofile(temporary)
    temporary.rename(path)


def read(folder: Path, name: str, kind: Any) -> NDArray[Any]:
    """Return an array of a file, memory-mapped: pages can be evicted, and changes are not written back to the file."""
    path = folder / name
    if path.stat().st_size == 0:
        return np.zeros(0, dtype=kind)
    return np.asarray(np.memmap(path, dtype=kind, mode="c"))


def remove(folder: Path, pattern: str) -> None:
    """Remove files that are not needed any more."""
    for path in folder.glob(pattern):
        path.unlink(missing_ok=True)


def write_part(folder: Path, name: str, rows: Rows) -> None:
    """Write rows to files of their own."""
    write(folder, f"{name}.indptr", rows.indptr)
    write(folder, f"{name}.indices", rows.indices)
    write(folder, f"{name}.data", rows.data)


def make_room(folder: Path, name: str, n_rows: int, n_entries: int) -> None:
    """Create the files of rows that several tasks write parts of."""
    for part, kind in ROWS.items():
        size = (n_rows + 1 if part == "indptr" else n_entries) * np.dtype(kind).itemsize
        descriptor = os.open(folder / f"{name}.{part}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)


def write_rows(folder: Path, name: str, rows: Rows, first_row: int, first_entry: int) -> None:
    """Write a part of the rows at its position."""
    places = {"indptr": (first_row + 1, rows.indptr[1:] + first_entry)}
    places |= {"indices": (first_entry, rows.indices), "data": (first_entry, rows.data)}  # type: ignore[dict-item]
    for part, (place, array) in places.items():
        kind = np.dtype(ROWS[part])
        with (folder / f"{name}.{part}").open("r+b") as file:
            file.seek(place * kind.itemsize)
            file.write(np.ascontiguousarray(array, dtype=kind).data)
            file.flush()
            os.fsync(file.fileno())


def read_rows(folder: Path, name: str, n_features: int) -> Rows:
    """Return memory-mapped rows."""
    arrays = {part: read(folder, f"{name}.{part}", kind) for part, kind in ROWS.items()}
    return Rows(arrays["indptr"], arrays["indices"], arrays["data"], n_features)


def write_labels(folder: Path, name: str, labels: Labels) -> None:
    """Write labels that list the positive categories of each row."""
    write(folder, f"{name}.ends", labels.indptr)
    write(folder, f"{name}.categories", labels.categories)


def read_labels(folder: Path, name: str) -> Labels:
    """Return labels; all categories that are not listed are negatives."""
    categories = read(folder, f"{name}.categories", np.int32)
    signs = np.ones(len(categories), dtype=np.int8)
    return Labels(read(folder, f"{name}.ends", np.int64), categories, signs, -1)
