"""Fourteen kinds of malformed sparse input, given to a learner or an estimator in a process of their own.

    python malformed.py fit|partial_fit|score|estimator_csr|estimator_csc|estimator_predict|estimator_y|others

prints a line for each kind with the name of the exception; a crash would end the process before the last line.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from thresher import BalancedWinnow, Rows

N_FEATURES = 3
GOOD: dict[str, Any] = {"indptr": [0, 2, 3], "indices": [0, 2, 1], "data": [1.0, 2.0, 1.0]}


def read_only_memmap_out_of_range() -> Any:
    """An array of indices that lies in a read-only file and points beyond the last feature."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "indices"
        np.array([0, 2, 99], dtype=np.int32).tofile(path)
        return np.memmap(path, dtype=np.int32, mode="r")  # which outlives the file's name


KINDS: dict[str, dict[str, Any]] = {
    "index equal to n_features": {"indices": [0, N_FEATURES, 1]},
    "negative index": {"indices": [0, -1, 1]},
    "index beyond 32 bits": {"indices": np.array([0, 2**40, 1])},
    "indptr decreasing": {"indptr": [0, 3, 2]},
    "indptr not from 0": {"indptr": [1, 2, 3]},
    "indptr past the indices": {"indptr": [0, 2, 4]},
    "data shorter than indices": {"data": [1.0]},
    "duplicate index": {"indices": [2, 2, 1]},
    "unsorted indices": {"indices": [2, 0, 1]},
    "NaN": {"data": [1.0, float("nan"), 1.0]},
    "objects": {"data": np.array(["a", None, 1], dtype=object)},
    "read-only memory with a bad index": {"indices": read_only_memmap_out_of_range()},
    "n_features of 0": {"n_features": 0},
    "no indptr at all": {"indptr": []},
}
# scikit-learn's users may give duplicates and unsorted rows: the estimators bring them into order.
MENDED_BY_ESTIMATORS = {"duplicate index", "unsorted indices"}


def raw_rows(change: dict[str, Any]) -> Rows:
    parts = {"n_features": N_FEATURES} | GOOD | change
    return Rows(parts["indptr"], parts["indices"], parts["data"], parts["n_features"])


def raw_matrix(change: dict[str, Any], form: str) -> Any:
    """Build a scipy matrix past scipy's own checks; as csc the same arrays are columns."""
    from scipy import sparse

    rows = raw_rows(change)
    shape = (2, rows.n_features) if form == "csr" else (rows.n_features, 2)
    matrix = {"csr": sparse.csr_array, "csc": sparse.csc_array}[form](shape, dtype=np.float64)
    matrix.indptr, matrix.indices = np.asarray(rows.indptr, dtype=np.int64), np.asarray(rows.indices)
    matrix.data = np.asarray(rows.data)
    return matrix


def targets() -> dict[str, Callable[[dict[str, Any]], object]]:
    from thresher.sklearn import BalancedWinnowClassifier

    fitted = BalancedWinnow().fit(raw_rows({}), [[0], [1]])
    estimator = BalancedWinnowClassifier().fit(raw_matrix({}, "csr"), [0, 1])
    return {
        "fit": lambda change: BalancedWinnow().fit(raw_rows(change), [[0], [1]]),
        "partial_fit": lambda change: fitted.partial_fit(raw_rows(change), [[0], [1]]),
        "score": lambda change: fitted.score(raw_rows(change)),
        "estimator_csr": lambda change: BalancedWinnowClassifier().fit(raw_matrix(change, "csr"), [0, 1]),
        "estimator_csc": lambda change: BalancedWinnowClassifier().fit(raw_matrix(change, "csc"), [0, 1, 0]),
        "estimator_y": lambda change: BalancedWinnowClassifier().fit(np.eye(2), raw_matrix(change, "csr")),
        "others": lambda _: [case for case in other_forms() if not refused(case)],
        "estimator_predict": lambda change: estimator.predict(raw_matrix(change, "csr")),
    }


def other_forms() -> list[tuple[Any, Any]]:
    """Return pairs of X and y in forms whose conversion to rows would walk outside their arrays."""
    from scipy import sparse

    x, indicator = sparse.coo_array(np.eye(4)), sparse.coo_array(np.eye(4))
    x.coords = (np.array([0, 1, 2, 10**8]), x.coords[1])
    indicator.coords = (np.array([0, 1, 2, -(10**8)]), indicator.coords[1])
    blocks = sparse.bsr_array(np.eye(4))
    blocks.indptr = np.array([0, 10**6, 10**7])
    columns = sparse.csc_array(np.eye(4))
    columns.indices = np.array([0, 1, 2, 10**8])
    return [(x, [0, 1, 0, 1]), (blocks, [0, 1, 0, 1]), (np.eye(4), columns), (np.eye(4), indicator)]


def refused(case: tuple[Any, Any]) -> bool:
    from thresher.sklearn import BalancedWinnowClassifier

    try:
        BalancedWinnowClassifier().fit(*case)
    except ValueError:
        return True
    return False


if __name__ == "__main__":
    target = targets()[sys.argv[1]]
    if sys.argv[1] == "others":
        sys.exit(bool(target({})))
    for kind, change in KINDS.items():
        try:
            target(change)
        except ValueError as error:
            print(f"{kind}\tValueError\t{str(error).splitlines()[0]}", flush=True)
        except Exception as error:
            print(f"{kind}\t{type(error).__name__}\t{error}", flush=True)
        else:
            print(f"{kind}\tnothing\t", flush=True)
