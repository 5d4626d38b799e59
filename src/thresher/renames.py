"""What categories were called when a correction was made, and what they are called now; a journal knows both."""

from collections.abc import Iterable
from typing import Any, Self

from thresher.journal import Journal, Record


class Renames:
    """The changes of names that stand in a journal, in their order.

    >>> renames = Renames([(3, {"change": "rename", "names": ["taxes"], "into": "levies"})])
    >>> renames.now("taxes"), renames.now("taxes", seq=5), renames.then("levies")
    ('levies', 'taxes', ['levies', 'taxes'])
    """

    def __init__(self, changes: Iterable[tuple[int, dict[str, Any]]] = ()) -> None:
        self._changes: list[tuple[int, dict[str, str | None]]] = []
        for seq, body in changes:
            if body["change"] in ("rename", "merge", "retire"):
                into = body.get("into") if body["change"] != "retire" else None  # a journal may have one there too
                self._changes.append((seq, dict.fromkeys(body["names"], into)))

    def followed_by(self, seq: int, body: dict[str, Any]) -> "Renames":
        """Return these changes and one more, the record `seq`; who has these goes on with them."""
        longer = Renames([(seq, body)])
        longer._changes = [*self._changes, *longer._changes]
        return longer

    @classmethod
    def of(cls, journal: Journal) -> Self:
        """Read them from a journal."""
        records = journal.of_kind("categories")
        return cls((record.seq, record.body) for record in records if record.undone_by is None)

    def now(self, name: str, seq: int = 0) -> str | None:
        """Return what a category is called now that was called so at a record; None if it was retired."""
        found: str | None = name
        for changed_at, names in self._changes:
            if changed_at > seq and found in names:
                found = names[found]
        return found

    def then(self, name: str) -> list[str]:
        """Return the names that a category has now and has had."""
        found = [name]
        for _, names in reversed(self._changes):
            found += [old for old, new in names.items() if new in found and old not in found]
        return found

    def renamed(self, record: Record) -> dict[str, Any]:
        """Return the body of a correction with the names of now."""
        return {
            key: [new for name in value if (new := self.now(name, record.seq)) is not None]
            if key in ("accept", "reject", "categories") and value is not None
            else value
            for key, value in record.body.items()
        }
