"""Read the contents, names and categories of labelled documents for an evaluation."""

from collections.abc import Iterable, Iterator, Sequence

from thresher.datasets.category_names import normalize_categories
from thresher.datasets.document import Document
from thresher.metrics import Truth
from thresher.rows.labels import as_truth, number_categories
from thresher.support.progress import Report, Step
from thresher.text.analysers import Text


class Labelled:
    """Collects the names and categories of documents while their contents are read."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.categories: list[list[str]] = []

    def contents(self, documents: Iterable[Document], progress: Report | None) -> Iterator[Text]:
        """Yield the content of each document."""
        total = len(documents) if isinstance(documents, Sequence) else 0
        for number, document in enumerate(documents, 1):
            self.ids.append(name_document(number, document))
            self.categories.append(normalize_categories(document.categories))
            yield document.content
            if progress is not None and (number % 1000 == 0 or number == total):
                progress(Step("evaluate", number, total))


def name_document(number: int, document: Document) -> str:
    """Return a name for a document: its id, its place or its number."""
    return document.id or document.place or str(number)


def make_truth(labels: list[list[str]], names: list[str]) -> Truth:
    """Return which of the named categories each document has."""
    return as_truth(number_categories(labels, names), len(names))
