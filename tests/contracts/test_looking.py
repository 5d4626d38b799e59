"""Reading, saving, exporting and failing change nothing: one digest after 1,000 predictions, 100 of each kind."""

from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from support.corpora import made_up
from support.served import Served, new_model, request, served
from thresher import Categorizer
from thresher.model.factories import LEARNERS

OFTEN, TIMES = 1000, 100
TEXTS = [f"{text} unheard-of{number}" for number, text in enumerate(made_up(OFTEN, seed=5).texts)]


@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_reading_and_saving_do_not_change_a_model(learner: str, tmp_path: Path) -> None:
    model = Categorizer(learner=learner, choose="nothing", min_count=1).fit(*made_up(60, seed=4))
    model.learn("chess and checkers", accept=["games"])
    before = model.digest()
    for text in TEXTS:
        model.predict([text])
    for text in TEXTS[:TIMES]:
        model.explain(text)
        model.rank([text])
    for _ in range(TIMES):
        assert model.save(tmp_path / "model") == before
    assert model.digest() == before
    assert Categorizer.load(tmp_path / "model").digest() == before


def failures(service: Served) -> list[bytes]:
    """Return requests that are refused, each for another reason."""
    bodies: list[tuple[str, str, bytes]] = [
        ("POST", "/v1/corrections", b"{"),
        ("POST", "/v1/corrections", b'{"id": "a", "text": "new words", "reject": ["nothing like it"]}'),
        ("POST", "/v1/corrections", b'{"id": "b", "text": "?!", "accept": ["energy"]}'),
        ("POST", "/v1/corrections", b'{"id": "c", "text": "new words", "accept": ["energy"], "reject": ["energy"]}'),
        ("POST", "/v1/categories", b'{"id": "d", "change": "rename", "names": ["none"], "into": "other"}'),
        ("POST", "/v1/categorize", b'{"text": 7}'),
        ("DELETE", "/v1/corrections/none", b""),
        ("GET", "/v1/categories/none", b""),
        ("PUT", "/v1/model", b"{}"),
        ("GET", "/v1/nowhere", b""),
    ]
    return [request(service, method, path, body) for method, path, body in bodies]


def test_reads_and_failed_requests_do_not_change_the_model_of_a_service(tmp_path: Path) -> None:
    with served(new_model(tmp_path)) as running:
        running.correct(text="plank", accept=["metals"])
        before = running.digest, running.last
        for first in range(0, OFTEN, 100):
            documents = [{"text": text} for text in TEXTS[first : first + 100]]
            assert len(running.post("/v1/categorize", {"documents": documents})["documents"]) == 100
        desk = running.service.served.journaled_model
        for _ in range(TIMES):
            running.service.write(desk.write_snapshot).result(30)
            assert running.client().get("/v1/export").status_code == 200
        for sent in islice(cycle(failures(running)), TIMES):
            assert 400 <= running.exchange(sent).status < 500
        assert (running.digest, running.last) == before
    again: Any = Categorizer.load(next(iter(sorted(tmp_path.rglob("snapshot-*1.thresher")))))
    assert again.digest() == before[0]
