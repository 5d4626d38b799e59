"""The facts about a journal: stored under a name, replaced, and read back."""

from pathlib import Path

from thresher.journal.journal import Journal


def test_a_fact_is_read_back_after_a_restart(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        assert journal.facts.get("base") is None
        for value in ("abc", "Grüße"):
            journal.facts.set("base", value)
    with Journal(tmp_path / "journal") as journal:
        assert (journal.facts.get("base"), journal.facts.get("other")) == ("Grüße", None)
