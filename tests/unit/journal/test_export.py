"""Corrections as documents for training."""

from thresher.journal.export import export_correction
from thresher.journal.record import Record


def test_a_correction_is_exported_as_a_document() -> None:
    record = Record(
        7, "x", "correction", "2024-02-29T00:00:00.000+00:00", "ada", {}, "tin mine", [("tin", 1)], "d", None
    )
    about = {"id": "x", "user": "ada", "time": record.time}
    some = record._replace(body={"accept": ["a"], "reject": ["b"], "document": "3"})
    assert (
        export_correction(some) == {"text": "tin mine", "categories": ["a"], "accept": ["a"], "reject": ["b"]} | about
    )
    none = record._replace(body={"accept": [], "reject": ["b"]}, text={"title": "t", "body": "b"})
    assert export_correction(none) == {"title": "t", "body": "b", "accept": [], "reject": ["b"]} | about
    whole = record._replace(body={"categories": []})
    assert export_correction(whole) == {"text": "tin mine", "categories": []} | about
    assert export_correction(some, {"accept": ["new"], "reject": []})["categories"] == ["new"]
    assert next(iter(export_correction(some))) == "id"
