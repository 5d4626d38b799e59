"""Threads look at a model, and at views of it, while one thread teaches it, with the bounds of all arrays checked.

Whoever looks changes nothing, reads nothing outside an array, and is right or gets one clear error. This file is also
the program that the tests start: `python tests/contracts/test_races.py WAY SECONDS SEED FOLDER KIND ...`.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faults.harness import new_draw, tell
from support.corpora import made_up
from support.paths import TESTS
from support.tiers import number_of
from thresher import Categorizer
from thresher.errors import JournalError, RowsError, TextError, ThresherError
from thresher.journal.journaled_model import JournaledModel
from thresher.text.analysers import Analyser
from thresher.text.tokens import tokenize
from thresher.text.vectorizer import FeatureCounts

KINDS: dict[str, dict[str, Any]] = {
    "default": {"preset": "fast", "analyser": "words+ngrams:2+chars:4-4"},
    "sparse": {"preset": "fast", "sparse": True},
    "sparse and averaged": {"preset": "fast", "learner": "perceptron", "sparse": True, "average": True},
    "balanced-winnow": {"preset": "paper"},
    "averaged": {"preset": "fast", "learner": "balanced-winnow"},
    "positive-winnow": {"preset": "fast", "learner": "positive-winnow"},
    "perceptron": {"preset": "paper", "learner": "perceptron", "average": True, "discard": False},
}
TAUGHT = "another thread is teaching this model"
LOOKERS = 2  # of each of two kinds


def drawn_text(draw: random.Random) -> str:
    """Return a text of words that are known and words that are not."""
    words = [
        "oil",
        "wheat",
        "harvest",
        "price",
        "crude",
        "gold",
        f"new{draw.randrange(10**6)}",
        f"w{draw.randrange(99)}",
    ]
    return " ".join(draw.choices(words, k=draw.randrange(1, 12)))


def new_model(kind: str) -> Categorizer:
    return Categorizer(**({"min_count": 1, "n_threads": 2} | KINDS[kind])).fit(*made_up(60, seed=3))


def look(model: Categorizer, draw: random.Random) -> str:
    """Look at a model in one way, and return which."""
    text, some = drawn_text(draw), [drawn_text(draw) for _ in range(draw.choice([1, 3, 40]))]
    looks: dict[str, Callable[[], Any]] = {
        "predict": lambda: model.predict(some),
        "score": lambda: np.isfinite(model.decision_function(some)).all(),
        "rank": lambda: model.rank(some, top=3),
        "explain": lambda: model.explain(text),
        "details": lambda: model.strongest_words(draw.choice(model.categories)),
        "count": lambda: model.count_weights(draw.choice(model.categories)),
        "categories": lambda: [model.state.number_of(name) for name in model.categories],
        "empty": lambda: model.empty(some),
        "features": lambda: model.predict([FeatureCounts(["oil", "gold"], [2, 1])]),  # type: ignore[list-item]
        "fault": lambda: model.predict(["\ud800"]),
    }
    which = draw.choice(list(looks))
    try:
        looks[which]()
    except TextError:  # a text that is none, or a category that is gone
        if which not in ("fault", "details", "count", "categories"):
            raise
    return which


class Race:
    """Threads that look until the time is over, and what they came to."""

    def __init__(self, model: Callable[[], Categorizer], seconds: float, draw: random.Random) -> None:
        self.model, self.seconds, self.ended = model, seconds, threading.Event()
        self.view = model().view()
        self.looks, self.refused, self.failures = Counter[str](), 0, list[BaseException]()
        seeds = [draw.randrange(2**32) for _ in range(2 * LOOKERS)]
        works = [self._look_at_views, self._look_at_the_model] * LOOKERS
        self.threads = [
            threading.Thread(target=work, args=(random.Random(seed),)) for work, seed in zip(works, seeds, strict=True)
        ]

    def _look_at_views(self, draw: random.Random) -> None:
        try:
            while not self.ended.is_set():
                self.looks[f"view {look(self.view, draw)}"] += 1
        except BaseException as error:
            self.failures.append(error)

    def _look_at_the_model(self, draw: random.Random) -> None:
        while not self.ended.is_set():
            try:
                model = self.model()
                self.looks[look(model if draw.random() < 0.7 else model.view(), draw)] += 1
            except RowsError as error:
                self.refused += 1
                if TAUGHT not in str(error):
                    self.failures.append(error)
            except BaseException as error:
                self.failures.append(error)
                return

    def run(self, teach: Callable[[], None]) -> dict[str, Any]:
        """Teach until the time is over; return how often was taught and looked."""
        taught = 0
        for _ in range(3):
            teach()  # what it needs is compiled, which may take long
        ends = time.monotonic() + self.seconds
        for thread in self.threads:
            thread.start()
        try:
            while time.monotonic() < ends and not self.failures:
                teach()
                taught += 1
                self.view = self.model().view()
        finally:
            self.ended.set()
            for thread in self.threads:
                thread.join()
        for error in self.failures[:1]:
            raise error
        return {"taught": taught, "looks": sum(self.looks.values()), "refused": self.refused, "kinds": len(self.looks)}


def race_at_the_desk(kind: str, seconds: float, draw: random.Random, folder: Path) -> dict[str, Any]:
    """Teach, rename, merge, retire and undo at a desk; what is live must be what the journal replays to."""
    new_model(kind).save(folder / "model")
    desk, number = JournaledModel(folder / "model"), iter(range(10**9))
    race = Race(lambda: desk.model, seconds, draw)

    def teach() -> None:
        names, id = desk.model.categories, f"id{next(number)}"
        which = draw.random()
        if which < 0.7 or len(names) < 4:
            accept = [f"kind {draw.randrange(30)}"] if draw.random() < 0.3 else draw.sample(names, min(2, len(names)))
            desk.correct(id, drawn_text(draw), accept=accept)
        elif which < 0.78:
            desk.change_categories(id, "rename", [draw.choice(names)], into=f"renamed {next(number)}")
        elif which < 0.84:
            both = draw.sample(names, 2)
            desk.change_categories(id, "merge", both, into=both[0])
        elif which < 0.9:
            desk.change_categories(id, "retire", [draw.choice(names)])
        elif which < 0.95:
            desk.change_categories(id, "threshold", [draw.choice(names)], threshold=draw.random())
        elif desk.position:
            undo(id)

    def undo(id: str) -> None:
        with suppress(JournalError):  # what came later needs it, or it was undone before
            desk.undo(id, [draw.randrange(max(desk.position - 20, 0), desk.position) + 1])

    with desk:
        found = race.run(teach)
        live = desk.model.digest()
        assert live == desk.compute_replayed_digest()
        assert desk.write_model() == live
    assert Categorizer.load(folder / "model").digest() == live
    return found


def race_in_the_library(kind: str, seconds: float, draw: random.Random, folder: Path) -> dict[str, Any]:
    """Teach one model in a tight loop; it must become what it would be if nobody had looked."""
    model, lessons = new_model(kind), list[tuple[str, list[str]]]()
    race = Race(lambda: model, seconds, draw)

    def teach() -> None:
        lessons.append((drawn_text(draw), [draw.choice([*model.categories, f"kind {len(lessons) // 20}"])]))
        model.learn(lessons[-1][0], accept=lessons[-1][1])

    found = race.run(teach)
    twin = new_model(kind)
    for text, accept in lessons:
        twin.learn(text, accept=accept)
    assert model.save(folder / "model") == twin.digest() == Categorizer.load(folder / "model").digest()
    texts = [drawn_text(draw) for _ in range(50)]
    assert model.decision_function(texts).tobytes() == twin.decision_function(texts).tobytes()
    return found


WAYS = {"desk": race_at_the_desk, "library": race_in_the_library}


def raced(way: str, kinds: list[str], seconds: float, seed: int, folder: Path) -> dict[str, Any]:
    """Run races in a process of their own with checked bounds; return what each came to."""
    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, str(Path(__file__)), way, str(seconds), str(seed), str(folder), *kinds]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr[-3000:]}"
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("way", WAYS)
def test_threads_can_read_while_another_teaches(way: str, tmp_path: Path) -> None:
    seconds = number_of("THRESHER_RACE_SECONDS", 14, quick=3)
    found = raced(way, list(KINDS), seconds / len(KINDS), new_draw().randrange(2**32), tmp_path)
    assert set(found) == set(KINDS)
    for kind, counts in found.items():
        assert counts["looks"] > 10, (kind, counts)
        assert counts["taught"] > 2, (kind, counts)
    totals = {name: sum(counts[name] for counts in found.values()) for name in ("looks", "taught", "refused")}
    tell("{looks:,} looks, {refused:,} of them refused, while {taught:,} lessons were taught".format(**totals))


def test_the_second_thread_that_teaches_a_model_gets_an_error() -> None:
    model, inside, go_on = new_model("balanced-winnow"), threading.Event(), threading.Event()
    before = model.digest()

    def slow(texts: list[str]) -> Any:
        for text in texts:
            inside.set()
            go_on.wait(30)
            yield text

    teacher = threading.Thread(target=lambda: model.partial_fit(slow(["oil and gold"]), [["new"]]))
    teacher.start()
    inside.wait(30)
    for teach in (
        lambda: model.learn("oil", accept=["other"]),
        lambda: model.partial_fit(["oil"], [["other"]]),
        lambda: list(model.stream([("oil", [model.categories[0]])])),
        lambda: model.add_category("other"),
        lambda: model.retire_category(model.categories[0]),
    ):
        with pytest.raises(ThresherError, match=r"^another thread is teaching this model"):
            teach()
    assert model.view().digest() == model.digest() == before
    go_on.set()
    teacher.join()
    assert "new" in model.categories
    model.learn("oil", accept=["other"])


def test_a_failed_read_keeps_what_another_thread_has_learned() -> None:
    features = new_model("balanced-winnow").state.features
    known = features.vocabulary.count

    def failing(_: str) -> list[str]:
        features.vocabulary.look_up(tokenize(["brandnew word"]))  # as another thread would meanwhile
        raise TextError("no text")

    whole, features.analyser = features.analyser, Analyser([failing])
    with pytest.raises(TextError, match="no text"):
        features.rows(["oil"])
    features.analyser = whole
    assert features.vocabulary.count > known
    assert len(features.document_counts) == known


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    way, seconds, seed, folder, *kinds = sys.argv[1:]
    outcomes = {}
    for place, kind in enumerate(kinds):
        own = Path(folder) / str(place)
        own.mkdir()
        outcomes[kind] = WAYS[way](kind, float(seconds), random.Random(int(seed) + place), own)
    print(json.dumps(outcomes))
