"""The statements that read records: each gives the columns that a record has, and leaves out what it says."""

from pathlib import Path

import pytest

from support.journals import append_correction, make_effect
from thresher.errors import JournalError
from thresher.journal.journal import Journal
from thresher.journal.record_queries import SELECT_WHOLE, SELECT_WITHOUT_FEATURES, SELECT_WITHOUT_TEXT, read_records


def test_each_statement_leaves_out_what_it_says(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        record = append_correction(journal, 1)._replace(effect=make_effect("a"))
        journal.effects.write({1: make_effect("a")})
        light = record._replace(features=None)
        assert read_records(journal.database, SELECT_WHOLE) == [record]
        assert read_records(journal.database, SELECT_WITHOUT_FEATURES) == [light]
        assert read_records(journal.database, SELECT_WITHOUT_TEXT) == [light._replace(text=None)]


def test_only_whole_records_are_compared_with_their_seals(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        append_correction(journal, 1)
        journal.database.query("UPDATE records SET user = 'eve'")
        for light in (SELECT_WITHOUT_FEATURES, SELECT_WITHOUT_TEXT):
            assert read_records(journal.database, light)[0].user == "eve"
        with pytest.raises(JournalError, match="record 1 is damaged: its seal does not match"):
            read_records(journal.database, SELECT_WHOLE)
