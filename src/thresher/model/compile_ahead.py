"""Compile the kernels of learning in another process, while this one reads texts and compiles those of text.

Numba compiles one kernel at a time in a process, which is most of the time that a first training takes. The other
process leaves its result in the cache on disk. Then it compiles the kernels that predict many texts, for later.
"""

import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from thresher.kernels.compiler import COMPILED
from thresher.kernels.csr import Rows
from thresher.kernels.mistake_driven import learn_rows
from thresher.model.factories import new_features, new_learner, strengthen_training_rows
from thresher.model.selection import PAIRS_AND_LETTERS
from thresher.model.settings import ModelSettings
from thresher.model.threshold_tuning import train_and_tune
from thresher.text.analysers import Text

_N_ROWS, _N_CATEGORIES = 64, 16  # from 9 categories on, the kernels are compiled for lanes of 16


_started: "list[subprocess.Popen[bytes]]" = []


def start_compiling() -> None:
    """Start a process that compiles the kernels of learning and prediction, unless they are compiled or cannot be kept.

    It ends by itself after some seconds. A process that needs such a kernel earlier compiles it too, which is safe.
    """
    mark = _mark()
    if mark is None or mark.exists() or (os.cpu_count() or 1) < 2:
        return
    no_output = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with suppress(OSError):
        _started.append(subprocess.Popen([sys.executable, "-m", __name__], **no_output))  # type: ignore[call-overload]


def compile_learning() -> None:
    """Train a learner with the default settings on a few rows, and tune its thresholds."""
    settings = ModelSettings.complete("default", {})
    features = np.arange(_N_ROWS, dtype=np.int32) % 7
    counts = Rows(np.arange(_N_ROWS + 1), features, np.ones(_N_ROWS, dtype=np.float32), 7)
    labels = [[row % _N_CATEGORIES] for row in range(_N_ROWS)]
    strong, _ = strengthen_training_rows(settings, counts)
    learner = new_learner(settings)
    train_and_tune(settings, learner, strong, labels, _N_CATEGORIES)
    learner.score_rows(strong)


def compile_prediction() -> None:
    """Find the features of a few texts as a model does for many."""
    features = new_features(
        ModelSettings.complete("default", {"analyser": f"{PAIRS_AND_LETTERS}+title", "min_count": 1})
    )
    texts: list[Text] = ["crude oil", "crude oil and gas"]
    features.fit(texts)
    features.rows(texts)


def compile_all() -> None:
    """Compile first what a training in another process waits for, and note that all is compiled."""
    compile_learning()
    compile_prediction()
    if (mark := _mark()) is not None:
        mark.touch()


def _mark() -> Path | None:
    """Return the file that exists once the kernels of learning are in the cache; None if there is no cache."""
    cache = getattr(learn_rows, "_cache", None)
    if not COMPILED or cache is None or cache.cache_path is None:
        return None
    key = f"{cache.sources} {sys.version} {learn_rows.targetctx.codegen().magic_tuple()}"  # type: ignore[attr-defined]
    return Path(cache.cache_path, f"learning-{hashlib.sha256(key.encode()).hexdigest()[:16]}.compiled")


if __name__ == "__main__":
    compile_all()
