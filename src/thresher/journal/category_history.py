"""Map category names between the time of a correction and now, from the changes recorded in a journal."""

from collections.abc import Iterable
from typing import Any, Self

from thresher.journal.journal import Journal
from thresher.journal.record import Record


class CategoryHistory:
    """The renames, merges and retirements of categories in a journal that are not undone, in order.

    >>> history = CategoryHistory([(3, {"change": "rename", "names": ["taxes"], "into": "levies"})])
    >>> history.current_name("taxes"), history.current_name("taxes", seq=5), history.all_names("levies")
    ('levies', 'taxes', ['levies', 'taxes'])
    """

    def __init__(self, changes: Iterable[tuple[int, dict[str, Any]]] = ()) -> None:
        self._changes: list[tuple[int, dict[str, str | None]]] = []
        for seq, body in changes:
            if body["change"] in ("rename", "merge", "retire"):
                into = body.get("into") if body["change"] != "retire" else None  # a retirement may have one too
                self._changes.append((seq, dict.fromkeys(body["names"], into)))

    def with_change(self, seq: int, body: dict[str, Any]) -> "CategoryHistory":
        """Return a copy of these changes with the record `seq` added; this object stays unchanged."""
        longer = CategoryHistory([(seq, body)])
        longer._changes = [*self._changes, *longer._changes]
        return longer

    @classmethod
    def read(cls, journal: Journal) -> Self:
        """Return the changes of a journal."""
        records = journal.log.read_kind("categories")
        return cls((record.seq, record.body) for record in records if record.undone_by is None)

    def current_name(self, name: str, seq: int = 0) -> str | None:
        """Return the current name of a category that was called `name` at the record `seq`; None if it is retired."""
        current: str | None = name
        for changed_at, names in self._changes:
            if changed_at > seq and current in names:
                current = names[current]
        return current

    def all_names(self, name: str) -> list[str]:
        """Return the current and all former names of a category."""
        known = [name]
        for _, names in reversed(self._changes):
            known += [old for old, new in names.items() if new in known and old not in known]
        return known

    def translate_body(self, record: Record) -> dict[str, Any]:
        """Return the body of a correction with the current category names."""
        return {
            key: [new for name in value if (new := self.current_name(name, record.seq)) is not None]
            if key in ("accept", "reject", "categories") and value is not None
            else value
            for key, value in record.body.items()
        }
