"""The cosine model gives cosines, worked out by hand."""

import numpy as np

from thresher import Rows
from thresher_reproduction.rivals.cosine import Cosine

ROWS = Rows(np.array([0, 1, 3, 4, 5]), np.array([0, 0, 1, 1, 2]), np.ones(5, dtype=np.float32), 3)


def test_scores_are_cosines_less_the_threshold() -> None:
    fitted = Cosine().fit(ROWS, [[0], [0], [], []], n_categories=1)
    # The idf is ln 2, ln 2, ln 4: the documents are (1, 0, 0), (r, r, 0), (0, 1, 0), (0, 0, 1) with r = 1 / √2.
    r = np.sqrt(0.5)
    profile = np.array([1 + r, r, 0]) / np.hypot(1 + r, r)
    expected = np.array([[1, 0, 0], [r, r, 0], [0, 1, 0], [0, 0, 1]]) @ profile
    np.testing.assert_allclose(fitted.score(ROWS)[:, 0] + fitted.thresholds_[0], expected, atol=1e-6)


def test_a_document_scores_the_same_however_long_it_is() -> None:
    fitted = Cosine().fit(ROWS, [[0], [0], [], []], n_categories=1)
    short = Rows(np.array([0, 2]), np.array([0, 2]), np.ones(2, dtype=np.float32), 3)
    np.testing.assert_allclose(fitted.score(short._replace(data=7 * short.data)), fitted.score(short), atol=1e-6)
