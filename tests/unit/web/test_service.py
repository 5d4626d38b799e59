"""The life of a service: what it refuses before it is ready, and what it closes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.journaled_models import new_small_model
from thresher.errors import JournalError
from thresher.journal.journaled_model import JournaledModel
from thresher.web import served_model
from thresher.web.errors import Problem
from thresher.web.service import Service, State


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return new_small_model(tmp_path)


@contextmanager
def running(open_model: Callable[[], JournaledModel]) -> Iterator[Service]:
    service = Service(open_model)
    try:
        yield service
    finally:
        service.close(5, 5)


def test_a_service_refuses_everything_before_its_model_is_open(path: Path) -> None:
    with running(lambda: JournaledModel(path, new=True)) as service:
        assert service.state == State.STARTING
        for refused in (
            service.check_ready,
            lambda: service.served,
            service.queries.summarize,
            service.queries.list_categories,
        ):
            with pytest.raises(Problem, match="the journal is being replayed") as caught:
                refused()
            assert caught.value.status == 503
        service.begin().opening.result(20)
        service.check_ready()
        assert service.queries.summarize()["corrections"] == 0
    with pytest.raises(Problem, match="the service is ending"):
        service.check_ready()


def test_a_service_that_is_closed_before_it_began_leaves_no_journal(path: Path) -> None:
    with running(lambda: JournaledModel(path, new=True)):
        pass
    assert not path.with_name(f"{path.name}.journal").exists()


def test_a_model_that_cannot_be_opened_breaks_the_service(path: Path) -> None:
    errors: list[BaseException] = []

    def fail() -> JournaledModel:
        raise JournalError("no journal")

    service = Service(fail, on_failure=errors.append).begin()
    with pytest.raises(JournalError):
        service.opening.result(20)
    assert (service.state, [str(error) for error in errors]) == (State.BROKEN, ["no journal"])
    with pytest.raises(Problem, match="the journal cannot be written"):
        service.write(int)
    service.close(5, 5)


def test_a_journal_whose_records_cannot_be_read_is_closed_with_the_service(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_model.ServedModel, "read_records", lambda _: 1 / 0)
    service = Service(lambda: JournaledModel(path, new=True)).begin()
    with pytest.raises(ZeroDivisionError):
        service.opening.result(20)
    assert service.state == State.BROKEN
    service.close(5, 5)
    JournaledModel(path).close()  # its lock is free


def test_a_service_that_ends_writes_the_model(path: Path) -> None:
    before = path.read_bytes()
    with running(lambda: JournaledModel(path, new=True)) as service:
        service.begin().opening.result(20)
        served = service.served
        service.write(lambda: served.journaled_model.correct("a", "tin mine", accept=["metal"])).result(20)
    assert path.read_bytes() != before
    with JournaledModel(path) as again:
        assert (again.position, again.journal.facts.get("written")) == (1, again.model.digest())
