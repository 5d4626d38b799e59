"""A few documents as rows, for the tests of the rule learners."""

import numpy as np

from thresher.kernels.rows import Rows
from thresher.learners.rows import as_rows

# The features of five documents, of which the first two are in category 0 and the last in category 1.
DOCUMENTS = [{0: 2, 1: 1}, {0: 1, 2: 1}, {1: 1, 2: 3}, {2: 1}, {3: 1}]
LABELS = [[0], [0], [], [], [1]]


def rows_of(documents: list[dict[int, int]], n_features: int = 4) -> Rows:
    indptr = np.cumsum([0] + [len(d) for d in documents])
    indices, data = [f for d in documents for f in sorted(d)], [d[f] for d in documents for f in sorted(d)]
    return as_rows(Rows(indptr, np.array(indices, dtype=np.int32), np.array(data, dtype=np.float32), n_features))
