"""The effects of corrections in a journal: written, replaced and removed with their mistakes."""

from pathlib import Path

from support.journals import append_correction, make_effect, seqs
from thresher.journal.journal import Journal


def test_an_effect_is_written_with_its_record_and_may_be_replaced(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        append_correction(journal, 1)
        journal.effects.write({})
        assert [record.effect for record in journal.log.read()] == [None]
        for effect in (make_effect("a"), make_effect()):
            journal.effects.write({1: effect})
            assert [record.effect for record in journal.log.read()] == [effect]


def test_removing_an_effect_removes_its_mistakes(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        for number in (1, 2):
            append_correction(journal, number)
        journal.effects.write({1: make_effect("a"), 2: make_effect("a")})
        journal.effects.remove(1)
        assert [record.effect for record in journal.log.read()] == [None, make_effect("a")]
        assert seqs(journal.corrections.read_mistakes(["a"], 10)) == [2]
