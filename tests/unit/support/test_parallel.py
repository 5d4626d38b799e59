"""Threads and processes: kernels let others run and are called by several at once; nothing is forked (S26)."""

import ast
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from support.corpora import made_up
from support.paths import ROOT
from support.problems import LEARNERS, random_problem
from thresher import Categorizer
from thresher.support import parallel

CALLS = 10_000
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "reproduction" / "src").rglob("*.py")])


def test_two_threads_call_kernels_ten_thousand_times_and_get_the_same_bits() -> None:
    problem = random_problem(31, n_rows=20, n_features=30, n_categories=20)
    learners = [kind(average=True).fit(problem.rows, problem.labels) for kind in LEARNERS.values()]
    parts = [problem.part(i, i + 5).rows for i in range(0, 20, 5)]
    expected = [[learner.score(part).tobytes() for part in parts] for learner in learners]
    together = threading.Barrier(2)

    def call(_: int) -> int:
        together.wait(30)
        wrong = 0
        for number in range(CALLS // 2):
            which, part = number % len(learners), number // 4 % len(parts)
            wrong += learners[which].score(parts[part]).tobytes() != expected[which][part]
        return wrong

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(call, range(2))) == [0, 0]


def test_two_threads_that_each_teach_a_model_get_the_same_as_one() -> None:
    """Whatever a kernel kept from one call to the next, or shared with others, would show here."""
    corpus = made_up(60, seed=6)

    def teach(seed: int) -> str:
        model = Categorizer(preset="fast", min_count=1, n_threads=1).fit(*made_up(60, seed=seed))
        for _ in range(20):
            model.partial_fit(*corpus.part(0, 30))
            model.predict(corpus.texts)
        return model.digest()

    alone = [teach(seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(teach, (1, 2))) == alone
        assert list(pool.map(teach, (1, 2))) == alone


def test_a_view_predicts_while_the_model_learns() -> None:
    model = Categorizer(preset="fast", min_count=1).fit(*made_up(60))
    texts, done = made_up(40, seed=8).texts, threading.Event()
    view = model.view()

    def look() -> int:
        looked = 0
        while not done.is_set():
            assert np.isfinite(view.decision_function(texts)).all()
            looked += 1
        return looked

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        for text, names in zip(*made_up(200, seed=9), strict=True):
            model.partial_fit([text], [names])
        done.set()
        assert looking.result(30) > 0


def test_no_thread_reads_a_model_while_its_caller_may_teach_it() -> None:
    texts = [f"crude oil n{i % 197} n{i % 31}" for i in range(768 * 4)]
    model = Categorizer(preset="fast", n_threads=2, min_count=1).fit(["oil", "wheat"] * 4, ["a", "b"] * 4)
    for i, _ in enumerate(model.categorize(texts)):
        if i % 100 == 0:
            model.learn(f"n{i} oil", accept=["a"])  # its word has a number before it has a weight
    assert model.state.features.vocabulary.count == model.state.learner.n_features_
    asked = threading.Event()

    def look(item: int) -> int:
        assert not asked.is_set()
        time.sleep(0.01)
        assert not asked.is_set()
        return item

    for number, item in enumerate(parallel.map_ahead(look, range(20), 3, in_turns=True)):
        assert item == number
        asked.set()
        time.sleep(0.005)
        asked.clear()


def test_simultaneous_saves_to_one_path_leave_one_complete_model(tmp_path: Path) -> None:
    models = [Categorizer(preset="fast", min_count=1).fit(*made_up(30, seed=seed)) for seed in (1, 2)]

    def save(model: Categorizer) -> set[str]:
        for _ in range(30):
            model.save(tmp_path / "model")
        return {Categorizer.load(tmp_path / "model").digest() for _ in range(5)}

    digests = {model.digest() for model in models}
    with ThreadPoolExecutor(2) as pool:
        assert all(found <= digests for found in pool.map(save, models))
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


# Where memory is short, nothing waits for a thread that cannot start.


def test_work_is_done_without_threads_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_ROOM", 2**60)
    mine = threading.get_ident()
    with parallel.thread_pool(2) as pool:
        assert list(pool.map(lambda _: threading.get_ident(), range(3))) == [mine] * 3
        assert isinstance(pool.submit(lambda: 1 / 0).exception(), ZeroDivisionError)
    assert list(parallel.map_ahead(lambda item: (item, threading.get_ident()), [1, 2], 2)) == [(1, mine), (2, mine)]


def test_a_model_is_the_same_if_memory_for_threads_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for room in (1, 2**60):
        monkeypatch.setattr(parallel, "_ROOM", room)
        digests.append(Categorizer(min_count=1, n_threads=2).fit(*made_up(60)).digest())
    assert digests[0] == digests[1]


def test_a_thread_that_cannot_start_raises_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(MemoryError, match="new thread"):
        list(parallel.map_ahead(abs, [1, 2, 3], 2))
    monkeypatch.undo()

    def fail(_: int) -> int:
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        list(parallel.map_ahead(fail, [1, 2, 3], 2))


def forks(source: str) -> list[str]:
    """Return what in a module could make a process of this one, with its threads half there."""
    tree = ast.parse(source)
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    called = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    pools = [name for name in called if name.endswith(("ProcessPoolExecutor", ".fork", ".forkpty")) or name == "fork"]
    return pools + [name for name in imported if name.split(".")[0] in ("multiprocessing", "joblib", "loky")]


@pytest.mark.parametrize(
    "source", ["import multiprocessing as mp", "from os import fork\nfork()", "import os\nos.fork()", "import joblib"]
)
def test_the_search_for_forks_finds_every_way_to_fork(source: str) -> None:
    assert forks(source.replace("\\\n", "\n"))


def test_nothing_forks() -> None:
    assert {path: found for path in SOURCES if (found := forks(path.read_text()))} == {}


def test_a_local_cluster_spawns_its_processes_whatever_is_configured() -> None:
    code = "import thresher.cluster.clients, dask; print(dask.config.get('distributed.worker.multiprocessing-method'))"
    wish = os.environ | {"DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "fork"}
    run = subprocess.run([sys.executable, "-c", code], env=wish, capture_output=True, text=True, timeout=120)
    assert run.stdout == "spawn\n", run.stderr
