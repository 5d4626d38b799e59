"""Read svmlight files: categories, then features with values instead of text."""

from collections.abc import Iterator
from math import isfinite

from thresher.datasets.columns import checked_categories
from thresher.datasets.document import Document
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError


def read_svmlight(lines: Lines, options: ReadOptions) -> Iterator[Document | DataError]:
    """Yield the document of each line "category,category feature:value ..."; a # begins a comment."""

    def document(number: int, line: bytes) -> Document:
        content = lines.text(line).partition("#")[0].rstrip()
        return _document(content, f"{lines.name}:{number}", str(number), options)

    return (found for found in lines.documents(document) if isinstance(found, DataError) or found.id)


def _document(content: str, place: str, number: str, options: ReadOptions) -> Document:
    names, pairs = "", content.split()
    if not pairs:
        return Document("")
    if not content[0].isspace() and ":" not in pairs[0]:
        names, *pairs = pairs
    features: dict[str, float] = {}
    for pair in pairs:
        feature, colon, value = pair.rpartition(":")
        if feature == "qid":
            continue
        if not colon or not feature or feature in features:
            raise DataError(f"{pair[:50]!r} is not feature:value{', or occurs twice' if feature in features else ''}")
        features[feature] = _number(value, pair)
    categories = checked_categories(names.split(options.separator or ",") if names else [])
    return Document("", categories, number, features=features, place=place)


def _number(value: str, pair: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise DataError(f"{pair[:50]!r} has no finite number after the colon")
    return number
