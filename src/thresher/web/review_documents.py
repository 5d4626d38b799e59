"""The documents to review: stored in the journal's file, and held in memory for the queue."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from itertools import chain, count
from typing import NamedTuple

from thresher.errors import ThresherError
from thresher.journal.event_log import MAX_ID_LENGTH
from thresher.journal.review_queue import ReviewQueue
from thresher.text.analysers import Text
from thresher.web.errors import Problem

MAX_DOCUMENTS, MAX_BYTES = 200_000, 500_000_000  # bytes of UTF-8, the most that they take in memory
STATES = ("open", "unsure", "done")


class TooManyDocumentsError(Problem, ThresherError):
    """The documents to review would exceed the limit on their number or size."""

    def __init__(self, detail: str) -> None:
        super().__init__(413, detail)


class ReviewDocument(NamedTuple):
    """A document to review."""

    id: str
    text: Text
    state: str

    @property
    def display_text(self) -> str:
        """The text, or its fields joined by line breaks."""
        return display_text(self.text)


def display_text(text: Text) -> str:
    """Return a text for display: as it is, or its fields joined by line breaks."""
    return text if isinstance(text, str) else "\n".join(text.values())


def _size(document: ReviewDocument) -> int:
    return len(document.display_text.encode())


class ReviewDocuments:
    """The documents to review of a service. Only the thread that owns the journal may change them.

    Parameters
    ----------
    queue : ReviewQueue
        Stores them.
    """

    def __init__(self, queue: ReviewQueue) -> None:
        self._queue = queue
        self.by_id = {id: ReviewDocument(id, text, state) for id, text, state in self._queue.read()}
        self._bytes = sum(map(_size, self.by_id.values()))
        self.version = 0  # changes with the documents, not with their states

    def add(self, documents: Iterable[tuple[str | None, Text]]) -> tuple[int, int]:
        """Add documents that are not known yet; return how many were added and how many are known."""
        new: dict[str, ReviewDocument] = {}
        listed = list(documents)
        for id, text in listed:
            mark = hashlib.sha256(json.dumps(text).encode()).hexdigest()
            name = self._free_name(id or mark[:16], mark, text, new)
            if name not in self.by_id:
                new.setdefault(name, ReviewDocument(name, text, "open"))
        size = sum(map(_size, new.values()))
        if len(self.by_id) + len(new) > MAX_DOCUMENTS or self._bytes + size > MAX_BYTES:
            room = f"{MAX_DOCUMENTS:,} documents to review, and {MAX_BYTES // 10**6} MB of them"
            raise TooManyDocumentsError(f"there is room for {room} (review or delete some first)")
        self._queue.add(new.values())
        self.by_id = self.by_id | new  # concurrent readers continue with the old dict
        self._bytes += size
        self.version += bool(new)
        return len(new), len(listed) - len(new)

    def _free_name(self, name: str, mark: str, text: Text, new: dict[str, ReviewDocument]) -> str:
        """Return a document's name, with a suffix if another document has it; no longer than an id may be."""
        free, marks = name, chain((mark[:6], mark), (f"{mark[:16]}-{number}" for number in count(2)))
        while (known := self.by_id.get(free) or new.get(free)) is not None and known.text != text:
            end = f"-{next(marks)}"
            free = name[: MAX_ID_LENGTH - len(end)] + end
        return free

    def remove(self, id: str) -> ReviewDocument:
        """Delete a document; its corrections remain."""
        document = self.get(id)
        self._queue.remove(id)
        self.by_id = {name: other for name, other in self.by_id.items() if name != id}
        self._bytes -= _size(document)
        self.version += 1
        return document

    def get(self, id: str) -> ReviewDocument:
        """Return a document."""
        document = self.by_id.get(id)  # one lookup: another thread may remove it
        if document is None:
            raise Problem(404, "there is no document of this id to review")
        return document

    def set_state(self, id: str, state: str) -> ReviewDocument:
        """Set the state of a document."""
        document = self.get(id)._replace(state=state)
        self._queue.set_state(id, state)
        self.by_id[id] = document
        return document

    def mark_done(self, id: str) -> None:
        """Mark a document as done after a correction; the journal has already stored it."""
        if id in self.by_id:
            self.by_id[id] = self.by_id[id]._replace(state="done")

    def refresh_state(self, id: str | None) -> None:
        """Restore the state of a document after its correction was undone; the journal has already stored it."""
        state = self._queue.state_of(id)
        if state is not None:
            self.by_id[str(id)] = self.by_id[str(id)]._replace(state=state)

    def count_states(self) -> dict[str, int]:
        """Return the number of documents in each state, and in total."""
        documents = list(self.by_id.values())  # a snapshot: another thread may add or remove some
        counts = Counter(document.state for document in documents)
        return {state: counts[state] for state in STATES} | {"total": len(documents)}
