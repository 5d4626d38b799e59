"""What may be the name of a feature, and how often a text may have it; text features, journals and model files ask."""

from typing import Any

import numpy as np

# The feature that every document has, where a model wants one; no text may have it otherwise.
CONSTANT = "(always)"
MOST_COUNTED = 2**31 - 1  # times that a text has a feature


def is_name(name: Any) -> bool:
    """Tell whether this may be the name of a feature of a text.

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
    """Tell whether a text may have a feature so often: a whole number from 1 to 2**31 - 1, of Python or NumPy.

    >>> is_count(3), is_count(0), is_count(3.0), is_count(True)
    (True, False, False, False)
    """
    return isinstance(count, int | np.integer) and not isinstance(count, bool) and 1 <= int(count) <= MOST_COUNTED
