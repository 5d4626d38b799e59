"""The policies by name: which categories of a document are accepted."""

import re
from collections.abc import Iterable

from thresher.errors import ParameterError

POLICIES = ("above", "at-least-one", "exactly-one", "at-most-K")


def check_policy(policy: str) -> None:
    """Raise a ParameterError if `policy` is not the name of a policy.

    >>> check_policy("at-most-0")
    Traceback (most recent call last):
        ...
    thresher.errors.ParameterError: invalid policy: 'at-most-0' (allowed: above, at-least-one, exactly-one, at-most-K)
    """
    if not is_policy(policy):
        raise ParameterError.of("policy", policy, allowed=", ".join(POLICIES))


def is_policy(policy: object) -> bool:
    """Return whether this is the name of a policy."""
    return isinstance(policy, str) and (policy in POLICIES[:3] or max_categories(policy) is not None)


def max_categories(policy: str) -> int | None:
    """Return the K of "at-most-K", or None for another policy."""
    match = re.fullmatch("at-most-([1-9][0-9]{0,8})", policy)
    return int(match[1]) if match else None


def choose_policy(labels_per_document: Iterable[int]) -> str:
    """Return the policy that fits the training documents, from the number of categories of each.

    >>> choose_policy([1, 1, 1]), choose_policy([1, 2, 1]), choose_policy([1, 0, 2])
    ('exactly-one', 'at-least-one', 'above')
    """
    counts = set(labels_per_document)
    if not counts or min(counts) < 1:
        return "above"
    return "exactly-one" if max(counts) == 1 else "at-least-one"
