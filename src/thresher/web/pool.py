"""Documents to review: kept in the journal's file, and in memory, where the queue is made of them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from itertools import chain, count
from typing import NamedTuple

from thresher.errors import ThresherError
from thresher.journal import LONGEST_ID, Journal
from thresher.text.analysers import Text
from thresher.web.problems import Problem

MAX_DOCUMENTS, MAX_BYTES = 200_000, 500_000_000  # of UTF-8, which is what they take in memory at the most
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


def _size(document: Pooled) -> int:
    return len(document.plain.encode())


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
        self._bytes = sum(map(_size, self.documents.values()))
        self.version = 0  # changes with the documents, not with their states

    def add(self, documents: Iterable[tuple[str | None, Text]]) -> tuple[int, int]:
        """Keep documents that are not known yet; returns how many were added and how many are known."""
        new: dict[str, Pooled] = {}
        listed = list(documents)
        for id, text in listed:
            mark = hashlib.sha256(json.dumps(text).encode()).hexdigest()
            name = self._free_name(id or mark[:16], mark, text, new)
            if name not in self.documents:
                new.setdefault(name, Pooled(name, text, "open"))
        size = sum(map(_size, new.values()))
        if len(self.documents) + len(new) > MAX_DOCUMENTS or self._bytes + size > MAX_BYTES:
            room = f"{MAX_DOCUMENTS:,} documents to review, and {MAX_BYTES // 10**6} MB of them"
            raise PoolFullError(f"there is room for {room} (review or delete some first)")
        with self._journal.transaction() as connection:
            rows = [
                (document.id, json.dumps(document.text, ensure_ascii=False), document.state)
                for document in new.values()
            ]
            connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)
        self.documents = self.documents | new  # whoever looks at them now goes on with the former
        self._bytes += size
        self.version += bool(new)
        return len(new), len(listed) - len(new)

    def _free_name(self, name: str, mark: str, text: Text, new: dict[str, Pooled]) -> str:
        """Return the name of a document, marked if another document has it; no longer than an id may be."""
        found, marks = name, chain((mark[:6], mark), (f"{mark[:16]}-{number}" for number in count(2)))
        while (known := self.documents.get(found) or new.get(found)) is not None and known.text != text:
            end = f"-{next(marks)}"
            found = name[: LONGEST_ID - len(end)] + end
        return found

    def remove(self, id: str) -> Pooled:
        """Delete a document; what was corrected stays corrected."""
        document = self.get(id)
        with self._journal.transaction() as connection:
            connection.execute("DELETE FROM documents WHERE id = ?", (id,))
        self.documents = {name: other for name, other in self.documents.items() if name != id}
        self._bytes -= _size(document)
        self.version += 1
        return document

    def get(self, id: str) -> Pooled:
        """Return a document."""
        document = self.documents.get(id)  # one lookup: another thread may remove it
        if document is None:
            raise Problem(404, "there is no document of this id to review")
        return document

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
        documents = list(self.documents.values())  # of one moment: another thread may add or remove some
        found = Counter(document.state for document in documents)
        return {state: found[state] for state in STATES} | {"total": len(documents)}
