"""Models from files, for the verbs that look or learn: read with the least that the command line needs."""

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.cli.options import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thresher.categorizer import Categorizer
    from thresher.cli.shell import Shell
    from thresher.desk import Desk


def loaded_model(path: Path | str, threads: str | None = None) -> "Categorizer":
    """Return the model in a file; `threads` as the option gave them."""
    count = whole_number("--threads", threads)
    import_numba()
    from thresher.categorizer import Categorizer

    return Categorizer.load(path, n_threads=count)


def has_journal(path: Path, folder: Path | None = None) -> bool:
    """Tell whether there is a journal of a model file: in a folder, or beside the file."""
    from thresher.desk import journal_folder
    from thresher.journal import Journal

    return Journal.is_in(folder or journal_folder(path))


@contextmanager
def opened_desk(
    path: Path, shell: "Shell", new: bool | None = None, folder: Path | None = None, anyway: bool = False
) -> "Iterator[Desk]":
    """Give the model in a file with its journal, and say what the journal has to remark."""
    import_numba()
    from thresher.desk import Desk

    desk = Desk(path, folder, new=new, anyway=anyway)
    told = len(desk.remarks)
    try:
        with desk:
            for remark in desk.remarks[:told]:
                shell.remark(remark)
            yield desk
    finally:  # of what came up meanwhile
        for remark in desk.remarks[told:]:
            shell.remark(remark)


@contextmanager
def saying_what_is_kept(desk: "Desk", shell: "Shell", of: str) -> "Iterator[None]":
    """Say, if the block does not come to its end, what it kept all the same: given again, that would be kept twice."""
    before = desk.position
    try:
        yield
    except BaseException:
        with suppress(Exception):
            if kept := desk.journal.last() - before:
                advice = f"do not give that again; thresher journal write {desk.path} writes the model"
                shell.remark(f"{desk.journal.folder}: has kept {kept:,} of {of} ({advice})")
        raise


def import_numba() -> None:
    """Import what kernels need of Numba without scipy, which it asks only for matrix products: a fifth of a second.

    That is for this process alone: where the library is used, Numba stays as it is.
    """
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
