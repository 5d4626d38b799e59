"""The commands of a service: a correction is looked up once, and what is undone leaves the statistics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.journaled_models import new_small_model
from thresher.errors import RepeatedIdError
from thresher.journal.journaled_model import JournaledModel
from thresher.web.access_tokens import Holder
from thresher.web.commands import Commands
from thresher.web.errors import Problem
from thresher.web.quality_monitor import QualityMonitor
from thresher.web.request_models import CorrectionIn, NewCategory
from thresher.web.served_model import ServedModel

ADMIN, TEACHER = Holder("zoe", "admin"), Holder("ada", "teacher")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedModel]:
    monitor = QualityMonitor([])
    with JournaledModel(new_small_model(tmp_path), new=True) as journaled_model:
        yield ServedModel(journaled_model, monitor)
    monitor.stop()


def correction(id: str, **more: Any) -> CorrectionIn:
    return CorrectionIn.model_validate({"id": id, "text": "gold and wheat"} | more)


def test_a_correction_is_looked_up_once_and_published(served: ServedModel) -> None:
    commands, statements = Commands(lambda: served), list[str]()
    connection = served.journaled_model.journal.database._connection
    connection.set_trace_callback(statements.append)
    answer, is_repeated = commands.correct(correction("a", accept=["grain"], reject=["metal"]), "ada")
    connection.set_trace_callback(None)
    assert sum("WHERE id =" in statement for statement in statements) == 1
    assert (answer["seq"], answer["position"], is_repeated) == (1, 1, False)
    assert (served.position, served.stats.corrections) == (1, 1)
    assert served.view.predict(["gold and wheat"]) == served.journaled_model.model.predict(["gold and wheat"])


def test_a_repeated_correction_changes_nothing(served: ServedModel) -> None:
    commands = Commands(lambda: served)
    first, _ = commands.correct(correction("a", accept=["grain"]), "ada")
    digest = served.digest()
    again, is_repeated = commands.correct(correction("a", accept=["grain"]), "ada")
    assert is_repeated
    assert again["seq"] == first["seq"]
    assert (served.digest(), served.stats.corrections) == (digest, 1)
    with pytest.raises(RepeatedIdError):
        commands.correct(correction("a", accept=["metal"]), "ada")


def test_an_unknown_category_is_refused_before_anything_is_written(served: ServedModel) -> None:
    with pytest.raises(Problem, match="a category is unknown"):
        Commands(lambda: served).correct(correction("a", accept=["wood"]), "ada")
    assert served.journaled_model.journal.log.last_seq() == 0


def test_a_new_category_is_undone_with_its_seed_words(served: ServedModel) -> None:
    commands = Commands(lambda: served)
    change = NewCategory.model_validate({"change": "new", "name": "bees", "words": ["honey", "hive"]})
    commands.change_categories("new", change, "zoe")
    assert (served.position, served.stats.corrections, "bees" in served.view.categories) == (2, 1, True)
    with pytest.raises(Problem, match="this takes the role admin"):
        commands.undo("new", TEACHER, "ada")
    answer = commands.undo("new", ADMIN, "zoe")
    assert (answer["undone"], answer["position"]) == (1, 3)
    assert (served.stats.corrections, "bees" in served.view.categories) == (0, False)
    assert commands.undo("new", ADMIN, "zoe")["seq"] == answer["seq"]
