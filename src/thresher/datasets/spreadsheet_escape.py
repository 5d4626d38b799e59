"""Escape cells that a spreadsheet would run as formulas with an apostrophe, and unescape them when reading."""

from contextlib import suppress

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def escape_formula(cell: str) -> str:
    """Return a cell escaped so that no spreadsheet runs it as a formula; numbers stay unchanged.

    >>> escape_formula("=1+1"), escape_formula("-5"), unescape_formula(escape_formula("=1+1"))
    ("'=1+1", '-5', '=1+1')
    """
    if not cell.lstrip("'").startswith(FORMULA):
        return cell
    with suppress(ValueError):
        float(cell)
        return cell
    return "'" + cell


def unescape_formula(cell: str) -> str:
    """Return the original text of a cell that `escape_formula` escaped."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell
