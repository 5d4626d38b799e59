"""Whether memory can be allocated."""

from mmap import mmap


def require_memory(size: int) -> None:
    """Raise a MemoryError if `size` bytes cannot be allocated. Nothing stays allocated.

    Some code crashes or blocks without memory; ask here first. This maps pages: if malloc had to free a large block,
    glibc would keep more free memory from then on.
    """
    try:
        mmap(-1, size).close()
    except OSError:
        raise MemoryError(f"{size} bytes cannot be allocated") from None
