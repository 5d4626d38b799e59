"""A correction of very many categories and words takes bounded time and memory, when it is sent and at each start."""

import json
from pathlib import Path

import pytest

from faults.harness import Service, client_of, command_code, forked, forked_service, limit
from faults.ledger import Ledger, begin_model, check_ledger
from faults.nursery import Nursery
from support.tiers import few
from thresher.cli import run
from thresher.journal.journaled_model import JournaledModel

MOST_MORE = 200  # megabytes above the resting size
# Version 0.1 had no limit.
NO_LIMIT = """
from thresher.model import online_learning
online_learning.MAX_CORRECTION_CELLS = online_learning.MAX_GROWTH_CELLS = 10**12
"""
# The process may take only so much more than it has once it is about to serve.
LIMITED = """
import resource
from pathlib import Path
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + {megabytes} * 2**20,) * 2)
"""


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have all compiled that a correction of many categories needs: in a fresh clone that takes 100 MB."""
    with JournaledModel(begin_model(tmp_path_factory.mktemp("compiled"))) as desk:
        for id in ("one", "two"):
            desk.correct(id, f"a text of few words, {id}", accept=[f"{id}{number}" for number in range(1000)])


def correction(categories: int, words: int) -> dict[str, object]:
    names = [f"c{number}" for number in range(categories)]
    text = " ".join(f"{number:x}" for number in range(words))
    return {"id": f"{categories}.{words}", "text": text, "accept": names, "create_category": True}


def peak(service: Service) -> int:
    """Return the most memory that a service has had, in megabytes."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


@pytest.mark.parametrize(
    ("categories", "words"), few([(1000, 20_000), (1000, 8000), (1000, 150_000), (50, 100_000)], quick=1)
)
def test_a_correction_of_many_categories_and_words_takes_bounded_memory(
    nursery: Nursery, model: Path, categories: int, words: int
) -> None:
    ledger = Ledger()
    limited = LIMITED.format(megabytes=1000)  # of addresses, of which threads reserve many and use few
    with forked_service(nursery, model, limited) as service, client_of(service, ledger=ledger) as client:
        assert client.correct("one.0").status == 201
        resting = peak(service)
        answer = client.ask("POST", "/v1/corrections", correction(categories, words))
        assert answer.status in (201, 422), answer
        assert peak(service) - resting < MOST_MORE
        assert client.ask("GET", "/v1/corrections").status == 200
        service.kill()  # before what it changed is written
    with forked_service(nursery, model, limited) as service, client_of(service, ledger=ledger) as client:
        assert client.correct("one.1").status == 201
        assert service.stop() == 0
    records = check_ledger(model, ledger, with_contents=False)
    assert len(records) == 2 + (answer.status == 201)


@pytest.mark.parametrize(("words", "status"), few([(15_000, 201), (100_000, 422)], quick=1))
def test_many_new_words_for_many_known_categories_take_bounded_memory(
    nursery: Nursery, model: Path, words: int, status: int
) -> None:
    ledger, limited = Ledger(), LIMITED.format(megabytes=1500)
    text = " ".join(f"{number:x}" for number in range(words))
    with forked_service(nursery, model, limited) as service, client_of(service, ledger=ledger) as client:
        assert client.ask("POST", "/v1/corrections", correction(900, 3)).status == 201
        resting = peak(service)
        answer = client.ask("POST", "/v1/corrections", {"id": "many", "text": text, "accept": ["energy"]})
        assert answer.status == status, answer
        assert peak(service) - resting < 2 * MOST_MORE
        service.kill()
    with forked_service(nursery, model, limited) as service, client_of(service, ledger=ledger) as client:
        assert client.correct("one.0").status == 201
        assert service.stop() == 0
    assert len(check_ledger(model, ledger, with_contents=False)) == 2 + (status == 201)


def test_a_correction_without_memory_for_its_weights_is_refused_before_its_commit(
    nursery: Nursery, model: Path
) -> None:
    """Kept first, it would be applied again, and fail again, at every start."""
    ledger = Ledger()
    with forked_service(nursery, model) as service, client_of(service, ledger=ledger) as client:
        assert client.ask("POST", "/v1/corrections", correction(900, 3)).status == 201
        assert service.stop() == 0
    text = " ".join(f"{number:x}" for number in range(20_000))
    with forked_service(nursery, model) as service, client_of(service, ledger=ledger) as client:
        assert client.correct("one.0").status == 201
        limit(service.pid, 120)  # the weights take 230
        answer = client.ask("POST", "/v1/corrections", {"id": "many", "text": text, "accept": ["energy"]})
        assert answer.status == 503, answer
        assert client.correct("one.1").status == 201
        assert service.stop() == 0
    assert [record.id for record in check_ledger(model, ledger, with_contents=False)] == ["900.3", "one.0", "one.1"]


@pytest.mark.slow
def test_a_large_correction_of_an_older_version_is_applied_at_the_next_start(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model, NO_LIMIT) as service, client_of(service) as client:
        assert client.correct("one.0").status == 201
        resting = peak(service)
        assert client.ask("POST", "/v1/corrections", correction(1000, 12_000)).status == 201
        assert peak(service) - resting < 2 * MOST_MORE  # it took 3 GB to count its words one by one
        service.kill()
    with forked_service(nursery, model, LIMITED.format(megabytes=1500)) as service, client_of(service) as client:
        assert service.position == 2
        assert client.ask("GET", "/v1/corrections").body["corrections"][1]["effect"]["promoted"]["c999"] == 12_000
        assert service.stop() == 0


def test_a_start_without_memory_names_the_record_and_the_command_that_helps(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model, NO_LIMIT) as service, client_of(service) as client:
        assert client.correct("one.0").status == 201
        assert client.ask("POST", "/v1/corrections", correction(1000, 20_000)).status == 201
        service.kill()
    other = begin_model(model.parent / "other")
    with JournaledModel(other) as desk:
        desk.correct("a", "a new category of few words", accept=["c1", "c2"])
    # What LLVM finds no memory for ends the process, so what is needed is loaded before.
    warm = f"from thresher.cli import run\nrun(['journal', 'check', {str(other)!r}])\n"
    helps = f"thresher journal skip {model} 2"
    for arguments in (["journal", "check", str(model)], ["undo", str(model)]):
        code = command_code(arguments, warm + LIMITED.format(megabytes=250))
        with forked(nursery, model.parent, code) as running:
            running.rest()
            assert running.wait() == 71
            assert running.said() == (
                f"thresher: {model}.journal: record 2 cannot be applied: out of memory "
                f"(start again with more memory; {helps} leaves it out)\n"
            )
    assert run(helps.split()[1:]) == 0
    with forked_service(nursery, model, LIMITED.format(megabytes=1000)) as service:
        assert service.position == 3
        assert service.stop() == 0


def test_the_answer_to_a_correction_of_many_categories_lists_a_dozen_words_of_each(
    nursery: Nursery, model: Path
) -> None:
    with forked_service(nursery, model) as service, client_of(service) as client:
        answer = client.ask("POST", "/v1/corrections", correction(40, 5000))
        assert answer.status == 201
        assert {len(words) for words in answer.body["words"].values()} == {12}
        assert set(answer.body["effect"]["promoted"].values()) == {5000}
        assert len(json.dumps(answer.body)) < 100_000
        assert service.stop() == 0
