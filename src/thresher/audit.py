"""What is wrong with a labelled collection: doubtful labels, near-duplicates, leaks, odd categories. The CLI calls it.

Doubtful labels are found by cross-validation in `suspects`, near-duplicates by `near_duplicates`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.category_names import category_set
from thresher.datasets.document import Document
from thresher.errors import DataError, TextError
from thresher.near_duplicates import Links, groups, linked
from thresher.settings import check_settings, complete_settings
from thresher.suspects import FEW_DOCUMENTS, Judged, Suspect, judge
from thresher.text.analysers import Text
from thresher.text.features import TextFeatures
from thresher.tuning import Report, Step

POOR_BREAK_EVEN = 0.3
# More passes learn the wrong labels by heart, fewer learn small collections too little (docs/audit.md).
PASSES = 10
_COMPARED = "words+ngrams:2"


class Finding(NamedTuple):
    """A document that is probably mislabelled.

    Parameters
    ----------
    number, id, place : int, str, str
        Which document, from 0; its id; and where it stands.
    category, kind : str
        "missing" where the category is not given and should be, "wrong" where it is given and should not be.
    probability : float
        The category's, by a model that has not seen the document.
    suspicion : float
        How strongly the document's labels are contradicted; findings stand by it.
    words : list of (str, float)
        Those that made it, with their contributions: for the category of a missing one, against that of a wrong one.
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
    """Documents with nearly the same words; where their categories differ, one of them is wrong.

    Parameters
    ----------
    numbers, ids, places : list
        Which documents, from 0; their ids; and where they stand.
    alike : float
        The Jaccard index of the least alike pair that joined the group: 1 where all have the same words.
    categories, categories_differ : list of list of str, bool
        What each of them has, and whether that is not the same.
    """

    numbers: list[int]
    ids: list[str]
    places: list[str]
    alike: float
    categories: list[list[str]]
    categories_differ: bool


class Overlap(NamedTuple):
    """A test document that is in the training documents too, and the one most like it.

    Parameters
    ----------
    test_number, test_id, training_number, training_id : int, str, int, str
        The two documents.
    alike : float
        The Jaccard index of their words; 1: the same words.
    """

    test_number: int
    test_id: str
    training_number: int
    training_id: str
    alike: float


class CategoryRemark(NamedTuple):
    """What is odd about categories.

    Parameters
    ----------
    kind : str
        "few": too few documents to learn it. "poor": it is not learned well. "same documents": the categories always
        stand together. "same name": they differ only in case or blanks.
    categories, documents : list of str, int
        Which ones, and how many documents they have.
    break_even : float or None
        Of a poor one, in cross-validation.
    """

    kind: str
    categories: list[str]
    documents: int
    break_even: float | None = None


@dataclass(frozen=True)
class Audit:
    """What `audit` found, the most suspicious first.

    Parameters
    ----------
    documents, categories, test_documents : int
        How many there were.
    findings, duplicates, overlaps, remarks : list
        Of `Finding`, `Duplicates`, `Overlap` and `CategoryRemark`.
    without_text, without_categories : list of int, int
        The numbers of documents without a word, from 0; and how many have no category.
    notes : list of str
        Sentences on what could not be looked at.
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
        """Return all of it, or of each list the first `top` entries, as JSON can hold it; counts are always of all."""
        lists: dict[str, Sequence[Any]] = {
            "findings": self.findings,
            "duplicates": self.duplicates,
            "overlaps": self.overlaps,
            "remarks": self.remarks,
        }
        counts = {name: len(found) for name, found in lists.items()}
        kinds = {kind: sum(found.kind == kind for found in self.findings) for kind in ("missing", "wrong")}
        differing = sum(group.categories_differ for group in self.duplicates)
        return {
            "documents": self.documents,
            "categories": self.categories,
            "test_documents": self.test_documents,
            "without_categories": self.without_categories,
            "without_text": self.without_text[:top],
            "counts": counts | kinds | {"duplicates_that_differ": differing, "without_text": len(self.without_text)},
            **{name: [entry._asdict() for entry in found[:top]] for name, found in lists.items()},
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
    """Look through labelled documents for what would mislead a learner, or whoever measures it.

    Parameters
    ----------
    documents : iterable of Document
        The training documents, with texts.
    test : iterable of Document, optional
        Test documents, to be looked for among the training documents.
    preset, **settings
        The model that judges, as for `Categorizer`; of passes it makes at most ten, unless `max_passes` says otherwise.
    folds : int
        Each document is judged by a model trained on the other folds.
    seed : int
        Of the order in which the model learns.
    progress : callable, optional
        Called with a `Step` now and then.

    Examples
    --------
    >>> oil = [Document(f"crude oil rose by {i} dollars a barrel", ("energy",)) for i in range(10)]
    >>> wheat = [Document(f"the wheat harvest of farm {i}", ("grain",)) for i in range(10)]
    >>> found = audit([*oil, *wheat, Document("the wheat harvest was poor", ("energy",), "odd")])
    >>> [(finding.id, finding.kind, finding.category) for finding in found.findings]
    [('odd', 'missing', 'grain'), ('odd', 'wrong', 'energy')]
    """
    training, held_out = list(documents), list(test or ())
    chosen = complete_settings(preset, {"max_passes": PASSES} | settings | {"folds": folds, "seed": seed})
    check_settings(chosen)
    named = _category_sets(training, held_out)
    texts = [document.content for document in training + held_out]
    links, empty = _compared(texts, chosen["n_threads"], progress)
    notes: list[str] = []
    judged = _judged(chosen, texts[: len(training)], named, notes, progress)
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


def _category_sets(training: list[Document], held_out: list[Document]) -> list[list[str]]:
    """Return the categories of the training documents, after the checks that hold for all documents."""
    for number, document in enumerate(training + held_out):
        if document.features is not None:
            where = document.place or f"document {document.id or number}"
            raise DataError(f"{where}: features instead of text (the audit reads words; give it the texts)")
    named = [category_set(document.categories) for document in training]
    if not any(named):
        raise DataError("no document has a category, so there is nothing to audit (name the column of the categories)")
    return named


# -- doubtful labels ---------------------------------------------------------------------------------------------------


def _judged(
    settings: dict[str, Any], texts: list[Text], named: list[list[str]], notes: list[str], progress: Report | None
) -> Judged:
    """Return the suspects and the break-even of each category; where none can be judged, add to the notes why not."""
    try:
        return judge(settings, texts, named, notes, progress)
    except TextError as error:
        notes.append(f"labels were not judged: {error}")
        return Judged([], {})


def _finding(document: Document, suspect: Suspect) -> Finding:
    return Finding(suspect.document, document.id, document.place, *suspect[1:])


# -- near-duplicates ---------------------------------------------------------------------------------------------------


def _compared(texts: list[Text], n_threads: int | None, progress: Report | None) -> tuple[Links, NDArray[np.bool_]]:
    """Return which texts have nearly the same words and pairs of neighbouring words, and which have none."""
    try:
        rows = TextFeatures(_COMPARED, 1, 2**31 - 1, n_threads).fit(texts)
    except TextError:  # no text has a word
        none = Links(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        return none, np.ones(len(texts), dtype=np.bool_)
    links = linked(rows)
    if progress is not None:
        progress(Step("compare", len(texts), len(texts)))
    return links, np.diff(rows.indptr) == 0


def _duplicates(training: list[Document], named: list[list[str]], links: Links) -> list[Duplicates]:
    """Return the groups among the training documents, those whose categories differ first, then the most alike."""
    inside = links.second < len(training)
    found = []
    for numbers, alike in groups(Links._make(array[inside] for array in links)):
        members, categories = [training[i] for i in numbers], [named[i] for i in numbers]
        differ = any(names != categories[0] for names in categories)
        ids, places = [document.id for document in members], [document.place for document in members]
        found.append(Duplicates(numbers, ids, places, alike, categories, differ))
    return sorted(found, key=lambda group: (not group.categories_differ, -group.alike, group.numbers))


def _overlaps(training: list[Document], held_out: list[Document], links: Links) -> list[Overlap]:
    """Return the test documents that are alike to a training document, the most alike first."""
    best: dict[int, tuple[float, int]] = {}
    for first, second, alike in _across(links, len(training)):
        best[second] = max(best.get(second, (0.0, 0)), (alike, -first))
    found = [
        Overlap(second - len(training), held_out[second - len(training)].id, -first, training[-first].id, alike)
        for second, (alike, first) in best.items()
    ]
    return sorted(found, key=lambda overlap: (-overlap.alike, overlap.test_number))


def _across(links: Links, n_training: int) -> list[tuple[int, int, float]]:
    """Return the links from training to test documents, with those that copies share with their originals."""
    pairs = list(zip(links.first.tolist(), links.second.tolist(), links.alike.tolist(), strict=True))
    # A copy is linked to the first document with its words alone, and a training document always comes before.
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
    few = [CategoryRemark("few", [name], size) for name, size in sizes.items() if size < FEW_DOCUMENTS]
    poor = [
        CategoryRemark("poor", [name], sizes[name], value)
        for name, value in sorted(break_evens.items(), key=lambda entry: (entry[1], entry[0]))
        if value < POOR_BREAK_EVEN
    ]
    together = _shared({name: tuple(documents[name]) for name, size in sizes.items() if size > 1})
    spelled = _shared({name: "".join(name.casefold().split()) for name in sizes})
    return [
        *(CategoryRemark("same name", names, sum(sizes[name] for name in names)) for names in spelled),
        *(CategoryRemark("same documents", names, sizes[names[0]]) for names in together),
        *few,
        *poor,
    ]


def _shared(values: dict[str, Any]) -> list[list[str]]:
    """Return the names that have the same value, where there are several.

    >>> _shared({"oil": 1, "Oil": 1, "grain": 2})
    [['oil', 'Oil']]
    """
    names: dict[Any, list[str]] = {}
    for name, value in values.items():
        names.setdefault(value, []).append(name)
    return [found for found in names.values() if len(found) > 1]
