"""Copies that a running service writes: named, counted, and removed if nobody fetched them."""

import errno
from pathlib import Path

import pytest

from support.journaled_models import new_small_model, teach
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel
from thresher.web.backups import Backups
from thresher.web.errors import Problem


def test_a_temporary_backup_is_removed_by_a_later_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JournaledModel(new_small_model(tmp_path), new=True) as journaled_model:
        teach(journaled_model, 3)
        backups, folder = Backups(), journaled_model.journal.folder
        first = backups.write(journaled_model, temporary=True)
        assert (first["folder"].startswith(".backup-"), first["records"]) == (True, 3)
        kept = backups.write(journaled_model, temporary=False)
        assert (folder / first["folder"]).is_dir()  # it may still be fetched
        monkeypatch.setattr("thresher.web.backups.FETCHED_WITHIN", -1)
        backups.write(journaled_model, temporary=False)
        assert not (folder / first["folder"]).exists()
    with Journal(folder / kept["folder"]) as copy:
        assert copy.log.last_seq() == 3


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EIO, 503)])
def test_a_backup_that_finds_no_room_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, "No Room")

    monkeypatch.setattr("thresher.web.backups.backup", fail)
    with JournaledModel(new_small_model(tmp_path), new=True) as journaled_model:
        with pytest.raises(Problem, match="the backup could not be written: no room") as caught:
            Backups().write(journaled_model, temporary=False)
        assert caught.value.status == status
