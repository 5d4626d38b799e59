"""A clock that is set back, or wrong by decades, changes nothing: records are ordered by number."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import thresher
from faults.ledger import replayed_digest
from support.command_line import Run, said
from support.corpora import made_up
from support.served import new_model, served
from thresher.journal.journaled_model import JournaledModel

SOURCES = Path(thresher.__file__).parent
NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
TIMES = [  # a second, an hour and decades back, years ahead, twice the same, and what few clocks can say
    NOW, NOW - timedelta(seconds=1), NOW - timedelta(hours=1), datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2040, 2, 29, 23, 59, 59, 999_000, tzinfo=UTC), NOW, NOW, datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), NOW - timedelta(days=1),
]  # fmt: skip


class Clock:
    """Tells one time after the other, and then the last for ever."""

    def __init__(self, times: list[datetime]) -> None:
        self._times = iter([*times, *times[-1:] * 1000])

    def now(self, _: object) -> datetime:
        return next(self._times)


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.event_log.datetime", Clock(TIMES))


def teach(desk: JournaledModel) -> str:
    """Teach ten corrections, and return the digest."""
    corpus = made_up(len(TIMES), seed=3)
    for number, (text, right) in enumerate(zip(corpus.texts, corpus.categories, strict=True)):
        desk.correct(f"c{number}", text, categories=right, user=f"u{number % 2}")
    return desk.model.digest()


def test_learning_does_not_depend_on_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, jumped = tmp_path / "usual", tmp_path / "jumped"
    usual.mkdir()
    jumped.mkdir()
    with JournaledModel(new_model(usual), new=True) as desk:
        digest = teach(desk)
    monkeypatch.setattr("thresher.journal.event_log.datetime", Clock(TIMES))
    with JournaledModel(model := new_model(jumped), new=True) as desk:
        assert teach(desk) == digest
        assert [record.seq for record in desk.journal.log.read()] == list(range(1, 11))
        assert [record.seq for record in desk.journal.log.read_newest()] == list(range(10, 0, -1))
        assert [datetime.fromisoformat(record.time) for record in desk.journal.log.read()] == TIMES
    assert replayed_digest(model) == digest


@pytest.mark.usefixtures("jumping")
def test_undo_takes_the_last_correction_even_if_the_clock_was_set_back(called: Run, tmp_path: Path) -> None:
    with JournaledModel(model := new_model(tmp_path), new=True) as desk:
        teach(desk)
    for last in ("c9", "c8", "c7"):
        assert json.loads(called("undo", model, "--json").out)["undone"] == [last]
    since = (NOW - timedelta(minutes=30)).isoformat()
    assert json.loads(called("undo", model, "--user", "u1", "--since", since, "--json").out)["undone"] == ["c1", "c5"]
    left = json.loads(called("journal", "check", model, "--json").out)
    assert left["digest"] == replayed_digest(model)


@pytest.fixture(params=["UTC", "Europe/Berlin", "Pacific/Kiritimati", "America/Adak"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone", "jumping")
@pytest.mark.parametrize(
    ("since", "undone"),
    [
        (NOW.isoformat(), ["c0", "c4", "c5", "c6", "c8"]),
        ("1970-01-01T00:00+00:00", [f"c{number}" for number in range(10) if number != 7]),
    ],
)
def test_corrections_since_a_time_are_the_same_in_every_zone(
    called: Run, tmp_path: Path, since: str, undone: list[str]
) -> None:
    with JournaledModel(model := new_model(tmp_path), new=True) as desk:
        teach(desk)
    assert sorted(json.loads(called("undo", model, "--since", since, "--json").out)["undone"]) == undone


@pytest.mark.parametrize(
    "since",
    [
        "2016-12-31T23:59:60", "2026-02-29T12:00", "2026-03-29T25:00", "0001-01-01T00:00+23:59",
        "9999-12-31T23:59-23:59", "1e9", "",
    ],
)  # fmt: skip
def test_an_invalid_time_is_refused(called: Run, tmp_path: Path, since: str) -> None:
    with JournaledModel(model := new_model(tmp_path), new=True) as desk:
        teach(desk)
    said(called("undo", model, "--since", since), 2, f"--since {since!r} is not a time")


@pytest.mark.usefixtures("jumping")
def test_the_service_lists_corrections_in_their_order(tmp_path: Path) -> None:
    with served(new_model(tmp_path)) as running:
        running.service.write(lambda: teach(running.service.served.journaled_model)).result(30)
        listed = running.get("/v1/corrections", newest=True)["corrections"]
        assert [one["id"] for one in listed] == [f"c{number}" for number in reversed(range(10))]
        id = running.correct(text="plank", accept=["metals"])["id"]
        assert running.client().delete(f"/v1/corrections/{id}").status_code == 200


def test_only_the_journal_reads_the_clock() -> None:
    asking = re.compile(r"time\.time(_ns)?\b|datetime\.now|utcnow|localtime|gmtime|date\.today")
    found = [path.name for path in SOURCES.rglob("*.py") if asking.search(path.read_text("utf-8"))]
    assert found == ["event_log.py"]
