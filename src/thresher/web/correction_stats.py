"""Statistics over the active corrections of a journal: per user, per category, and the error rate over time."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from thresher.journal.category_history import CategoryHistory
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.record import Record
from thresher.web.learning_curve import LearningCurve

MAX_USERS, MAX_SHOWN_USERS = 1000, 100


class CorrectionStats:
    """Counts over the corrections that are not undone: read from the journal once, then updated with each record.

    Attributes
    ----------
    by_category : Counter
        The number of corrections that name a category, by its current name.
    """

    def __init__(self, journaled_model: JournaledModel, history: CategoryHistory) -> None:
        active = journaled_model.journal.corrections
        given = ((seq, name) for seq, body in active.read_bodies() for name in list_categories_in(body))
        names = (history.current_name(name, seq) for seq, name in given)
        self.by_category = Counter(name for name in names if name is not None)
        self._users = Counter(active.count_by_user(MAX_USERS))
        self.corrections, self._undone = active.count(), active.count_undone()
        self._read_curve(journaled_model)

    def _read_curve(self, journaled_model: JournaledModel) -> None:
        rows, pending = journaled_model.journal.corrections.read_outcomes(), journaled_model.unwritten_effects
        self._curve = LearningCurve(bool(pending[seq]["mistakes"] if seq in pending else wrong) for seq, wrong in rows)

    def add(self, record: Record, wrong: bool) -> None:
        """Count one more correction, and whether the model was wrong."""
        self._curve.add(wrong)
        self.corrections += 1
        if record.user in self._users or len(self._users) < MAX_USERS:
            self._users[record.user] += 1
        self.by_category.update(list_categories_in(record.body))

    def undo(self, journaled_model: JournaledModel, records: Iterable[Record], history: CategoryHistory) -> None:
        """Remove undone corrections from the counts."""
        for record in records:
            self.corrections -= 1
            self._undone += 1
            if record.user in self._users:
                self._users[record.user] -= 1
            names = (history.current_name(name, record.seq) for name in list_categories_in(record.body))
            self.by_category.subtract(name for name in names if name is not None)
        self._read_curve(journaled_model)

    def rename(self, names: Iterable[str], into: str | None) -> None:
        """Move the counts of some categories to another one, or drop them if `into` is None."""
        count = sum(self.by_category.pop(name, 0) for name in set(names))
        if into is not None:
            self.by_category[into] += count

    def summary(self) -> dict[str, Any]:
        """Return the counts and the error curve."""
        users = dict((+Counter(dict(self._users))).most_common(MAX_SHOWN_USERS))  # a copy: the writing thread continues
        others = self.corrections - sum(users.values())
        counts = {"corrections": self.corrections, "undone": self._undone, "users": users, "other_users": others}
        return counts | self._curve.summary()


def list_categories_in(body: dict[str, Any]) -> list[str]:
    """Return the categories that a correction names.

    >>> list_categories_in({"accept": ["a"], "reject": ["b"]})
    ['a', 'b']
    """
    return [name for key in ("accept", "reject", "categories") for name in body.get(key) or ()]
