"""What the corrections of a journal that stand add up to: whose they are, of which categories, and how wrong it was."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from thresher.desk import Desk
from thresher.journal import Record
from thresher.renames import Renames
from thresher.web.learning_curve import LearningCurve

MAX_USERS, SHOWN_USERS = 1000, 100


class Tally:
    """Counts over the corrections that stand: read from the journal once, then kept up to date record by record.

    Attributes
    ----------
    named : Counter
        How many corrections name a category, by what it is called now.
    """

    def __init__(self, desk: Desk, renames: Renames) -> None:
        names = (renames.now(name, seq) for seq, body in desk.journal.bodies() for name in categories_in(body))
        self.named = Counter(name for name in names if name is not None)
        standing = "FROM records WHERE kind = 'correction' AND undone_by IS NULL"
        query = f"SELECT user, count(*) {standing} GROUP BY user ORDER BY count(*) DESC, min(seq) LIMIT ?"
        self._users = Counter(dict(desk.journal.query(query, MAX_USERS)))
        ((self.corrections,),) = desk.journal.query(f"SELECT count(*) {standing}")
        ((self._undone,),) = desk.journal.query("SELECT count(undone_by) FROM records WHERE kind = 'correction'")
        self._read_curve(desk)

    def _read_curve(self, desk: Desk) -> None:
        rows = desk.journal.query(
            "SELECT seq, wrong FROM records LEFT JOIN effects USING (seq) "
            "WHERE kind = 'correction' AND undone_by IS NULL ORDER BY seq"
        )
        pending = desk.effects
        self._curve = LearningCurve(bool(pending[seq]["mistakes"] if seq in pending else wrong) for seq, wrong in rows)

    def add(self, record: Record, wrong: bool) -> None:
        """Count one more correction, and whether it found the model wrong."""
        self._curve.add(wrong)
        self.corrections += 1
        if record.user in self._users or len(self._users) < MAX_USERS:
            self._users[record.user] += 1
        self.named.update(categories_in(record.body))

    def undo(self, desk: Desk, records: Iterable[Record], renames: Renames) -> None:
        """Count corrections no more that were undone."""
        for record in records:
            self.corrections -= 1
            self._undone += 1
            if record.user in self._users:
                self._users[record.user] -= 1
            names = (renames.now(name, record.seq) for name in categories_in(record.body))
            self.named.subtract(name for name in names if name is not None)
        self._read_curve(desk)

    def rename(self, names: Iterable[str], into: str | None) -> None:
        """Count the corrections of some categories for another, or for none that there is."""
        count = sum(self.named.pop(name, 0) for name in set(names))
        if into is not None:
            self.named[into] += count

    def summary(self) -> dict[str, Any]:
        """Return the counts, and the curve of errors."""
        users = dict((+Counter(dict(self._users))).most_common(SHOWN_USERS))  # of a copy: the writing thread goes on
        others = self.corrections - sum(users.values())
        counts = {"corrections": self.corrections, "undone": self._undone, "users": users, "other_users": others}
        return counts | self._curve.summary()


def categories_in(body: dict[str, Any]) -> list[str]:
    """Return the categories that a correction names.

    >>> categories_in({"accept": ["a"], "reject": ["b"]})
    ['a', 'b']
    """
    return [name for key in ("accept", "reject", "categories") for name in body.get(key) or ()]
