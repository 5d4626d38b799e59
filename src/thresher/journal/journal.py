"""The journal in a folder: it stores each correction before `JournaledModel` applies it.

It opens the database and holds its parts. What concerns several parts is done here, in one transaction.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

from thresher.journal.active_corrections import ActiveCorrections
from thresher.journal.database import Database
from thresher.journal.effects import Effects
from thresher.journal.event_log import EventLog
from thresher.journal.facts import Facts
from thresher.journal.record import Entry, Record
from thresher.journal.review_queue import ReviewQueue


class Journal:
    """The journal in a folder, locked by this process until it is closed.

    Parameters
    ----------
    folder : path
        The folder of the database and its lock file.
    create : bool
        Whether to create a journal if there is none.
    anyway : bool
        Whether to accept a folder on a network file system, or one that other users could have put files into.

    Attributes
    ----------
    database : Database
        The database that the parts share.
    log : EventLog
        All records.
    corrections : ActiveCorrections
        The corrections that are not undone.
    effects : Effects
        The effects of the corrections.
    queue : ReviewQueue
        The documents to review.
    facts : Facts
        Values about the journal as a whole.
    folder, path : Path
        The folder, and the path of the database in it.
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = False, anyway: bool = False) -> None:
        self.database = Database(folder, create=create, anyway=anyway)
        self.folder, self.path = self.database.folder, self.database.path
        self.log, self.corrections = EventLog(self.database), ActiveCorrections(self.database)
        self.effects, self.queue = Effects(self.database), ReviewQueue(self.database)
        self.facts = Facts(self.database)

    is_in = staticmethod(Database.is_in)

    def close(self) -> None:
        """Close the journal and release its lock."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(
        self, entry: Entry, *, undoes: Sequence[int] = (), effects: Mapping[int, dict[str, Any]] | None = None
    ) -> Record:
        """Write an `entry`, whose id must be new, and return its record once it is on the disk.

        The same transaction marks the records that it `undoes`, and writes the `effects` of earlier records. It marks
        the document to review that the entry names as done. It reopens a document if its last correction is undone.
        """
        with self.database.transaction():
            record = self.log.append(entry)
            if undoes:
                self.log.mark_undone(undoes, record.seq)
                self.queue.reopen(undoes)
            if "document" in entry.body:
                self.queue.set_state(entry.body["document"], "done")
            if effects:
                self.effects.write(effects)
        return record

    def forget_text(self, seq: int, features: list[tuple[str, int]] | None = None) -> None:
        """Delete the text of the record `seq`, and the documents to review with the same text.

        `features` replace those of the record, in the order of the replay. If None, the features stay.
        """
        with self.database.transaction():
            self.queue.forget(seq)
            self.log.forget_text(seq, features)
        self.database.rewrite()

    def forget_correction(self, seq: int) -> None:
        """Delete all data about the text from the undone record `seq`; its number and id stay."""
        with self.database.transaction():
            self.queue.forget(seq)
            self.effects.remove(seq)
            self.log.forget_correction(seq)
        self.database.rewrite()

    def find_damage(self) -> list[str]:
        """Return the problems of the journal; an empty list means that it is intact and its seals match."""
        return self.database.find_damage() or self.log.find_damage()
