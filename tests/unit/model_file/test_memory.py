"""A model file takes memory in proportion to its size, and to the weights that it describes: measured in processes.

`python test_memory.py SMALL LARGE` loads a small model, then a large one, and prints what that took.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thresher import Categorizer
from thresher.errors import ModelFileError
from thresher.model.reservoir import MAX_SAMPLED
from thresher.model_file import learner_packing
from thresher.model_file.io import write_model
from thresher.model_file.packing import pack

MB = 2**20
Packed = tuple[dict[str, Any], dict[str, Any]]
DENSE: dict[str, Any] = {"preset": "paper"}
AVERAGED: dict[str, Any] = {"preset": "paper", "average": True, "discard": False}
SPARSE: dict[str, Any] = {"preset": "paper", "learner": "perceptron", "sparse": True}


def small(**given: Any) -> Packed:
    """Return the contents of a small model without documents kept."""
    model = Categorizer(min_count=1, **given).fit(["crude oil", "wheat corn"] * 3, ["energy", "grain"] * 3)
    settings, arrays = pack(model.state)
    empty = {name: arrays[name][:0] for name in arrays if name.startswith("reservoir.")}
    return settings, arrays | empty


def numbered(table: str, count: int, size: int = 8) -> dict[str, Any]:
    """Return a table of names, all of one size."""
    letters = "".join(f"{number:0{size}}" for number in range(count)).encode()
    return {
        f"{table}.letters": np.frombuffer(letters, dtype=np.uint8),
        f"{table}.stops": np.arange(1, count + 1, dtype=np.int64) * size,
    }


def large(n_features: int, n_categories: int, entries: int = 0, **given: Any) -> Packed:
    """Return contents that make sense, with so many features, categories, and weights of each category."""
    settings, arrays = small(**given)
    zeros = np.zeros(n_categories, dtype=np.int64)
    features = np.tile(np.arange(entries, dtype=np.int32), n_categories)
    bits = np.zeros(-(-n_features * n_categories // 8), dtype=np.uint8)
    changed = numbered("features", n_features) | numbered("categories", n_categories, 6) | {
        "features.documents": np.zeros(n_features, dtype=np.int64),
        "decisions.thresholds": np.ones(n_categories),
        "decisions.slopes": np.ones(n_categories),
        "weights.stops": np.arange(1, n_categories + 1, dtype=np.int64) * entries,
        "weights.features": features,
        "weights.discarded": bits,
        "weights.late": bits,
        "learner.mistakes": np.zeros((1, n_categories), dtype=np.int64),
    }  # fmt: skip
    changed |= {f"weights.{name}": np.full(len(features), 3, np.float32) for name in ("weight", "positive", "negative")}
    changed |= {"weights.moment": np.ones(len(features))}
    changed |= {f"learner.{name}": zeros for name in ("positives", "online_mistakes", "passes")}
    changed |= {"learner.examples": zeros + 9}
    return settings, arrays | {name: array for name, array in changed.items() if name in arrays}


ACCEPTED: dict[str, tuple[dict[str, Any], Callable[..., Packed], int]] = {
    # settings, what is large, and the bytes of all weights
    "dense matrices": (DENSE, lambda **given: large(3000, 3000, **given), 13 * 3000 * 3008),
    "dense matrices of averages": (AVERAGED, lambda **given: large(3000, 2000, **given), 21 * 3000 * 2000),
    "dense matrices with many weights": (DENSE, lambda **given: large(4000, 500, 3000, **given), 13 * 4000 * 512),
    "a vocabulary": (SPARSE, lambda **given: large(10**6, 2, **given), 0),
    "categories": (SPARSE, lambda **given: large(10, 10**5, **given), 0),
    "sparse lists": (SPARSE, lambda **given: large(10**5, 100, 50_000, **given), 0),
}


def loaded(one: Path, other: Path) -> dict[str, float]:
    command = [sys.executable, __file__, str(one), str(other)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    found: dict[str, float] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("kind", ACCEPTED)
def test_a_file_takes_memory_by_its_size_and_by_its_weights(kind: str, tmp_path: Path) -> None:
    settings, make, weights = ACCEPTED[kind]
    write_model(tmp_path / "small", small(**settings)[0], {}, small(**settings)[1])
    packed = make(**settings)
    write_model(tmp_path / "large", packed[0], {}, packed[1])
    size, found = (tmp_path / "large").stat().st_size, loaded(tmp_path / "small", tmp_path / "large")
    print(f"{kind}: {size / MB:.1f} MB, {found['bytes'] / MB:.0f} MB, {weights / MB:.0f} MB of weights")
    assert found["bytes"] <= 6 * size + weights + 40 * MB


@pytest.mark.parametrize("kind", [DENSE, AVERAGED, SPARSE], ids=str)
@pytest.mark.parametrize(("n_features", "n_categories"), [(0, 0), (0, 3), (5, 0), (1, 1), (9, 17), (70, 3)])
def test_files_of_any_shape_come_back_as_they_were(
    kind: dict[str, Any], n_features: int, n_categories: int, tmp_path: Path
) -> None:
    settings, arrays = large(n_features, n_categories, min(n_features, 2), **kind)
    digest = write_model(tmp_path / "m", settings, {}, arrays)
    assert Categorizer.load(tmp_path / "m").digest() == digest


def refused(path: Path, packed: Packed, message: str) -> None:
    write_model(path, packed[0], {}, packed[1])
    start = time.process_time()
    with pytest.raises(ModelFileError, match=message):
        Categorizer.load(path)
    assert time.process_time() - start < 1


def test_weights_that_do_not_fit_into_the_machine_are_refused_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = large(20_000, 2000, **DENSE)
    monkeypatch.setattr(learner_packing, "measure_machine_memory", lambda: 13 * 20_000 * 2000 - 1)
    refused(tmp_path / "m", packed, r"its weights take 0\.5 GB")


def test_more_documents_than_a_model_keeps_are_refused_soon(tmp_path: Path) -> None:
    settings, arrays = small(**DENSE)
    for count in (MAX_SAMPLED + 1, 10**6):
        none = np.zeros(count, dtype=np.int64)
        kept = {"reservoir.stops": none, "reservoir.label_stops": none, "reservoir.complete": none == 0}
        refused(tmp_path / "m", (settings | {"documents_seen": 10**9}, arrays | kept), "the reservoir has more than")


def test_many_equal_feature_names_are_refused_soon(tmp_path: Path) -> None:
    settings, arrays = large(10**5, 2, **SPARSE)
    same = {"features.letters": np.frombuffer(b"samename" * 10**5, dtype=np.uint8)}
    refused(tmp_path / "m", (settings, arrays | same), "two features have the same name")


def test_fewer_bits_than_cells_are_refused_soon(tmp_path: Path) -> None:
    settings, arrays = large(10**5, 10**4, **SPARSE)
    bits = {f"weights.{name}": np.zeros(10, dtype=np.uint8) for name in ("discarded", "late")}
    dense = {name: value for name, value in settings.items() if name != "sparse"}
    dense["settings"] = {name: value for name, value in dense["settings"].items() if name != "sparse"}
    refused(tmp_path / "m", (dense, arrays | bits), "weights.discarded has the wrong length")


def peak() -> int:
    """Return the most memory that this process has had; `ru_maxrss` would count what started it as well."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    Categorizer.load(sys.argv[1])
    before = peak()
    Categorizer.load(sys.argv[2])
    print(json.dumps({"bytes": peak() - before}))
