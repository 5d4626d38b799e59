"""Cells that a spreadsheet would take for formulas: an apostrophe before them when written, and gone when read."""

from contextlib import suppress

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defused(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula; numbers stay as they are.

    >>> defused("=1+1"), defused("-5"), restored(defused("=1+1"))
    ("'=1+1", '-5', '=1+1')
    """
    if not cell.lstrip("'").startswith(FORMULA):
        return cell
    with suppress(ValueError):
        float(cell)
        return cell
    return "'" + cell


def restored(cell: str) -> str:
    """Return what a cell was before it was defused."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell
