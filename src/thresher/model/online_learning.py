"""Learn from single documents: corrections, new words and new categories."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.category_names import abbreviate, find_new_names, normalize_categories, normalize_each
from thresher.errors import TextError, ThresherError, escape_braces
from thresher.kernels.csr import Labels, Rows
from thresher.model.explanations import Correction, weights_at
from thresher.model.factories import MAX_DENSE
from thresher.model.new_categories import is_young, train_against
from thresher.model.reservoir import SampledDocument, copy_row, make_rows
from thresher.model.scoring import strengthen_rows
from thresher.model.state import ModelState
from thresher.rows.labels import as_labels, label_one_row
from thresher.support.growable import extend
from thresher.text.analysers import Text
from thresher.text.batches import split_texts
from thresher.text.tfidf import compute_late_idf
from thresher.text.vectorizer import FeatureCounts

MAX_CATEGORIES = 100_000  # limit for categories that are added by corrections
# Weights that one correction may touch (about a second, and 200 MB), unless it names at most a few categories.
MAX_CORRECTION_CELLS, FEW_CATEGORIES = 10**7, 10
MAX_GROWTH_CELLS = 2 * 10**7  # weights that new features of one correction may add over all categories (about 260 MB)
_FEW_CELLS = 2**16  # below this number of weights, the exact count is not needed


def learn_all(model: ModelState, texts: Iterable[Text], categories: Iterable[str | Iterable[str]]) -> None:
    """Learn documents in one pass; see `Categorizer.partial_fit`."""
    listed, named = [text for batch in split_texts(texts) for text in batch], normalize_each(categories)
    if len(listed) != len(named):
        raise TextError(f"there are {len(listed)} texts and {len(named)} sets of categories")
    if not listed:
        return
    before = len(model.categories)
    names = model.categories + find_new_names(named, model.categories)
    if not names:
        raise TextError("there are no categories: none is known, and no text has one")
    numbers = {name: number for number, name in enumerate(names)}
    labels = [[numbers[name] for name in row] for row in named]
    check_room(model, len(names))
    with all_or_nothing(model):
        rows = _count_and_grow(model, listed, len(names))
        _learn_rows(model, rows, as_labels(labels, len(labels)), names)
    taught = [model.reservoir.add(copy_row(rows, i, row)) for i, row in enumerate(labels)]
    teach_young(model, {c for row in labels for c in row}, before, taught)


def learn(model: ModelState, text: Text, accept: Iterable[str], reject: Iterable[str], complete: bool) -> Correction:
    """Learn one correction and return what it changed; see `Categorizer.learn`."""
    accepted, rejected = normalize_categories(accept), normalize_categories(reject) if reject != () else []
    check_correction(model, accepted, rejected, complete)
    return learn_validated(model, text, accepted, rejected, complete)


def learn_validated(
    model: ModelState, text: Text | FeatureCounts, accepted: list[str], rejected: list[str], complete: bool
) -> Correction:
    """Learn one correction that `check_correction` has accepted; its names are sorted and occur once."""
    known, numbers = len(model.categories), model.numbers()
    new = [name for name in accepted if name not in numbers]
    names = model.categories + new if new else model.categories
    added = {name: known + i for i, name in enumerate(new)}
    accepts = [numbers[name] if name in numbers else added[name] for name in accepted]
    signs = dict.fromkeys(accepts, 1) | {numbers[name]: -1 for name in rejected}
    with all_or_nothing(model):
        rows = _count_and_grow(model, [text], len(names))  # type: ignore[list-item]
        before = weights_at(model, rows, list(signs))
        mistakes = _learn_rows(
            model, rows, as_labels([sorted(accepts)], 1) if complete else label_one_row(signs), names
        )
    wrong = {c: sign for c, sign in signs.items() if mistakes[c] > 0}
    after = weights_at(model, rows, list(wrong))
    teach_young(model, set(accepts), known, [model.reservoir.add(copy_row(rows, 0, accepts, complete))])
    known_names = model.features.freeze_names()
    signed = {names[c]: sign for c, sign in wrong.items()}
    return Correction(signed, new, partial(known_names, rows.indices), before, after)


def check_correction(model: ModelState, accepted: list[str], rejected: list[str], complete: bool = False) -> None:
    """Raise a TextError if the correction cannot be learned."""
    if complete and not accepted and not model.categories:
        raise TextError("there are no categories: none is known, and the text has none")
    if not accepted and not rejected and not complete:
        raise TextError("a correction accepts or rejects at least one category")
    both = sorted(set(accepted) & set(rejected)) if rejected else []
    if both:
        raise TextError("category {name} is both accepted and rejected", name=both[0])
    for name in rejected:
        if name not in model.numbers():
            hint = f"known: {escape_braces(abbreviate(model.categories))}"
            raise TextError("category {name} is unknown and cannot be rejected", name=name, hint=hint)
    check_room(model, _count_with(model, accepted))


def check_words(model: ModelState, features: FeatureCounts, accepted: list[str]) -> None:
    """Raise a TextError if nothing can be learned from the text: no feature of it is known, and none can be added."""
    if not features.names:
        raise TextError("no features in document, so there is nothing to learn from it")
    limit_features(model, _count_with(model, accepted))
    if not model.features.can_use(features):
        raise TextError("no feature of the document is known, and there is no room for more", hint=_size(model))


def check_size(model: ModelState, features: FeatureCounts, accepted: list[str], rejected: list[str]) -> None:
    """Raise a TextError if learning the correction would take seconds or gigabytes.

    Each named category learns the features of the text. A new or young one also learns from the documents in the
    reservoir. Unless weights are sparse, a new category has a weight for each feature of the model, and a new feature
    has one for each category.
    """
    n_features, count = len(features.names), len(accepted) + len(rejected)
    numbers, sparse = model.numbers(), model.learner.sparse
    new = sum(name not in numbers for name in accepted)
    if count > FEW_CATEGORIES:
        young = new + sum(name in numbers and is_young(model.learner, numbers[name]) for name in accepted)
        kept = sum(len(document.indices) for document in model.reservoir.documents)
        known = _count_features(model)
        if count * n_features + young * kept + (0 if sparse else new * known) > MAX_CORRECTION_CELLS:
            size = f"{count:,} categories ({new:,} new), {n_features:,} features, {known:,} in the model"
            raise TextError(f"the correction is too large: {size}", hint="name fewer categories at once")
    n_categories = len(numbers) + new
    if not sparse and n_features * n_categories > MAX_GROWTH_CELLS:
        late = model.features.count_new(features)
        if late * n_categories > MAX_GROWTH_CELLS:
            size = f"{late:,} new features x {n_categories:,} categories"
            raise TextError(f"the correction is too large: {size}", hint="teach a part of the text")


def reserve(model: ModelState, features: FeatureCounts, accepted: list[str]) -> None:
    """Allocate the memory for the weights that a correction adds.

    If memory is short, this fails before anything is learned.
    """
    if model.learner.is_fitted and not model.learner.sparse:
        n_categories, most = _count_with(model, accepted), _count_features(model) + len(features.names)
        if len(features.names) * n_categories > _FEW_CELLS or not model.learner.has_room(most, n_categories):
            model.learner.reserve(_count_features(model) + model.features.count_new(features), n_categories)


def check_room(model: ModelState, n_categories: int) -> None:
    """Raise a TextError if the model has no room for this number of categories.

    The limit exists because any user may teach a model, and must not be able to use up all memory.
    """
    most = MAX_CATEGORIES if model.learner.sparse else min(MAX_CATEGORIES, MAX_DENSE // _count_features(model))
    if n_categories > max(most, len(model.categories)):
        raise TextError("there is no room for a new category", hint=f"{_size(model)}; retire or merge some")


def limit_features(model: ModelState, n_categories: int) -> None:
    """Limit the features of a model with dense weights to what this number of categories leaves room for."""
    if not model.learner.sparse:
        model.features.limit(MAX_DENSE // max(n_categories, 1))


def _count_with(model: ModelState, accepted: list[str]) -> int:
    """Return the number of categories, including the accepted ones that are not known yet."""
    return len(model.categories) + sum(name not in model.numbers() for name in accepted)


def _count_features(model: ModelState) -> int:
    return max(model.features.vocabulary.count, 1)


def _size(model: ModelState) -> str:
    return f"{_count_features(model):,} features x {len(model.categories):,} categories"


@contextmanager
def all_or_nothing(model: ModelState) -> Iterator[None]:
    """Remove the features that were added but not learned, if the block fails for any reason."""
    if model.is_view:
        raise ThresherError("a view of a model cannot learn", hint="teach the model itself")
    try:
        yield
    except BaseException:
        known = model.learner.n_features_ if model.learner.is_fitted else int(model.features.has_constant)
        model.features.forget(known)
        model.idf = model.idf[:known]
        raise


def _count_and_grow(model: ModelState, texts: list[Text], n_categories: int) -> Rows:
    """Return the counts of texts after adding new words. If a text has no features, raise an error."""
    limit_features(model, n_categories)
    rows = model.features.rows(texts, grow=True)
    if (rows.indptr[1:] == rows.indptr[:-1]).any():
        empty = np.flatnonzero(np.diff(rows.indptr) == 0)
        raise TextError("no features in document, so there is nothing to learn from it", index=int(empty[0]))
    extend_idf(model, rows.n_features)
    return rows


def extend_idf(model: ModelState, n_features: int) -> None:
    """Give all features that were added after `fit` the same idf."""
    new = n_features - len(model.idf)
    if len(model.idf) and new > 0:
        late = model.idf[-1]
        if model.features.document_counts[len(model.idf) - 1] > 0:  # no feature was added after `fit` so far
            late = compute_late_idf(model.idf, model.features.n_documents, model.features.document_counts)
        model.idf = extend(model.idf, new, late)


def _learn_rows(model: ModelState, rows: Rows, labels: Labels, names: list[str]) -> NDArray[np.int64]:
    """Learn rows of counts and add the new categories; return the mistakes per category."""
    mistakes = model.learner.learn_rows(strengthen_rows(model, rows), labels, len(names))
    added = len(names) - len(model.categories)
    if added:
        model.categories = names
        model.decisions = model.decisions.add_categories(added, model.settings.parameters.theta, 1.0)
    return mistakes


def teach_young(model: ModelState, categories: set[int], known: int, taught: list[SampledDocument]) -> None:
    """Train categories that were added after `fit` and have few positives against the documents in the reservoir."""
    young = sorted(c for c in categories if c >= known or is_young(model.learner, c))
    if not young:
        return
    new = {id(document) for document in taught}
    documents = [document for document in model.reservoir.documents if id(document) not in new] + taught
    rows = strengthen_rows(model, make_rows(documents, model.features.vocabulary.count))
    train_against(model.learner, rows, documents, young, len(taught), model.decisions.thresholds)
