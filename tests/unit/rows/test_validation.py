"""Malformed sparse input is refused before a kernel sees it; unusual but valid input is accepted."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from support import malformed
from support.problems import as_rows as rows_of
from thresher import BalancedWinnow, Labels, Rows
from thresher.learners.chunks import CHUNK_WORK, split_order
from thresher.rows.labels import as_labels
from thresher.rows.spilled import join_rows
from thresher.rows.validation import as_rows, select_rows, split_rows, to_strengths
from thresher.text.vectorizer import TextFeatures

TARGETS = ["fit", "partial_fit", "score", "estimator_csr", "estimator_csc", "estimator_predict", "estimator_y"]


@pytest.mark.parametrize("target", TARGETS)
def test_malformed_rows_give_a_value_error_and_never_a_crash(target: str) -> None:
    run = subprocess.run([sys.executable, malformed.__file__, target], capture_output=True, text=True, check=False)
    found = dict(line.split("\t")[:2] for line in run.stdout.splitlines())
    assert run.returncode == 0, run.stderr
    mended = malformed.MENDED_BY_ESTIMATORS if target.startswith("estimator") else set()
    if target == "estimator_y":  # a label indicator, which these data are not
        mended = set()
    assert found == {kind: "nothing" if kind in mended else "ValueError" for kind in malformed.KINDS}


def test_malformed_matrices_of_other_forms_never_crash_the_estimators() -> None:
    run = subprocess.run([sys.executable, malformed.__file__, "others"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def assert_same_parts(left: Any, right: Any) -> None:
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


def test_valid_rows_of_any_type_are_accepted() -> None:
    expected = BalancedWinnow().fit(malformed.raw_rows({}), [[0], [1]]).weights_
    for change in (
        {"indptr": np.array([0, 2, 3], dtype=np.uint16)},
        {"indices": np.array([0, 2, 1], dtype=np.int64)},
        {"indices": np.array([0, 2, 1, 7], dtype=np.int64), "data": [1, 2, 1, 9, 9]},  # room to spare, as scipy has
        {"data": np.array([1, 2, 1], dtype=np.int8)},
        {"data": np.array([1, 2, 1], dtype=np.float16)},
        {"data": np.array([1.0, 9, 2, 9, 1])[::2]},
    ):
        np.testing.assert_array_equal(BalancedWinnow().fit(malformed.raw_rows(change), [[0], [1]]).weights_, expected)


def test_read_only_memory_is_accepted(tmp_path: Path) -> None:
    for name, values in malformed.GOOD.items():
        np.array(values, dtype=np.float32 if name == "data" else np.int32).tofile(tmp_path / name)
    mapped = {
        name: np.memmap(tmp_path / name, dtype=np.float32 if name == "data" else np.int32, mode="r")
        for name in malformed.GOOD
    }
    rows = malformed.raw_rows(mapped)
    np.testing.assert_array_equal(
        BalancedWinnow().fit(rows, [[0], [1]]).weights_,
        BalancedWinnow().fit(malformed.raw_rows({}), [[0], [1]]).weights_,
    )


def test_scipy_matrices_and_rows_are_the_same_to_a_learner() -> None:
    rows = as_rows(malformed.raw_rows({}))
    matrix = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(2, 3))
    for source in (matrix, sparse.csr_matrix(matrix)):
        assert_same_parts(as_rows(source), rows)


@pytest.mark.parametrize("source", [[[1, 2]], np.eye(2), sparse.csc_array(np.eye(2)), "text", None])
def test_other_forms_are_refused_with_a_hint(source: Any) -> None:
    with pytest.raises(ValueError, match=r"\.tocsr\(\)"):
        as_rows(source)


@pytest.mark.parametrize("n_features", [3.7, "3", None, True, [3]])
def test_number_of_features_must_be_whole(n_features: Any) -> None:
    with pytest.raises(ValueError, match="n_features"):
        as_rows(Rows([0, 1], [0], [1.0], n_features))  # type: ignore[arg-type]


def test_zeros_are_not_active() -> None:
    rows = as_rows(Rows([0, 3, 3, 5], [0, 1, 2, 1, 2], [1.0, 0.0, 2.0, 0.0, 1e-60], 3))  # type: ignore[arg-type]
    assert rows.indptr.tolist() == [0, 2, 2, 2]
    assert rows.indices.tolist() == [0, 2]


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan"), 1e300, -1e13, -(2**63)])
def test_values_that_could_overflow_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="data"):
        as_rows(rows_of([{0: 1.0}, {0: 1.0}], 1)._replace(data=np.array([1.0, value])))


def test_strengths_are_those_of_the_paper() -> None:
    rows = as_rows(rows_of([{0: 4.0, 1: 9.0}, {}, {2: 1.0}], 3))
    assert to_strengths(rows, "binary", normalize=False).data.tolist() == [1, 1, 1]
    assert to_strengths(rows, "linear", normalize=False).data.tolist() == [4, 9, 1]
    assert to_strengths(rows, "sqrt", normalize=False).data.tolist() == [2, 3, 1]
    assert to_strengths(rows, "sqrt", normalize=True).data.tolist() == [np.float32(2 / 5), np.float32(3 / 5), 1]


@pytest.mark.parametrize(("strength", "normalize"), [("sqrt", False), ("linear", True)])
def test_negative_counts_are_refused_where_they_have_no_meaning(strength: str, normalize: bool) -> None:
    with pytest.raises(ValueError, match="negative"):
        to_strengths(as_rows(rows_of([{0: -1.0}], 1)), strength, normalize)


@pytest.mark.parametrize(
    "labels",
    [
        [[0]],  # one set for two rows
        [[0], [-1]],
        [[0], [0.5]],
        [["a"], ["b"]],
        [0, 1],
        [[0], [2**31]],
        Labels([0, 1, 3], [0, 1, 1], [1, 1, -1], others=-1),  # type: ignore[arg-type]
        Labels([0, 1, 2], [0, 1], [1, 0], others=-1),  # type: ignore[arg-type]
        Labels([0, 1, 2], [0, 1], [1, 1], others=1),  # type: ignore[arg-type]
        Labels([0, 2, 1], [0, 1], [1, 1], others=0),  # type: ignore[arg-type]
        Labels([0, 1, 2], [0], [1, 1], others=0),  # type: ignore[arg-type]
        Labels([0, 1, 2], [0.9, 1.0], [1, 1], others=0),  # type: ignore[arg-type]
        Labels([0, 1, 2.5], [0, 1], [1, 1], others=0),  # type: ignore[arg-type]
        Labels([0, 1, 2], ["a", "b"], [1, 1], others=0),  # type: ignore[arg-type]
        Labels([0, 1, 2], [0, 1], [1, None], others=0),  # type: ignore[arg-type]
        Labels(0, [0], [1], others=0),  # type: ignore[arg-type]
        [[True, False], [False, True]],
    ],
)
def test_malformed_labels_give_a_value_error(labels: Any) -> None:
    with pytest.raises(ValueError, match="label"):
        BalancedWinnow().fit(malformed.raw_rows({}), labels)


def test_a_label_set_may_be_any_collection() -> None:
    expected = as_labels([[0, 2], []], 2)
    for source in ([{2, 0}, set()], [(0, 2, 2), ()], [np.array([2, 0]), np.array([], dtype=int)]):
        assert_same_parts(as_labels(source, 2), expected)


def test_offsets_always_have_64_bits() -> None:
    """More than 2^31 entries would not fit here; that nothing counts them in fewer bits does."""
    given = rows_of([{0: 4.0, 1: 9.0}, {}, {2: 1.0}], 3)
    small = as_rows(given._replace(indptr=given.indptr.astype(np.int32)))
    features = TextFeatures(min_count=1)
    found = [
        small, to_strengths(small, "sqrt", normalize=True), select_rows(small, np.array([2, 0])), *split_rows(small, 1),
        features.fit(["crude oil", "oil"]), features.rows(["oil"]), join_rows(iter([small, small]), 3, limit=0),
    ]  # fmt: skip
    assert {rows.indptr.dtype for rows in found} == {np.dtype(np.int64)}
    lengths = np.full(70_000, 2**16)
    parts = split_order(np.arange(len(lengths)), lengths, 1)
    assert sum(len(part) for part in parts) == 70_000
    assert max(lengths[part].sum() for part in parts) <= CHUNK_WORK + 2**16
