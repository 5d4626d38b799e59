"""Cross-validation: each document is scored by a model that has not seen it."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from thresher.categorizer import Categorizer
from thresher.datasets.category_names import normalize_categories
from thresher.datasets.document import Document
from thresher.errors import DataError
from thresher.evaluation.held_out import evaluate
from thresher.evaluation.labelled import make_truth, name_document
from thresher.evaluation.result import Evaluation
from thresher.metrics import check_whole
from thresher.rows.folds import assign_folds
from thresher.support.progress import Report


def cross_validate(
    documents: Iterable[Document],
    *,
    folds: int = 5,
    preset: str = "default",
    progress: Report | None = None,
    **settings: Any,
) -> Evaluation:
    """Score each document by a model trained on the other folds, and evaluate all documents together.

    Parameters
    ----------
    documents : iterable of Document
    folds : int
        The number of parts of equal size, with each category spread evenly (`thresher.rows.folds.folds`).
    preset, **settings
        Those of the models, as `Categorizer` takes them, except its own `folds`.
    progress : callable, optional
        Called with a `Step` from time to time.

    Notes
    -----
    Reported scores are centred at 1, so those of different models are comparable. A category whose positives are all in
    one fold is unknown to the model that scores them.
    """
    listed = list(documents)
    check_whole("folds", folds, 2)
    if len(listed) < folds:
        raise DataError(f"there are {len(listed)} documents, too few for {folds} folds")
    labels = [normalize_categories(document.categories) for document in listed]
    names = sorted({name for row in labels for name in row})
    truth = make_truth(labels, names)
    fold_of, unknown = assign_folds(truth, folds), Counter[str]()
    scores, accepted = np.zeros(truth.shape), np.zeros(truth.shape, dtype=np.bool_)
    for fold in range(folds):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        report = _in_fold(f"fold {fold + 1}/{folds}", progress)
        model = Categorizer(preset=preset, **settings)
        model.fit([listed[i].content for i in inside], [labels[i] for i in inside], progress=report)
        part = evaluate(model, [listed[i] for i in outside], progress=report).of_categories(names)
        unknown.update(part.unknown_categories)
        scores[outside], accepted[outside] = part.scores, part.accepted
    ids = [name_document(number, document) for number, document in enumerate(listed, 1)]
    return Evaluation(names, truth, scores, accepted, ids, dict(sorted(unknown.items())), fold_of)


def _in_fold(name: str, progress: Report | None) -> Report | None:
    return None if progress is None else lambda step: progress(step._replace(stage=f"{name}: {step.stage}"))
