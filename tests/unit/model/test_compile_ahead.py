"""The kernels of learning are compiled in another process, once, and training finds them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import Run
from thresher.kernels.compiler import COMPILED
from thresher.kernels.mistake_driven import learn_rows
from thresher.model import compile_ahead

COMPILED_BY_TRAINING = """
from numba.core import event
from thresher.cli import run
names = []
class Names(event.Listener):
    def on_start(self, event):
        names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Names())
run(["train", "sample:train", "-o", "a.thresher", "--quiet"])
run(["predict", "a.thresher", "sample:test", "--quiet"])
print({"learn_rows", "tokenize_text", "find_word_features"} & set(names))
"""


@pytest.mark.slow
def test_training_and_prediction_compile_nothing_that_was_compiled_ahead(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[-1] if done.stdout else ""

    run("-m", "thresher.model.compile_ahead")
    assert len([*(tmp_path / "kernels").rglob("learning-*.compiled")]) == 1
    assert run("-c", COMPILED_BY_TRAINING) == "set()"


def test_nothing_is_started_once_the_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    monkeypatch.setattr(compile_ahead, "_mark", lambda: tmp_path / "mark")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    compile_ahead.start_compiling()
    assert len(started) == 1
    (tmp_path / "mark").touch()
    compile_ahead.start_compiling()
    monkeypatch.setattr(compile_ahead, "_mark", lambda: None)
    compile_ahead.start_compiling()
    assert len(started) == 1


def test_a_mark_is_of_this_version_of_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    if not COMPILED:
        pytest.skip("kernels are not compiled here")
    before = compile_ahead._mark()
    assert before is not None
    monkeypatch.setattr(learn_rows._cache, "sources", "other")  # type: ignore[attr-defined]
    assert compile_ahead._mark() not in (None, before)


def test_warm_up_compiles_and_reports(called: Run) -> None:
    ended = called("warm-up", "--no-json")
    assert ended.code == 0
    assert ended.out.startswith("Compiled in ")
