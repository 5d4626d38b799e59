"""Output of the verbs: tables for users, JSON lines for pipes, progress and remarks on standard error."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from thresher.datasets.reader import Reading
    from thresher.support.progress import Step

_MAX_REMARKS = 3
_MIN_TEXT_WIDTH = 16  # minimum width of a text column in a table that is too wide
_VISIBLE: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(32)},
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    0x7F: 0x2421,
    **{code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},  # they reorder the text
    **dict.fromkeys(map(ord, "\t\r"), " "),
    ord("\n"): "\n",
}
_output_option = partial(typer.Option, rich_help_panel="Output options", show_default=False)
_SECONDS_BETWEEN_LINES = 5.0  # of progress, if no bar can be drawn


class _Notices(logging.Handler):
    """A logging handler that writes messages as remarks."""

    def __init__(self, shell: "Shell") -> None:
        super().__init__()
        self.shell = shell

    def emit(self, record: logging.LogRecord) -> None:
        """Write the message as a remark."""
        self.shell.remark(record.getMessage())


def _show_notices(shell: "Shell") -> None:
    for name in ("thresher.kernels", "thresher.cli"):
        logger = logging.getLogger(name)
        logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, _Notices)]
        logger.addHandler(_Notices(shell))
        logger.setLevel(logging.INFO)
        logger.propagate = False


class Shell:
    """The output of a verb: answers and remarks; a group of options.

    `thresher.cli.run` itself looks for --debug, which also concerns the other options.
    """

    def __init__(
        self,
        json: Annotated[bool | None, _output_option("--json/--no-json", help="JSON lines, as when piped.")] = None,
        quiet: Annotated[bool, _output_option("--quiet", "-q", help="No progress and no remarks.")] = False,
        debug: Annotated[bool, _output_option("--debug", help="Show a traceback with an error.")] = False,
    ) -> None:
        self.json = not sys.stdout.isatty() if json is None else json
        self.quiet = quiet
        self.out = Console(highlight=False, soft_wrap=True, emoji=False)
        self.err = _Remarks(stderr=True, highlight=False, soft_wrap=True, emoji=False)
        if sys.stderr is not None and sys.stderr.isatty():
            _show_notices(self)

    def emit(self, record: dict[str, Any]) -> None:
        """Write one line of JSON."""
        from thresher.datasets.writer import json_line
        from thresher.errors import DataError

        try:
            line = json_line(record)
        except DataError:
            line = json_line(_encodable(record))
        sys.stdout.buffer.write(line)

    def answer(self, record: dict[str, Any], text: str) -> None:
        """Write the result of a verb: a record as JSON, or a text for the user."""
        if self.json:
            self.emit(record)
        else:
            self.say(text)

    def flush(self) -> None:
        """Flush standard output."""
        sys.stdout.flush()

    def say(self, text: str, style: str = "") -> None:
        """Write a line of text for the user, unchanged."""
        self.out.print(visible_text(text), style=style or None, markup=False)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Write a table for the user; a column whose name begins with a blank holds numbers."""
        shown = visible_text(title, "bold") if title else None
        table = Table(title=shown, title_justify="left", box=None, pad_edge=False)
        cells = _shorten_text(columns, [list(row) for row in rows], self.out.width)
        for i, name in enumerate(columns):
            number, longest = name.startswith(" "), max((len(row[i]) for row in cells), default=0)
            justify: Any = "right" if number else "left"
            least = min(longest, _MIN_TEXT_WIDTH)
            table.add_column(name.strip(), justify=justify, no_wrap=number, overflow="fold", min_width=least)
        for row in cells:
            table.add_row(*(visible_text(cell) for cell in row))
        self.out.print(table)

    def remark(self, text: str) -> None:
        """Write a line to standard error, unless output is quiet."""
        if not self.quiet:
            self.err.print(visible_text(text), markup=False)

    def remarks_on(self, reading: "Reading") -> None:
        """Report what a reading skipped or noticed; skipped records are reported even if output is quiet."""
        from thresher.cli.exit_codes import format_library_error

        for error in reading.first_skipped:
            self.err.print(visible_text(f"skipped {format_library_error(error)}"))
        if reading.skipped:
            count = f"{reading.skipped} bad records skipped, {reading.documents} documents read"
            self.err.print(visible_text(f"{reading.name}: {count}"))
        for message in reading.warnings[:_MAX_REMARKS]:
            self.remark(message)
        if reading.n_warnings > _MAX_REMARKS:
            self.remark(f"{reading.name}: {reading.n_warnings - _MAX_REMARKS} more remarks like these")
        if reading.repeated:
            self.remark(f"{reading.name}: {reading.repeated} documents repeat an earlier text")

    @contextmanager
    def progress(self) -> Iterator["BarProgress | LineProgress | None"]:
        """Yield a progress callback for a long call; None if output is quiet."""
        if self.quiet:
            yield None
        elif self.err.is_terminal:
            with _make_bar(self.err) as bar:
                yield BarProgress(bar)
        else:
            yield LineProgress(self.err)


def _shorten_text(columns: Sequence[str], rows: list[list[str]], width: int) -> list[list[str]]:
    """Truncate the cells of a column called text so that each row fits on one line."""
    if "text" not in columns:
        return rows
    text = columns.index("text")
    others = [max(len(name), *(len(row[c]) for row in rows)) for c, name in enumerate(columns) if c != text and rows]
    room = max(width - sum(others) - 2 * len(others), 20)
    for row in rows:
        row[text] = row[text] if len(row[text]) <= room else row[text][: room - 1] + "…"
    return rows


class _Remarks(Console):
    """Standard error; a closed pipe does not stop the work."""

    def on_broken_pipe(self) -> None:
        """Stop writing."""
        self.quiet = True


def visible_text(text: str, style: str = "") -> Text:
    """Return a text unchanged for the terminal: brackets are not markup, and control characters become visible."""
    return Text(text.translate(_VISIBLE), style)


def _encodable(value: Any) -> Any:
    """Return a record with file names escaped that are not UTF-8, so that finished work is always reported."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {name: _encodable(one) for name, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list) else value


class LineProgress:
    """Progress as a line from time to time."""

    def __init__(self, console: Console) -> None:
        self._console, self._stage, self._last = console, "", time.monotonic()

    def __call__(self, step: "Step") -> None:
        """Write a line if the last one is some seconds old."""
        if time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            of = f" of {step.total:,}" if step.total else ""
            self._console.print(f"{step.stage}: {step.done:,}{of}{_format_mistakes(step)}", markup=False)


class BarProgress:
    """A progress bar for each stage, with the speed, the time left and the mistakes so far."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._tasks = bar, dict[str, Any]()

    def __call__(self, step: "Step") -> None:
        """Update the stage's bar."""
        if step.stage not in self._tasks:
            self._tasks[step.stage] = self._bar.add_task(step.stage, total=step.total or None, note="")
        self._bar.update(
            self._tasks[step.stage],
            completed=step.done,
            total=step.total or None,
            note=_format_mistakes(step).lstrip(", "),
        )


def _format_mistakes(step: "Step") -> str:
    return f", {step.mistakes:,} mistakes" if step.mistakes else ""


def _make_bar(console: Console) -> Any:
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    columns = (
        TextColumn("{task.description:12}"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed:,.0f}"),
        Speed(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}"),
    )
    return Progress(*columns, console=console, transient=True)
