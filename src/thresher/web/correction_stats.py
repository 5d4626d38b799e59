"""Statistics over the active corrections of a journal: per user, per category, and the error rate over time."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from thresher.journal.category_history import Renames
from thresher.journal.database import Record
from thresher.journal.journaled_model import JournaledModel
from thresher.web.learning_curve import LearningCurve

MAX_USERS, SHOWN_USERS = 1000, 100


class Tally:
    """Counts over the corrections that are not undone: read from the journal once, then updated with each record.

    Attributes
    ----------
    named : Counter
        The number of corrections that name a category, by its current name.
    """

    def __init__(self, desk: JournaledModel, renames: Renames) -> None:
        names = (renames.now(name, seq) for seq, body in desk.journal.bodies() for name in categories_in(body))
        self.named = Counter(name for name in names if name is not None)
        self._users = Counter(desk.journal.count_by_user(MAX_USERS))
        self.corrections, self._undone = desk.journal.count_corrections()
        self._read_curve(desk)

    def _read_curve(self, desk: JournaledModel) -> None:
        rows, pending = desk.journal.outcomes(), desk.effects
        self._curve = LearningCurve(bool(pending[seq]["mistakes"] if seq in pending else wrong) for seq, wrong in rows)

    def add(self, record: Record, wrong: bool) -> None:
        """Count one more correction, and whether the model was wrong."""
        self._curve.add(wrong)
        self.corrections += 1
        if record.user in self._users or len(self._users) < MAX_USERS:
            self._users[record.user] += 1
        self.named.update(categories_in(record.body))

    def undo(self, desk: JournaledModel, records: Iterable[Record], renames: Renames) -> None:
        """Remove undone corrections from the counts."""
        for record in records:
            self.corrections -= 1
            self._undone += 1
            if record.user in self._users:
                self._users[record.user] -= 1
            names = (renames.now(name, record.seq) for name in categories_in(record.body))
            self.named.subtract(name for name in names if name is not None)
        self._read_curve(desk)

    def rename(self, names: Iterable[str], into: str | None) -> None:
        """Move the counts of some categories to another one, or drop them if `into` is None."""
        count = sum(self.named.pop(name, 0) for name in set(names))
        if into is not None:
            self.named[into] += count

    def summary(self) -> dict[str, Any]:
        """Return the counts and the error curve."""
        users = dict((+Counter(dict(self._users))).most_common(SHOWN_USERS))  # a copy: the writing thread continues
        others = self.corrections - sum(users.values())
        counts = {"corrections": self.corrections, "undone": self._undone, "users": users, "other_users": others}
        return counts | self._curve.summary()


def categories_in(body: dict[str, Any]) -> list[str]:
    """Return the categories that a correction names.

    >>> categories_in({"accept": ["a"], "reject": ["b"]})
    ['a', 'b']
    """
    return [name for key in ("accept", "reject", "categories") for name in body.get(key) or ()]
