"""Runs the commands of the documents in a terminal, and compares or rewrites what they print.

python tests/support/console_blocks.py    # rewrites the outputs in the documents

A block of ```console holds commands after "$ " and what each prints; a command that ends in a backslash goes on after
"> ". A line "..." stands for any lines, and times and sizes of files may differ. A command that ends in "&" goes on
beside the others until "kill %1" ends it. What is served, and asked for, at the port 8765 is so at one that is free.
"""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from thresher.cli.app import VERBS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOW_TO = [*(DOCS / "how-to" / f"{verb}.md" for verb in VERBS), DOCS / "how-to" / "reproduce.md"]
HOW_TO += [DOCS / "command-line.md"]
# Each in a folder of its own, its pages one after the other.
WALKS = [HOW_TO, [DOCS / "tutorial.md"], [ROOT / "README.md"]]
WIDTH, PORT = 100, "8765"
QUIET, PATIENCE = 0.5, 60  # seconds without a line that end what a command in the background says; and to wait for it
_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_VARYING = re.compile(r"\d[\d,.]* (?:s|MB|kB)\b")


class Command(NamedTuple):
    """A command, and the lines that it prints."""

    line: str
    printed: list[str]


def commands(document: str) -> list[Command]:
    """Return the commands in a document's blocks."""
    return [command for block in _BLOCK.findall(document) for command in _in_block(block)]


def _in_block(block: str) -> list[Command]:
    found: list[Command] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif line.startswith("> ") and found[-1].line.endswith("\\") and not found[-1].printed:
            found[-1] = Command(f"{found[-1].line}\n{line[2:]}", [])
        else:
            found[-1].printed.append(line)
    return found


class Walk:
    """Commands one after the other in a folder, each in a shell with a terminal for its output."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._beside = folder, list[tuple["subprocess.Popen[bytes]", int]]()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("THRESHER_", "FORCE_COLOR"))}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:{Path(__file__).parent / 'stand_ins'}"
        self._environment = kept | {"PATH": path, "COLUMNS": str(WIDTH), "LINES": "40", "TERM": "dumb", "NO_COLOR": "1"}
        self._environment |= {"XDG_CACHE_HOME": str(folder / ".cache"), "NO_PROXY": "127.0.0.1"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._beside:
            self._end()

    def run(self, line: str) -> tuple[int, list[str]]:
        """Run a command, and return its exit code and what it printed; one that goes on has the code 0."""
        if line == "kill %1":
            return self._end(), []
        process, terminal = self._started(line.removesuffix("&"))
        if line.endswith("&"):
            self._beside.append((process, terminal))
            return 0, self._lines(b"".join(_pieces(terminal, QUIET)))
        output = b"".join(_pieces(terminal))
        os.close(terminal)
        return process.wait(), self._lines(output)

    def _started(self, line: str) -> tuple["subprocess.Popen[bytes]", int]:
        inside, outside = pty.openpty()
        errors = subprocess.STDOUT if "2>&1" in line else subprocess.DEVNULL
        line = line.replace(PORT, self.port).replace("thresher serve", f"thresher serve --port {self.port}")
        process = subprocess.Popen(
            ["bash", "-c", line], cwd=self.folder, env=self._environment,
            stdin=subprocess.DEVNULL, stdout=outside, stderr=errors,
        )  # fmt: skip
        os.close(outside)
        return process, inside

    def _end(self) -> int:
        """End the last command that goes on, as a user would."""
        process, terminal = self._beside.pop()
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
        os.close(terminal)
        return code

    def _lines(self, output: bytes) -> list[str]:
        text = output.decode().replace("\r\n", "\n").replace(self.port, PORT)
        return [part.rstrip() for part in text.rstrip("\n").split("\n")]


def _pieces(terminal: int, quiet: float | None = None) -> Iterator[bytes]:
    """Yield what comes from a terminal: to its end or, once something has come, until it has been quiet for a while."""
    wait: float | None = None if quiet is None else PATIENCE
    while select.select([terminal], [], [], wait)[0]:
        try:
            piece = os.read(terminal, 2**16)
        except OSError:  # the terminal is closed at the other end
            return
        if not piece:
            return
        yield piece
        wait = quiet


def run(line: str, folder: Path) -> tuple[int, list[str]]:
    """Run a single command, and return its exit code and what it printed."""
    with Walk(folder) as walk:
        return walk.run(line)


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Return whether a command printed what the document shows."""
    pattern = "\n".join(".*" if line == "..." else re.escape(_steady(line)) for line in expected)
    return bool(re.fullmatch(pattern, _steady("\n".join(printed)), re.DOTALL))


def _steady(text: str) -> str:
    return _VARYING.sub("#", text)


def rewritten(document: str, walk: Walk) -> str:
    """Return a document with the outputs of its commands as they are now; those that agree are left alone."""

    def renewed(block: re.Match[str]) -> str:
        return "".join(map(written, _in_block(block[0])))

    def written(command: Command) -> str:
        code, printed = walk.run(command.line)
        assert code == 0, command.line
        lines = [line for line in printed if line]
        shown = command.printed if agrees(command.printed, lines) else shortened(lines, command.printed)
        return _as_block(command._replace(printed=[line for line in shown if line]))

    return _BLOCK.sub(renewed, document)


def shortened(printed: list[str], before: list[str]) -> list[str]:
    """Return the printed lines with what a document left out before, by the first words of those that it showed.

    >>> shortened(["a 1", "b 2", "c 3", "d 4"], ["a 0", "...", "d 0"])
    ['a 1', '...', 'd 4']
    """
    shown, place = list[str](), 0
    for line in before if "..." in before else printed:
        if line == "...":
            shown.append(line)
            continue
        places = [i for i in range(place, len(printed)) if printed[i].split()[:1] == line.split()[:1]]
        if not places:
            return printed
        shown.append(printed[places[0]])
        place = places[0] + 1
    return shown


def _as_block(command: Command) -> str:
    return "\n".join(["$ " + command.line.replace("\n", "\n> "), *command.printed]) + "\n"


@contextmanager
def new_walk() -> Iterator[Walk]:
    """Give a walk in a new folder."""
    with tempfile.TemporaryDirectory() as folder, Walk(Path(folder)) as walk:
        yield walk


def main() -> None:
    """Rewrite all outputs."""
    for pages in WALKS:
        with new_walk() as walk:
            for page in pages:
                page.write_text(rewritten(page.read_text(), walk))


if __name__ == "__main__":
    main()
