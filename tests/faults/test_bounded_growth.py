"""Whoever teaches a million corrections, with new words in each, takes no more memory than after the first (P25).

A desk learns THRESHER_TAUGHT corrections of three words that it knows and five that nobody has seen; its vocabulary is
full after a fifth of them. From then on its memory does not grow: by no more than LEAK bytes a correction, where a
leak of a single word a correction would be a hundred. The journal on the disk grows, of course, and the log is written
back. Then what is full refuses: texts of unknown words alone, and categories beyond what there is room for.
"""

import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faults.harness import tell
from support.corpora import WORDS, made_up
from support.served import served
from support.tiers import number_of
from thresher import Categorizer
from thresher.errors import TextError
from thresher.journal.journaled_model import JournaledModel
from thresher.model import online_learning

TAUGHT = number_of("THRESHER_TAUGHT", 4000, quick=500)
KNOWN, NEW = 3, 5  # words of each correction
LEAK = 20.0 if TAUGHT > 100_000 else 2000.0  # bytes; what a run leaves of any kind counts more in a short one
REPORTS = 20


def begun(folder: Path, **settings: int) -> Path:
    corpus = made_up(60, single=True)
    Categorizer(preset="fast", min_count=1, **settings).fit(*corpus).save(folder / "desk.thresher")
    return folder / "desk.thresher"


def memory_in_use() -> int:
    """Return the bytes of memory that this process has in use, and of no file."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("RssAnon:")[2].split()[0])


def test_memory_does_not_grow_with_corrections(memory: Path) -> None:
    draw, seen, start = random.Random(1), list[tuple[int, int]](), time.monotonic()
    path = begun(memory, max_features=min(TAUGHT, 2**20))
    with JournaledModel(path) as desk:
        for number in range(1, TAUGHT + 1):
            name = draw.choice(sorted(WORDS))
            words = draw.choices(WORDS[name].split(), k=KNOWN) + [f"new{NEW * number + i}" for i in range(NEW)]
            desk.correct(str(number), " ".join(words), accept=[name])
            if number % (TAUGHT // REPORTS) == 0:
                seen.append((number, memory_in_use()))
                print(f"{number:,} corrections: {seen[-1][1] / 2**20:.1f} MB, {time.monotonic() - start:.0f} s")
        assert desk.model.state.features.vocabulary.count >= min(TAUGHT, 2**20), "the vocabulary is not full"
        log = desk.journal.path.with_name(f"{desk.journal.path.name}-wal").stat().st_size
        assert log < 32 * 2**20, "the log is never written back"
        slope = growth([place for place in seen if place[0] > TAUGHT // 5])
        digest, position = desk.model.digest(), desk.position
    seconds = time.monotonic() - start
    rate = f"{slope:.1f} bytes of memory each after the first fifth, {TAUGHT / seconds:.0f} a second"
    tell(f"{TAUGHT:,} corrections with new words: {rate}")
    assert slope < LEAK
    with JournaledModel(path) as again:
        assert (again.model.digest(), again.position) == (digest, position)


def growth(seen: list[tuple[int, int]]) -> float:
    """Return the slope of memory over corrections."""
    places, sizes = np.array(seen, dtype=np.float64).T
    return float(np.polyfit(places, sizes, 1)[0])


def with_a_leak() -> None:
    kept, seen = list[str](), list[tuple[int, int]]()
    for number in range(1, 40_001):
        kept.append(f"a word that is never forgotten {number}")
        if number % 2000 == 0:
            seen.append((number, memory_in_use()))
    assert growth(seen) > 50


def test_a_leak_would_be_found() -> None:
    # In a new process: one that has freed much before has room for words without asking for more.
    check = multiprocessing.get_context("spawn").Process(target=with_a_leak)
    check.start()
    check.join(60)
    assert check.exitcode == 0


# What is full refuses, and says why; nothing changes.


def refused(desk: JournaledModel, message: str, teach: Callable[[], object]) -> None:
    before = desk.model.digest(), desk.position, desk.journal.log.last_seq()
    with pytest.raises(TextError, match=message):
        teach()
    assert (desk.model.digest(), desk.position, desk.journal.log.last_seq()) == before


def test_a_full_vocabulary_learns_known_words_and_refuses_others(tmp_path: Path) -> None:
    path = begun(tmp_path, max_features=98)
    with JournaledModel(path) as desk:
        desk.correct("1", "oil one two three four five six seven eight nine ten", accept=["energy"])
        count = desk.model.state.features.vocabulary.count
        assert count == 99  # with the constant
        refused(desk, "no feature of the document is known, and there is no room", lambda: desk.correct(
            "2", "entirely unheard", accept=["energy"]))  # fmt: skip
        desk.correct("3", "oil entirely unheard", accept=["energy"])
        assert desk.model.state.features.vocabulary.count == count
    with JournaledModel(path) as again:
        assert again.position == 2


@pytest.mark.parametrize("how", ["accept", "categories", "new"])
def test_the_number_of_categories_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    path = begun(tmp_path)
    with JournaledModel(path) as desk:
        features = desk.model.state.features.vocabulary.count
        monkeypatch.setattr(online_learning, "MAX_DENSE", 8 * (features + 2))

        def teach(name: str) -> None:
            if how == "new":
                desk.change_categories(name, "new", [name])
            else:
                desk.correct(name, "oil", **{how: [name]})  # type: ignore[arg-type]

        teach("seventh")
        teach("eighth")
        refused(desk, r"no room for a new category \(\d+ features x 8 categories; retire or merge", lambda: teach("n"))
        desk.correct("words", "oil and four words more than are known", accept=["eighth"])
        assert desk.model.state.features.vocabulary.count == features + 3  # the constant is none of them
        desk.change_categories("less", "retire", ["seventh"])
        assert len(desk.model.categories) == 7
    with JournaledModel(path) as again:
        assert again.remarks == []


def test_a_sparse_model_has_room_for_more_but_not_for_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Categorizer(preset="fast", min_count=1, sparse=True).fit(*made_up(60, single=True))
    monkeypatch.setattr(online_learning, "MAX_DENSE", 10)
    monkeypatch.setattr(online_learning, "MAX_CATEGORIES", 7)
    model.learn("oil and words of any number", accept=["seventh"])
    with pytest.raises(TextError, match="no room for a new category"):
        model.partial_fit(["oil"], [["eighth"]])
    assert len(model.categories) == 7


def test_the_service_answers_422_where_a_model_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = begun(tmp_path, max_features=97)
    monkeypatch.setattr(online_learning, "MAX_CATEGORIES", 6)
    with served(path) as running:
        before, seventh = running.digest, {"text": "oil", "create_category": True}
        asked: list[tuple[str, dict[str, Any]]] = [
            ("/v1/corrections", {"id": "1", "accept": ["seventh"]} | seventh),
            ("/v1/corrections", {"id": "2", "categories": ["seventh"]} | seventh),
            ("/v1/categories", {"id": "3", "change": "new", "name": "seventh"}),
        ]
        for route, body in asked:
            answer = running.post(route, body, status=422)
            assert "no room for a new category" in answer["detail"]
        running.correct(text="oil and three new words", accept=["energy"])
        unheard = running.correct(text="entirely unheard", accept=["energy"], status=422)
        assert "no feature of the document is known, and there is no room for more" in unheard["detail"]
        running.post("/v1/categories", {"change": "rename", "name": "trade", "into": "trades"})
        assert (running.digest != before, running.last) == (True, 2)
