"""The queries of a service: pages of corrections and of documents to review, and details of a category."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.journaled_models import new_small_model, teach
from thresher.journal.journaled_model import JournaledModel
from thresher.web.errors import Problem
from thresher.web.quality_monitor import QualityMonitor
from thresher.web.queries import Queries
from thresher.web.served_model import ServedModel


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedModel]:
    monitor = QualityMonitor([])
    with JournaledModel(new_small_model(tmp_path), new=True) as journaled_model:
        teach(journaled_model, 5)
        yield ServedModel(journaled_model, monitor)
    monitor.stop()


def test_corrections_are_listed_from_both_ends_with_their_effects(served: ServedModel) -> None:
    queries = Queries(lambda: served)
    page = queries.list_corrections(2, None, None, False)
    assert ([one["seq"] for one in page["corrections"]], page["next"]) == ([1, 2], 2)
    page = queries.list_corrections(3, 2, None, False)
    assert ([one["seq"] for one in page["corrections"]], page["next"]) == ([3, 4, 5], None)
    newest = queries.list_corrections(1, None, None, True)["corrections"]
    assert newest[0]["effect"] is not None  # though it is not written yet
    assert [one["seq"] for one in queries.list_corrections(9, None, 3, False)["corrections"]] == [2, 1]
    assert [record.seq for record in queries.read_records(3, 9)] == [4, 5]


def test_a_page_of_documents_has_predictions_and_corrections(served: ServedModel) -> None:
    served.documents.add([("a", "gold mine"), ("b", "wheat"), ("c", "wheat")])
    served.documents.set_state("c", "done")
    queries = Queries(lambda: served)
    page, count = queries.list_documents("uncertain", None, "WHEAT", "open", 10, 0)
    assert ([one["id"] for one in page], count) == (["b"], 1)
    served.journaled_model.correct("x", "wheat", accept=["grain"], user="ada")
    document = queries.add_corrections(page[0])
    assert [(one["user"], one["accept"]) for one in document["corrections"]] == [("ada", ["grain"])]
    assert "digest" not in document
    with pytest.raises(Problem, match="no category of this name"):
        queries.list_documents("uncertain", "wood", "", "open", 10, 0)


def test_a_category_is_described_with_its_mistakes(served: ServedModel) -> None:
    queries = Queries(lambda: served)
    assert [row["name"] for row in queries.list_categories()["categories"]] == served.view.categories
    assert queries.describe_category("grain")["corrections"] == served.stats.by_category["grain"]
    mistakes = queries.list_mistakes("grain")
    assert mistakes
    assert all("grain" in one["effect"]["mistakes"] for one in mistakes)
    about = queries.describe_model()
    assert (about["position"], about["digest"]) == (5, served.journaled_model.model.digest())
