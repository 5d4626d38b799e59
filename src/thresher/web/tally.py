"""What the corrections of a journal that stand add up to: whose they are, of which categories, and how wrong it was."""

from collections import Counter
from typing import Any

from thresher.desk import Desk
from thresher.journal import Record
from thresher.renames import Renames
from thresher.web.learning_curve import LearningCurve


class Tally:
    """Counts over the corrections that stand; made anew from the journal, or added to one by one.

    Attributes
    ----------
    named : Counter
        How many corrections name a category, by what it is called now.
    """

    def __init__(self, desk: Desk, renames: Renames) -> None:
        rows = desk.journal.query(
            "SELECT seq, user, wrong FROM records LEFT JOIN effects USING (seq) "
            "WHERE kind = 'correction' AND undone_by IS NULL ORDER BY seq"
        )
        names = (renames.now(name, seq) for seq, body in desk.journal.bodies() for name in categories_in(body))
        self.named = Counter(name for name in names if name is not None)
        pending = desk.effects
        self._curve = LearningCurve(
            bool(pending[seq]["mistakes"]) if seq in pending else wrong for seq, _, wrong in rows
        )
        self._users = Counter(user for _, user, _ in rows)
        (self._undone,) = desk.journal.query("SELECT count(undone_by) FROM records WHERE kind = 'correction'")[0]

    def add(self, record: Record, wrong: bool) -> None:
        """Count one more correction, and whether it found the model wrong."""
        self._curve.add(wrong)
        self._users[record.user] += 1
        self.named.update(categories_in(record.body))

    @property
    def corrections(self) -> int:
        """How many stand."""
        return self._users.total()

    def summary(self) -> dict[str, Any]:
        """Return the counts, and the curve of errors."""
        counts = {"corrections": self.corrections, "undone": self._undone, "users": dict(self._users)}
        return counts | self._curve.summary()


def categories_in(body: dict[str, Any]) -> list[str]:
    """Return the categories that a correction names.

    >>> categories_in({"accept": ["a"], "reject": ["b"]})
    ['a', 'b']
    """
    return [name for key in ("accept", "reject", "categories") for name in body.get(key) or ()]
