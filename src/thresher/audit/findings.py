"""Audit a labelled collection: doubtful labels, near-duplicates, leaks and odd categories.

`label_errors` finds doubtful labels by cross-validation, and `near_duplicates` finds near-duplicates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.audit.label_errors import MIN_DOCUMENTS, Judgement, Suspect, judge
from thresher.audit.near_duplicates import Links, find_links, group_links
from thresher.datasets.category_names import normalize_categories
from thresher.datasets.document import Document
from thresher.errors import DataError, TextError
from thresher.model.settings import ModelSettings
from thresher.support.progress import Report, Step
from thresher.text.analysers import Text
from thresher.text.vectorizer import TextFeatures

POOR_BREAK_EVEN = 0.3
# More passes memorize the wrong labels, and fewer do not learn small collections well enough (docs/audit.md).
PASSES = 10
_COMPARED = "words+ngrams:2"


class Finding(NamedTuple):
    """A document that is probably mislabelled.

    Parameters
    ----------
    number, id, place : int, str, str
        The document's number, from 0; its id; and its place in the source.
    category, kind : str
        "missing" if the category is not given and should be, "wrong" if it is given and should not be.
    probability : float
        The category's probability, by a model that has not seen the document.
    suspicion : float
        How strongly the model contradicts the document's labels. Findings are sorted by it.
    words : list of (str, float)
        The decisive words with their contributions: for a missing category, or against a wrong one.
    """

    number: int
    id: str
    place: str
    category: str
    kind: str
    probability: float
    suspicion: float
    words: list[tuple[str, float]]


class Duplicates(NamedTuple):
    """Documents with nearly the same words; if their categories differ, one of them is wrong.

    Parameters
    ----------
    numbers, ids, places : list
        The documents' numbers, from 0; their ids; and their places in the source.
    alike : float
        The Jaccard index of the least similar pair that joined the group; 1 if all have the same words.
    categories, categories_differ : list of list of str, bool
        The categories of each document, and whether they differ.
    """

    numbers: list[int]
    ids: list[str]
    places: list[str]
    alike: float
    categories: list[list[str]]
    categories_differ: bool


class Overlap(NamedTuple):
    """A test document that is also in the training documents, and the training document most similar to it.

    Parameters
    ----------
    test_number, test_id, training_number, training_id : int, str, int, str
        The two documents.
    alike : float
        The Jaccard index of their words; 1 if they have the same words.
    """

    test_number: int
    test_id: str
    training_number: int
    training_id: str
    alike: float


class CategoryRemark(NamedTuple):
    """A remark on odd categories.

    Parameters
    ----------
    kind : str
        "few": too few documents to learn the category. "poor": the model does not learn it well. "same documents": the
        categories always occur together. "same name": they differ only in case or blanks.
    categories, documents : list of str, int
        The categories, and their number of documents.
    break_even : float or None
        The break-even point of a poor category in cross-validation.
    """

    kind: str
    categories: list[str]
    documents: int
    break_even: float | None = None


@dataclass(frozen=True)
class Audit:
    """The result of `audit`, the most suspicious findings first.

    Parameters
    ----------
    documents, categories, test_documents : int
        The numbers of documents and categories.
    findings, duplicates, overlaps, remarks : list
        Of `Finding`, `Duplicates`, `Overlap` and `CategoryRemark`.
    without_text, without_categories : list of int, int
        The numbers of the documents without a word, from 0; and the count of those without a category.
    notes : list of str
        Sentences on parts that could not be audited.
    """

    documents: int
    categories: int
    test_documents: int
    findings: list[Finding]
    duplicates: list[Duplicates]
    overlaps: list[Overlap]
    remarks: list[CategoryRemark]
    without_text: list[int]
    without_categories: int
    notes: list[str] = field(default_factory=list)

    def summary(self, top: int | None = None) -> dict[str, Any]:
        """Return the result as JSON values, with the `top` first entries of each list or all; counts cover all."""
        lists: dict[str, Sequence[Any]] = {
            "findings": self.findings,
            "duplicates": self.duplicates,
            "overlaps": self.overlaps,
            "remarks": self.remarks,
        }
        counts = {name: len(entries) for name, entries in lists.items()}
        kinds = {kind: sum(finding.kind == kind for finding in self.findings) for kind in ("missing", "wrong")}
        differing = sum(group.categories_differ for group in self.duplicates)
        return {
            "documents": self.documents,
            "categories": self.categories,
            "test_documents": self.test_documents,
            "without_categories": self.without_categories,
            "without_text": self.without_text[:top],
            "counts": counts | kinds | {"duplicates_that_differ": differing, "without_text": len(self.without_text)},
            **{name: [entry._asdict() for entry in entries[:top]] for name, entries in lists.items()},
            "notes": self.notes,
        }


def audit(
    documents: Iterable[Document],
    test: Iterable[Document] | None = None,
    *,
    preset: str = "default",
    folds: int = 5,
    seed: int = 0,
    progress: Report | None = None,
    **settings: Any,
) -> Audit:
    """Look for problems in labelled documents that would mislead a learner or an evaluation.

    Parameters
    ----------
    documents : iterable of Document
        The training documents, with texts.
    test : iterable of Document, optional
        Test documents to look for among the training documents.
    preset, **settings
        Those of the model that judges, as for `Categorizer`. It makes at most ten passes unless `max_passes` is given.
    folds : int
        Each document is judged by a model trained on the other folds.
    seed : int
        The seed of the order in which the model learns.
    progress : callable, optional
        Called with a `Step` from time to time.

    Examples
    --------
    >>> oil = [Document(f"crude oil rose by {i} dollars a barrel", ("energy",)) for i in range(10)]
    >>> wheat = [Document(f"the wheat harvest of farm {i}", ("grain",)) for i in range(10)]
    >>> found = audit([*oil, *wheat, Document("the wheat harvest was poor", ("energy",), "odd")])
    >>> [(finding.id, finding.kind, finding.category) for finding in found.findings]
    [('odd', 'missing', 'grain'), ('odd', 'wrong', 'energy')]
    """
    training, held_out = list(documents), list(test or ())
    chosen = ModelSettings.complete(preset, {"max_passes": PASSES} | settings | {"folds": folds, "seed": seed})
    if chosen.learner == "regularized-winnow" and "tolerance" not in settings:
        chosen = chosen.replace({"tolerance": 0.0})  # a doubtful label is found by the small moves too
    named = _category_sets(training)
    texts = [document.content for document in training + held_out]
    links, empty = _find_near_duplicates(texts, chosen.parameters.n_threads, progress)
    notes: list[str] = []
    judged = _judge_labels(chosen, texts[: len(training)], named, notes, progress)
    return Audit(
        documents=len(training),
        categories=len({name for names in named for name in names}),
        test_documents=len(held_out),
        findings=[_finding(training[suspect.document], suspect) for suspect in judged.suspects],
        duplicates=_duplicates(training, named, links),
        overlaps=_overlaps(training, held_out, links),
        remarks=_remarks(named, judged.break_evens),
        without_text=np.flatnonzero(empty[: len(training)]).tolist(),
        without_categories=sum(not names for names in named),
        notes=notes,
    )


def _category_sets(training: list[Document]) -> list[list[str]]:
    """Return the categories of the training documents, or raise a DataError if there are none."""
    named = [normalize_categories(document.categories) for document in training]
    if not any(named):
        raise DataError(
            "no document has a category, so there is nothing to audit", hint="name the column of the categories"
        )
    return named


# -- doubtful labels ---------------------------------------------------------------------------------------------------


def _judge_labels(
    settings: ModelSettings, texts: list[Text], named: list[list[str]], notes: list[str], progress: Report | None
) -> Judgement:
    """Return the suspects and the break-even point of each category; if none can be judged, add why to `notes`."""
    try:
        return judge(settings, texts, named, notes, progress)
    except TextError as error:
        notes.append(f"labels were not judged: {error}")
        return Judgement([], {})


def _finding(document: Document, suspect: Suspect) -> Finding:
    return Finding(suspect.document, document.id, document.place, *suspect[1:])


# -- near-duplicates ---------------------------------------------------------------------------------------------------


def _find_near_duplicates(
    texts: list[Text], n_threads: int | None, progress: Report | None
) -> tuple[Links, NDArray[np.bool_]]:
    """Return which texts have nearly the same words and word pairs, and which texts have no words."""
    try:
        rows = TextFeatures(_COMPARED, 1, 2**31 - 1, n_threads).fit(texts)
    except TextError:  # no text has a word
        none = Links(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        return none, np.ones(len(texts), dtype=np.bool_)
    links = find_links(rows)
    if progress is not None:
        progress(Step("compare", len(texts), len(texts)))
    return links, np.diff(rows.indptr) == 0


def _duplicates(training: list[Document], named: list[list[str]], links: Links) -> list[Duplicates]:
    """Return the groups among the training documents, those with differing categories first, then the most similar."""
    inside = links.second < len(training)
    duplicates = []
    for numbers, alike in group_links(Links._make(array[inside] for array in links)):
        members, categories = [training[i] for i in numbers], [named[i] for i in numbers]
        differ = any(names != categories[0] for names in categories)
        ids, places = [document.id for document in members], [document.place for document in members]
        duplicates.append(Duplicates(numbers, ids, places, alike, categories, differ))
    return sorted(duplicates, key=lambda group: (not group.categories_differ, -group.alike, group.numbers))


def _overlaps(training: list[Document], held_out: list[Document], links: Links) -> list[Overlap]:
    """Return the test documents that are similar to a training document, the most similar first."""
    best: dict[int, tuple[float, int]] = {}
    for first, second, alike in _across(links, len(training)):
        best[second] = max(best.get(second, (0.0, 0)), (alike, -first))
    overlaps = [
        Overlap(second - len(training), held_out[second - len(training)].id, -first, training[-first].id, alike)
        for second, (alike, first) in best.items()
    ]
    return sorted(overlaps, key=lambda overlap: (-overlap.alike, overlap.test_number))


def _across(links: Links, n_training: int) -> list[tuple[int, int, float]]:
    """Return the links from training to test documents, including those that copies share with their originals."""
    pairs = list(zip(links.first.tolist(), links.second.tolist(), links.alike.tolist(), strict=True))
    # A copy is linked only to the first document with its words, and training documents always come first.
    copies: dict[int, list[int]] = {}
    for first, second, alike in pairs:
        if alike == 1:
            copies.setdefault(first, []).append(second)
    spread = [(first, copy, alike) for first, second, alike in pairs for copy in [second, *copies.get(second, ())]]
    return [pair for pair in spread if pair[0] < n_training <= pair[1]]


# -- categories --------------------------------------------------------------------------------------------------------


def _remarks(named: list[list[str]], break_evens: dict[str, float]) -> list[CategoryRemark]:
    documents: dict[str, list[int]] = {}
    for number, names in enumerate(named):
        for name in names:
            documents.setdefault(name, []).append(number)
    sizes = {name: len(documents[name]) for name in sorted(documents)}
    few = [CategoryRemark("few", [name], size) for name, size in sizes.items() if size < MIN_DOCUMENTS]
    poor = [
        CategoryRemark("poor", [name], sizes[name], value)
        for name, value in sorted(break_evens.items(), key=lambda entry: (entry[1], entry[0]))
        if value < POOR_BREAK_EVEN
    ]
    together = _group_by_value({name: tuple(documents[name]) for name, size in sizes.items() if size > 1})
    spelled = _group_by_value({name: "".join(name.casefold().split()) for name in sizes})
    return [
        *(CategoryRemark("same name", names, sum(sizes[name] for name in names)) for names in spelled),
        *(CategoryRemark("same documents", names, sizes[names[0]]) for names in together),
        *few,
        *poor,
    ]


def _group_by_value(values: dict[str, Any]) -> list[list[str]]:
    """Return the groups of names that have the same value.

    >>> _group_by_value({"oil": 1, "Oil": 1, "grain": 2})
    [['oil', 'Oil']]
    """
    names: dict[Any, list[str]] = {}
    for name, value in values.items():
        names.setdefault(value, []).append(name)
    return [group for group in names.values() if len(group) > 1]
