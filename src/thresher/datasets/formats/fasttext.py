"""Read fastText training files: one document per line, with categories as prefixed words."""

import re
from collections.abc import Iterator

from thresher.datasets.columns import check_categories
from thresher.datasets.document import Document
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError

_IN_WORD = r"[^ \t\v\f\r\0]"  # fastText does not split words at other Unicode spaces


def read_fasttext(lines: Lines, options: ReadOptions) -> Iterator[Document | DataError]:
    """Yield the document of each line that is not blank; as in fastText, categories may be anywhere in the line."""
    category = re.compile(rf"(?<!{_IN_WORD}){re.escape(options.label_prefix)}({_IN_WORD}*)[ \t]?")

    def document(number: int, line: bytes) -> Document:
        content = lines.text(line)
        names = check_categories(category.findall(content))
        return Document(category.sub("", content).strip(), names, str(number), place=f"{lines.name}:{number}")

    return lines.documents(document)
