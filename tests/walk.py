"""Runs the commands that stand in documents, in a terminal of its own, and compares or rewrites what they print.

python tests/walk.py    # writes the outputs in docs/command-line.md anew, and copies the README's from there

A block of ```console holds commands after "$ " and what each prints. A line "..." stands for any lines, and times and
sizes of files may differ.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

WIDTH = 100
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
        else:
            found[-1].printed.append(line)
    return found


def run(line: str, folder: Path) -> tuple[int, list[str]]:
    """Run a command with a terminal for its output, and return its exit code and what it printed."""
    inside, outside = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("THRESHER_DATA", "FORCE_COLOR")}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": str(WIDTH), "LINES": "40"}
    environment |= {"TERM": "dumb", "NO_COLOR": "1", "XDG_CACHE_HOME": str(folder / ".cache")}
    with subprocess.Popen(
        ["bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=outside,
        stderr=subprocess.STDOUT if "2>&1" in line else subprocess.DEVNULL,
    ) as process:  # fmt: skip
        os.close(outside)
        output = b""
        while True:
            try:
                piece = os.read(inside, 2**16)
            except OSError:  # the terminal is closed at the other end
                break
            if not piece:
                break
            output += piece
        os.close(inside)
        code = process.wait()
    return code, [part.rstrip() for part in output.decode().replace("\r\n", "\n").rstrip("\n").split("\n")]


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Tell whether a command printed what stands in the document."""
    pattern = "\n".join(".*" if line == "..." else re.escape(_steady(line)) for line in expected)
    return bool(re.fullmatch(pattern, _steady("\n".join(printed)), re.DOTALL))


def _steady(text: str) -> str:
    return _VARYING.sub("#", text)


def rewritten(document: str, folder: Path) -> str:
    """Return a document with the outputs of its commands as they are now; those with a "..." are left alone."""

    def renewed(block: re.Match[str]) -> str:
        return "".join(map(written, _in_block(block[0])))

    def written(command: Command) -> str:
        _, printed = run(command.line, folder)
        shown = command.printed if "..." in command.printed and agrees(command.printed, printed) else printed
        return "\n".join([f"$ {command.line}", *filter(None, shown)]) + "\n"

    return _BLOCK.sub(renewed, document)


def copied(document: str, page: str) -> str:
    """Return a document whose commands have the outputs that a page has."""
    known = {command.line: command for command in commands(page)}

    def renewed(block: re.Match[str]) -> str:
        found = [known[command.line] for command in _in_block(block[0])]
        return "".join("\n".join([f"$ {command.line}", *command.printed]) + "\n" for command in found)

    return _BLOCK.sub(renewed, document)


def main() -> None:
    """Write all outputs anew."""
    root = Path(__file__).parent.parent
    page, readme = root / "docs" / "command-line.md", root / "README.md"
    with tempfile.TemporaryDirectory() as folder:
        page.write_text(rewritten(page.read_text(), Path(folder)))
    readme.write_text(copied(readme.read_text(), page.read_text()))


if __name__ == "__main__":
    main()
