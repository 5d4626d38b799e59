"""Scores of training documents by models that have not seen them; the rivals choose thresholds on them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thresher.rows.folds import assign_folds
from thresher.rows.labels import as_labels
from thresher.rows.validation import select_rows
from thresher_reproduction.rivals.linear_rival import Examples, Floats

N_FOLDS = 3

ScoreHeldOut = Callable[[Examples, Examples], Floats]


def score_held_out(examples: Examples, score: ScoreHeldOut, shape: tuple[int, ...] = ()) -> Floats:
    """Return the scores of all documents, each by `score(learned_from, held_out)` without the document's fold.

    `shape` precedes documents × categories if a call returns several tables of scores at once.
    """
    fold_of = assign_folds(examples.truth, N_FOLDS)
    scores = np.zeros((*shape, *examples.truth.shape))
    for fold in range(N_FOLDS):
        held_out = np.flatnonzero(fold_of == fold)
        learned_from = np.flatnonzero(fold_of != fold)
        if len(held_out) and len(learned_from):
            scores[..., held_out, :] = score(
                _select_examples(examples, learned_from), _select_examples(examples, held_out)
            )
    return scores


def _select_examples(examples: Examples, chosen: NDArray[np.int64]) -> Examples:
    truth = examples.truth[chosen]
    labels = as_labels([np.flatnonzero(row).tolist() for row in truth], len(truth))
    return Examples(select_rows(examples.rows, chosen), labels, truth)
