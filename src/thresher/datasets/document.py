"""What every reader yields, and what writers, evaluation and audit take: a document."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_ABOUT = ("dateline",)


class Document(NamedTuple):
    """A `text` with zero or more `categories`, and an `id` if it has one.

    `fields` holds the parts of the text by name ("title", "body"), where the source tells them apart. `features` holds
    names and values instead of text, as svmlight files do. `columns` is the record as it was read, so that writers
    can keep a user's own columns. `place` is where it stands, as "FILE:LINE".

    >>> Document("wheat rose", ("grain",), "7").categories
    ('grain',)
    """

    text: str
    categories: tuple[str, ...] = ()
    id: str = ""
    fields: Mapping[str, str] | None = None
    features: Mapping[str, float] | None = None
    columns: Mapping[str, Any] | None = None
    place: str = ""

    @property
    def content(self) -> str | Mapping[str, str]:
        """What a model reads: the fields, or the text where there are none; not those fields that only tell of it."""
        if not self.fields:
            return self.text
        return {name: part for name, part in self.fields.items() if name not in _ABOUT} or self.text
