"""Documents to review: kept in the journal's file, and in memory, where the queue is made of them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from thresher.errors import ThresherError
from thresher.journal import Journal
from thresher.text.analysers import Text
from thresher.web.problems import Problem

MOST_DOCUMENTS, MOST_LETTERS = 200_000, 500_000_000
STATES = ("open", "unsure", "done")


class PoolFullError(Problem, ThresherError):
    """There is no room for so many documents to review."""

    def __init__(self, detail: str) -> None:
        super().__init__(413, detail)


class Pooled(NamedTuple):
    """A document to review."""

    id: str
    text: Text
    state: str

    @property
    def plain(self) -> str:
        """The text, or its fields joined by line ends."""
        return plain(self.text)


def plain(text: Text) -> str:
    """Return a text as a person reads it: as it is, or its fields joined by line ends."""
    return text if isinstance(text, str) else "\n".join(text.values())


class Pool:
    """The documents to review of a service. Only the thread that owns the journal may change them.

    Parameters
    ----------
    journal : Journal
        Holds them.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.documents = {id: Pooled(id, text, state) for id, text, state in journal.documents()}
        self._letters = sum(len(document.plain) for document in self.documents.values())
        self.version = 0  # changes with the documents, not with their states

    def add(self, documents: Iterable[tuple[str | None, Text]]) -> tuple[int, int]:
        """Keep documents that are not known yet; returns how many were added and how many are known."""
        new: dict[str, Pooled] = {}
        count = 0
        for id, text in documents:
            count += 1
            mark = hashlib.sha256(json.dumps(text).encode()).hexdigest()
            name = id or mark[:16]
            known = self.documents.get(name) or new.get(name)
            if known is not None and known.text != text:  # another document, which was given the same name
                name = f"{name}-{mark[:6]}"
            if name not in self.documents:
                new.setdefault(name, Pooled(name, text, "open"))
        letters = sum(len(document.plain) for document in new.values())
        if len(self.documents) + len(new) > MOST_DOCUMENTS or self._letters + letters > MOST_LETTERS:
            raise PoolFullError(f"there is room for {MOST_DOCUMENTS:,} documents to review, and not for so many more")
        with self._journal.transaction() as connection:
            rows = [
                (document.id, json.dumps(document.text, ensure_ascii=False), document.state)
                for document in new.values()
            ]
            connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)
        self.documents = self.documents | new  # whoever looks at them now goes on with the former
        self._letters += letters
        self.version += bool(new)
        return len(new), count - len(new)

    def get(self, id: str) -> Pooled:
        """Return a document."""
        if id not in self.documents:
            raise Problem(404, "there is no document of this id to review")
        return self.documents[id]

    def set_state(self, id: str, state: str) -> Pooled:
        """Say what has become of a document."""
        document = self.get(id)._replace(state=state)
        with self._journal.transaction() as connection:
            connection.execute("UPDATE documents SET state = ? WHERE id = ?", (state, id))
        self.documents[id] = document
        return document

    def corrected(self, id: str) -> None:
        """Take note that a document was corrected; the journal has written it down."""
        if id in self.documents:
            self.documents[id] = self.documents[id]._replace(state="done")

    def undone(self, id: str | None) -> None:
        """Take note that a correction of a document was taken back; the journal has written down what it is now."""
        for state, *_ in self._journal.query("SELECT state FROM documents WHERE id = ?", id):
            self.documents[str(id)] = self.documents[str(id)]._replace(state=state)

    def counts(self) -> dict[str, int]:
        """Return how many there are of each state, and of all."""
        found = Counter(document.state for document in list(self.documents.values()))
        return {state: found[state] for state in STATES} | {"total": len(self.documents)}
