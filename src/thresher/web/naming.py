"""Names of categories as people type them: which are known, which may be new, and what was meant by the others."""

import difflib
import unicodedata
from collections.abc import Sequence

from thresher.web.problems import Problem

COMPARED = 500  # names
_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(name: str) -> str:
    """Return a name as it is kept: composed, and without blanks around it."""
    return unicodedata.normalize("NFC", name).strip()


def known_name(name: str, known: Sequence[str], *, create: bool) -> str:
    """Return a category's name as it is known or, if it may be created, as a new one has it."""
    new = clean(name)
    if name in known or new in known:
        return name if name in known else new
    check_new(new, known)
    if not create:
        raise Problem(422, "a category is unknown (create_category makes it)", nearest=nearest(new, known))
    return new


def check_known(name: str, known: Sequence[str]) -> None:
    """Refuse a name that no category has."""
    if name not in known:
        raise Problem(404, "there is no category of this name", nearest=nearest(name, known))


def check_new(name: str, known: Sequence[str], but: Sequence[str] = ()) -> None:
    """Refuse a name that a category may not have, or that there is in other letters; `but` some may be like it."""
    check_visible(name)
    twins = [other for other in known if other.casefold() == name.casefold()]
    if [other for other in twins if other not in but and other != name]:
        raise Problem(409, "this category is known in other letters", nearest=twins)


def check_visible(name: str) -> None:
    """Refuse a name that holds what cannot be seen; marks of direction are part of some scripts."""
    if any(unicodedata.category(letter) in ("Cc", "Cf") and letter not in _DIRECTIONS for letter in name):
        raise Problem(422, "a category's name holds letters that cannot be seen")


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """Return the names most like one; of very many only those about as long, for to compare two takes long."""
    if len(known) > COMPARED:
        known = sorted(known, key=lambda other: abs(len(other) - len(name)))[:COMPARED]
    return difflib.get_close_matches(name, known, n=5, cutoff=0.5)
