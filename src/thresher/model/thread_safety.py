"""Let one thread teach a model while others read views of it.

`lesson` and `reading` detect threads that break this rule, and raise a clear error.
"""

from threading import get_ident

from thresher.errors import RowsError, ThresherError
from thresher.model.state import ModelState


def view(model: ModelState) -> ModelState:
    """Return a view of the model for other threads to predict with while this thread learns."""
    before = model.lessons
    twin = model.copy_for_reading()
    twin.is_torn = is_taught_elsewhere(model) or model.lessons != before  # in this order, as in `reading`
    twin.__dict__.pop("_teacher", None)
    return twin


class lesson:  # noqa: N801 - used like a function, and created for every correction: a generator would be slower
    """Let one thread teach the model at a time; a second thread gets an error immediately."""

    __slots__ = ("_goes_on", "_state")

    def __init__(self, model: ModelState) -> None:
        self._state, mine = model.__dict__, get_ident()
        self._goes_on = self._state.get("_teacher") == mine
        if self._state.setdefault("_teacher", mine) != mine:  # one atomic step
            raise ThresherError("another thread is teaching this model", hint="let one thread teach it")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if not self._goes_on:
            self._state["lessons"] += 1
            del self._state["_teacher"]


class reading:  # noqa: N801 - used like a function, and created for every prediction: a generator would be slower
    """Raise a clear error if reading fails because another thread is teaching the model at the same time."""

    __slots__ = ("_before", "_model")

    def __init__(self, model: ModelState) -> None:
        self._model, self._before = model, model.lessons

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, LookupError | TypeError | ValueError):
            return
        if isinstance(error, ThresherError) and not isinstance(error, RowsError):
            return
        model = self._model
        # In this order: a lesson that ends between the two checks has been counted by then.
        if is_taught_elsewhere(model) or model.lessons != self._before or model.is_torn:
            raise RowsError(
                "another thread is teaching this model", hint="let that thread make a view for other threads"
            ) from error


def is_taught_elsewhere(model: ModelState) -> bool:
    """Return whether another thread is teaching the model now."""
    return bool(model.__dict__.get("_teacher", get_ident()) != get_ident())
