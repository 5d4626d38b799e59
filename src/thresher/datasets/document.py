"""The `Document` class, which readers yield and which writers, evaluation and audit take."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_ABOUT = ("dateline",)


class Document(NamedTuple):
    """A `text` with zero or more `categories`, and an `id` if it has one.

    `fields` holds the parts of the text by name ("title", "body") if the source separates them. `columns` is the record
    as it was read, so that writers can keep a user's own columns. `place` is the position in the source, as
    "FILE:LINE".

    >>> Document("wheat rose", ("grain",), "7").categories
    ('grain',)
    """

    text: str
    categories: tuple[str, ...] = ()
    id: str = ""
    fields: Mapping[str, str] | None = None
    columns: Mapping[str, Any] | None = None
    place: str = ""

    @property
    def content(self) -> str | Mapping[str, str]:
        """The input of a model: the fields without metadata such as the dateline, or the text if there are none."""
        if not self.fields:
            return self.text
        return {name: part for name, part in self.fields.items() if name not in _ABOUT} or self.text
