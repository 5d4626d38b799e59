"""Read plain text, one document per line, and LibMultiLabel files, which add an id and categories to each line."""

from collections.abc import Iterator

from thresher.datasets.columns import check_categories
from thresher.datasets.document import Document
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError


def read_plain(lines: Lines, options: ReadOptions) -> Iterator[Document | DataError]:
    """Yield the document of each line that is not blank, without categories and with the line number as its id."""
    if options.labelled:
        hint = "use CSV, JSONL or __label__NAME before the text"
        raise lines.error(1, "plain text has no place for categories", hint)

    def document(number: int, line: bytes) -> Document:
        return Document(lines.text(line), (), str(number), place=f"{lines.name}:{number}")

    return lines.documents(document)


def read_libmultilabel(lines: Lines, options: ReadOptions) -> Iterator[Document | DataError]:
    """Yield the documents of lines "id TAB categories TAB text"; the id is optional, spaces separate categories."""

    def document(number: int, line: bytes) -> Document:
        cells = lines.text(line).split("\t")
        if len(cells) not in (2, 3):
            problem = f"{len(cells)} columns instead of id, categories and text"
            raise DataError(problem, hint="remove other tabs")
        *id, names, text = cells
        categories = check_categories(names.split(options.separator))
        return Document(text, categories, "".join(id) or str(number), place=f"{lines.name}:{number}")

    return lines.documents(document)
