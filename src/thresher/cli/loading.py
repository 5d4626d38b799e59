"""Load models for the verbs, with as few imports as possible."""

import gc
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thresher.categorizer import Categorizer
    from thresher.cli.console import Shell
    from thresher.journal.journaled_model import JournaledModel


def load_model(path: Path | str, n_threads: int | None = None) -> "Categorizer":
    """Return the model in a file."""
    with pause_collection():
        import_numba()
        from thresher.categorizer import Categorizer

        return Categorizer.load(path, n_threads=n_threads)


@contextmanager
def pause_collection() -> "Iterator[None]":
    """Collect no garbage while modules and kernels are loaded, which makes many objects and leaves them all in use."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def has_journal(path: Path, folder: Path | None = None) -> bool:
    """Return whether a model file has a journal: in the given folder, or next to the file."""
    from thresher.journal.journal import Journal
    from thresher.journal.journaled_model import journal_folder

    return Journal.is_in(folder or journal_folder(path))


@contextmanager
def open_journaled_model(
    path: Path, shell: "Shell", new: bool | None = None, folder: Path | None = None, anyway: bool = False
) -> "Iterator[JournaledModel]":
    """Yield the model in a file with its journal, and write the journal's remarks."""
    import_numba()
    from thresher.journal.journaled_model import JournaledModel

    journaled_model = JournaledModel(path, folder, new=new, anyway=anyway)
    shown = len(journaled_model.remarks)
    try:
        with journaled_model:
            for remark in journaled_model.remarks[:shown]:
                shell.remark(remark)
            yield journaled_model
    finally:  # remarks added meanwhile
        for remark in journaled_model.remarks[shown:]:
            shell.remark(remark)


@contextmanager
def report_saved_on_failure(journaled_model: "JournaledModel", shell: "Shell", of: str) -> "Iterator[None]":
    """Report how many corrections were saved if the block fails.

    Sent again, they would be saved twice.
    """
    before = journaled_model.position
    try:
        yield
    except BaseException:
        with suppress(Exception):
            if saved := journaled_model.journal.log.last_seq() - before:
                advice = f"do not give that again; thresher journal write {journaled_model.path} writes the model"
                shell.remark(f"{journaled_model.journal.folder}: saved {saved:,} of {of} ({advice})")
        raise


def import_numba() -> None:
    """Import the parts of Numba that kernels need without scipy, which saves a fifth of a second.

    Numba needs scipy only for matrix products. This affects only the command line; in the library, Numba is unchanged.
    """
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
