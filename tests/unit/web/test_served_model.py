"""The model that is served: its view, its statistics and its digest follow the corrections once they are published."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.journaled_models import new_small_model, teach
from thresher.journal.journaled_model import JournaledModel
from thresher.web.quality_monitor import QualityMonitor
from thresher.web.served_model import ServedModel


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedModel]:
    monitor = QualityMonitor([])
    with JournaledModel(new_small_model(tmp_path), new=True) as journaled_model:
        teach(journaled_model, 4)
        yield ServedModel(journaled_model, monitor)
    monitor.stop()


def test_readers_see_a_correction_once_it_is_published(served: ServedModel) -> None:
    before, view = served.digest(), served.view
    result = served.journaled_model.correct("new", "honey from the hive", accept=["bees"])
    assert (served.position, "bees" in served.view.categories) == (4, False)
    served.count_correction(result.record)
    served.publish()
    assert (served.position, "bees" in served.view.categories, "bees" in view.categories) == (5, True, False)
    assert served.digest() == served.journaled_model.model.digest() != before


def test_statistics_are_those_of_the_records(served: ServedModel) -> None:
    served.count_correction(served.journaled_model.correct("new", "tin mine", accept=["metal"], user="zoe").record)
    counted = served.stats.summary()
    served.read_records()
    assert served.stats.summary() == counted
    assert counted["users"]["zoe"] == 1


def test_names_are_looked_up_in_the_categories_of_the_model(served: ServedModel) -> None:
    names = served.names_of(served.view)
    assert names is served.names_of(served.view)
    assert "grain" in names
    served.journaled_model.change_categories("c", "new", ["bees"])
    assert "bees" in served.names_of(served.journaled_model.model)


def test_remarks_of_the_journal_are_logged_once(served: ServedModel, caplog: pytest.LogCaptureFixture) -> None:
    served.journaled_model.remarks.append("a snapshot could not be written")
    for _ in range(2):
        served.publish()
    assert [record.getMessage() for record in caplog.records] == ["a snapshot could not be written"]
