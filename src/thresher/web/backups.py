"""Copies of the journal that a running service writes into the folder of the journal."""

import errno
import secrets
import time
from typing import Any

from thresher.journal.journaled_model import JournaledModel
from thresher.journal.snapshots import backup
from thresher.support.atomic_file import remove_leftover_folder
from thresher.web.errors import Problem

FETCHED_WITHIN = 60.0  # seconds in which the process that moves a temporary backup locks it


class Backups:
    """The backups of a service. Only the writing thread may write them."""

    def __init__(self) -> None:
        self._temporary: dict[str, float] = {}  # those to be moved away, and when they were made

    def write(self, journaled_model: JournaledModel, *, temporary: bool) -> dict[str, Any]:
        """Write a copy of the journal into its folder; return the name of the copy and its number of records.

        A temporary copy is removed at the next start or by a later backup, unless it was moved away by then.
        """
        folder = journaled_model.journal.folder
        for old, since in list(self._temporary.items()):
            if time.monotonic() - since > FETCHED_WITHIN:
                remove_leftover_folder(folder / old)
                del self._temporary[old]
        name = f"{'.' if temporary else ''}backup-{secrets.token_hex(6)}"
        try:
            backup(journaled_model.journal, folder / name)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            said = f"the backup could not be written: {str(error.strerror).lower()}"
            raise Problem(507 if full else 503, said) from None
        if temporary:
            self._temporary[name] = time.monotonic()
        return {"folder": name, "records": journaled_model.position}
