"""Problems for the rule learners: a few documents as rows, and made-up texts that rules can distinguish."""

from collections.abc import Callable

import numpy as np

from support.corpora import made_up
from thresher.kernels.csr import Rows
from thresher.metrics import pooled_break_even
from thresher.rows.validation import as_rows
from thresher.text.vectorizer import TextFeatures
from thresher_reproduction.rivals.rule_learner import RuleLearner

# The features of five documents, of which the first two are in category 0 and the last in category 1.
DOCUMENTS = [{0: 2, 1: 1}, {0: 1, 2: 1}, {1: 1, 2: 3}, {2: 1}, {3: 1}]
LABELS = [[0], [0], [], [], [1]]


def rows_of(documents: list[dict[int, int]], n_features: int = 4) -> Rows:
    indptr = np.cumsum([0] + [len(d) for d in documents])
    indices, data = [f for d in documents for f in sorted(d)], [d[f] for d in documents for f in sorted(d)]
    return as_rows(Rows(indptr, np.array(indices, dtype=np.int32), np.array(data, dtype=np.float32), n_features))


def assert_learns_what_is_separable(new: Callable[[], RuleLearner]) -> None:
    """Assert that a learner distinguishes made-up texts with few words, in the same way each time."""
    corpus = made_up(400)
    names = sorted({name for names in corpus.categories for name in names})
    labels = [[names.index(name) for name in chosen] for chosen in corpus.categories]
    features = TextFeatures(min_count=1)
    rows, tests = features.fit(corpus.texts[:300]), features.rows(corpus.texts[300:])
    found, again = (new().fit(rows, labels[:300], n_categories=len(names)) for _ in range(2))
    truth = np.array([[c in chosen for c in range(len(names))] for chosen in labels[300:]])
    assert pooled_break_even(found.score(tests), truth) > 0.85
    assert again.score(tests).tobytes() == found.score(tests).tobytes()
    assert again.sweeps_ == found.sweeps_
    assert found.size >= found.features_kept > len(names)
