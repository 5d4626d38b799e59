from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.rows.folds import assign_folds


def counts_by_fold(truth: NDArray[np.bool_], assigned: Any, n_folds: int) -> Any:
    return np.array([truth[assigned == fold].sum(axis=0) for fold in range(n_folds)])


@given(arrays.arrays(np.bool_, st.tuples(st.integers(0, 40), st.integers(0, 5))), st.integers(2, 6))
def test_folds_are_of_one_size_and_always_the_same(truth: NDArray[np.bool_], n_folds: int) -> None:
    assigned = assign_folds(truth, n_folds)
    sizes = np.bincount(assigned, minlength=n_folds)
    assert len(sizes) == n_folds
    assert sizes.max() - sizes.min() <= 1
    assert assigned.tolist() == assign_folds(np.asfortranarray(truth), n_folds).tolist()


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=60), st.integers(2, 6))
def test_folds_share_each_category_of_single_label_documents_evenly(labels: list[int], n_folds: int) -> None:
    truth = np.array(labels)[:, np.newaxis] == np.arange(5)
    counts = counts_by_fold(truth, assign_folds(truth, n_folds), n_folds)
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()


def test_folds_of_many_labelled_documents_all_see_every_category() -> None:
    frequencies = np.geomspace(0.01, 0.5, 30)
    truth = np.random.default_rng(4).random((2000, 30)) < frequencies
    counts = counts_by_fold(truth, assign_folds(truth, 5), 5)
    assert counts.min() >= 2
    assert (counts[:, 0].max() - counts[:, 0].min()) <= 1  # the rarest category is dealt first


def test_one_fold_is_refused() -> None:
    with pytest.raises(ParameterError, match="invalid n_folds: 1"):
        assign_folds(np.ones((3, 1), dtype=np.bool_), 1)
