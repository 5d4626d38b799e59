"""Names of categories then and now: renames, merges and retirements that are not undone."""

from pathlib import Path

from thresher.journal.category_history import CategoryHistory
from thresher.journal.journal import Journal
from thresher.journal.record import Entry, Record

CHANGES = [
    {"change": "new", "names": ["bees"]},
    {"change": "rename", "names": ["grain"], "into": "cereals"},
    {"change": "merge", "names": ["gold", "silver"], "into": "metals"},
    {"change": "retire", "names": ["ships"], "into": "nowhere"},
]


def test_a_name_is_followed_from_its_record_on() -> None:
    history = CategoryHistory(enumerate(CHANGES, 1))
    assert [history.current_name(name) for name in ("bees", "grain", "gold", "ships")] == [
        "bees",
        "cereals",
        "metals",
        None,
    ]
    assert history.current_name("grain", seq=2) == "grain"  # another category of that name
    assert sorted(history.all_names("metals")) == ["gold", "metals", "silver"]
    assert history.all_names("bees") == ["bees"]


def test_a_change_is_added_to_a_copy() -> None:
    history = CategoryHistory(enumerate(CHANGES, 1))
    longer = history.with_change(5, {"change": "rename", "names": ["cereals"], "into": "crops"})
    assert (history.current_name("grain"), longer.current_name("grain")) == ("cereals", "crops")


def test_a_correction_is_translated_into_current_names() -> None:
    body = {"accept": ["grain", "ships"], "reject": ["gold"], "document": "grain"}
    record = Record(1, "a", "correction", "", "", body, None, None, "", None)
    history = CategoryHistory(enumerate(CHANGES, 1))
    assert history.translate_body(record) == {"accept": ["cereals"], "reject": ["metals"], "document": "grain"}


def test_undone_changes_are_not_read(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        for number, change in enumerate(CHANGES):
            journal.append(Entry(str(number), "categories", "", change))
        journal.append(Entry("undo", "undo", "", {"seqs": [2]}), undoes=[2])
        history = CategoryHistory.read(journal)
    assert (history.current_name("grain"), history.current_name("silver")) == ("grain", "metals")
