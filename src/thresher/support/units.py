"""Parse sizes such as "2MB", format counts and percentages, and measure the memory of the machine."""

import os
import re
from contextlib import suppress
from math import isnan
from numbers import Integral
from pathlib import Path

from thresher.errors import ParameterError

# Memory limit of a container, in version 2 and version 1 of Linux control groups.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_size(size: str | int, name: str = "size") -> int:
    """Return a size in bytes; `name` is the parameter that an error message names.

    >>> parse_size("2MB"), parse_size("500 kB"), parse_size(1000)
    (2000000, 500000, 1000)
    """
    text = f"{size}B" if isinstance(size, Integral) and not isinstance(size, bool) else str(size).upper()
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?B|)\s*", text)
    if not match or float(match[1]) == 0:
        raise ParameterError.of(name, size, allowed='a number of bytes, or as "2MB", "500kB"')
    return int(float(match[1]) * _UNITS[match[2]])


def pluralize(number: int, one: str, many: str) -> str:
    """Return a number with its noun, in the singular or plural.

    >>> pluralize(1, "record", "records"), pluralize(1200, "record", "records")
    ('1 record', '1,200 records')
    """
    return f"{number:,} {one if number == 1 else many}"


def format_percent(value: float | None, missing: str = "–") -> str:
    """Return a fraction as a percentage with one decimal and without the % sign, or `missing` for None and NaN.

    >>> format_percent(0.8731), format_percent(None), format_percent(float("nan"), missing="-")
    ('87.3', '–', '-')
    """
    return missing if value is None or isnan(value) else f"{100 * value:.1f}"


def measure_machine_memory() -> int:
    """Return the memory of this machine or container in bytes, 2**63 if it is unknown."""
    sizes = [2**63]
    with suppress(AttributeError, ValueError, OSError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with suppress(OSError, ValueError):  # the file does not exist, or holds "max"
            sizes.append(int(Path(path).read_text()))
    return min(size for size in sizes if size > 0)
