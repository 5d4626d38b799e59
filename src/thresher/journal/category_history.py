"""Map category names between the time of a correction and now, from the changes recorded in a journal."""

from collections.abc import Iterable
from typing import Any, Self

from thresher.journal.database import Journal, Record


class Renames:
    """The renames, merges and retirements of categories in a journal that are not undone, in order.

    >>> renames = Renames([(3, {"change": "rename", "names": ["taxes"], "into": "levies"})])
    >>> renames.now("taxes"), renames.now("taxes", seq=5), renames.then("levies")
    ('levies', 'taxes', ['levies', 'taxes'])
    """

    def __init__(self, changes: Iterable[tuple[int, dict[str, Any]]] = ()) -> None:
        self._changes: list[tuple[int, dict[str, str | None]]] = []
        for seq, body in changes:
            if body["change"] in ("rename", "merge", "retire"):
                into = body.get("into") if body["change"] != "retire" else None  # a retirement may have one too
                self._changes.append((seq, dict.fromkeys(body["names"], into)))

    def followed_by(self, seq: int, body: dict[str, Any]) -> "Renames":
        """Return a copy of these changes with the record `seq` added; this object stays unchanged."""
        longer = Renames([(seq, body)])
        longer._changes = [*self._changes, *longer._changes]
        return longer

    @classmethod
    def of(cls, journal: Journal) -> Self:
        """Return the changes of a journal."""
        records = journal.of_kind("categories")
        return cls((record.seq, record.body) for record in records if record.undone_by is None)

    def now(self, name: str, seq: int = 0) -> str | None:
        """Return the current name of a category that was called `name` at the record `seq`; None if it is retired."""
        found: str | None = name
        for changed_at, names in self._changes:
            if changed_at > seq and found in names:
                found = names[found]
        return found

    def then(self, name: str) -> list[str]:
        """Return the current and all former names of a category."""
        found = [name]
        for _, names in reversed(self._changes):
            found += [old for old, new in names.items() if new in found and old not in found]
        return found

    def renamed(self, record: Record) -> dict[str, Any]:
        """Return the body of a correction with the current category names."""
        return {
            key: [new for name in value if (new := self.now(name, record.seq)) is not None]
            if key in ("accept", "reject", "categories") and value is not None
            else value
            for key, value in record.body.items()
        }
