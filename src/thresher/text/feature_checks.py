"""Validation of feature names and counts; text features, journals and model files use it."""

from typing import Any

import numpy as np

# The feature that every document has, in models that want one. No text may have it otherwise.
CONSTANT = "(always)"
MAX_COUNT = 2**31 - 1  # the highest count of a feature in a text


def is_name(name: Any) -> bool:
    """Return whether this is a valid name of a text feature.

    >>> is_name("oil"), is_name(""), is_name("half \\ud800")
    (True, False, False)
    """
    if not isinstance(name, str) or not name or name == CONSTANT:
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_count(count: Any) -> bool:
    """Return whether this is a valid count of a feature: an integer from 1 to 2**31 - 1, of Python or NumPy.

    >>> is_count(3), is_count(0), is_count(3.0), is_count(True)
    (True, False, False, False)
    """
    return isinstance(count, int | np.integer) and not isinstance(count, bool) and 1 <= int(count) <= MAX_COUNT
