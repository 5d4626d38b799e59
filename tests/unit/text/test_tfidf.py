"""Strengths by frequency, where counts are very many."""

from typing import Any

import numpy as np
import pytest

from thresher import Rows
from thresher.text import tfidf as strengths_module
from thresher.text.tfidf import weigh_rows


def test_more_counts_than_float32_can_number_are_looked_up_within_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of 2**24 + 3 would become 2**24 + 4 as float32: one beyond the end."""
    seen = dict[str, Any]()

    def caught(indptr: Any, indices: Any, counts: Any, dampened: Any, *_: Any) -> Any:
        seen.update(last=int(counts[-1]), distinct=len(dampened))
        return indptr, indices[:0], dampened[:0]

    monkeypatch.setattr(strengths_module, "cosine_rows", caught)
    monkeypatch.setattr(strengths_module, "_dampen", lambda counts: counts)
    size = 2**24 + 4
    counts = np.arange(1, size + 1).astype(np.float32)
    counts[2**24 :] = 2**24 + 2 * np.arange(1, 5)
    rows = Rows(np.array([0, size]), np.zeros(size, dtype=np.int32), counts, 1)
    weigh_rows(rows, np.ones(1, dtype=np.float32), "cosine")
    assert seen == {"last": size - 1, "distinct": size}


def test_large_counts_are_weighed_by_their_logarithms() -> None:
    counts = np.array([1, 2**16, 2**20, 2**30, 3], dtype=np.float32)
    rows = Rows(np.array([0, 5]), np.arange(5, dtype=np.int32), counts, 5)
    found = weigh_rows(rows, np.ones(5, dtype=np.float32), "cosine").data
    wanted = (1 + np.log(counts.astype(np.float64))).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(found, wanted / np.sqrt((wanted**2).sum()), rtol=1e-6)
