"""Writes the parts of the documents that the code itself knows: options of verbs, routes of the service, the layout.

.venv/bin/python tools/make_pages.py    # rewrites them between their marks; a test compares

A part stands between <!-- NAME: start --> and <!-- NAME: end -->.
"""

import re
from pathlib import Path

import layout_parts
import route_parts
import verb_parts

DOCS = Path(__file__).parent.parent / "docs"


def make_parts() -> dict[Path, dict[str, str]]:
    """Return the text that each page has between its marks."""
    parts = {DOCS / "how-to" / f"{name}.md": {"options": text} for name, text in verb_parts.options().items()}
    parts[DOCS / "command-line.md"] = {"verbs": verb_parts.verbs(), "shared": verb_parts.shared_options()}
    parts[DOCS / "api.md"] = {"routes": route_parts.routes()}
    parts[DOCS / "architecture.md"] = {"layout": layout_parts.layout()}
    return parts


def replace_parts(page: str, parts: dict[str, str]) -> str:
    """Return a page with its parts as they should be; a part whose marks are missing is an error."""
    for name, text in parts.items():
        marks = re.compile(rf"(<!-- {name}: start -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
        page, count = marks.subn(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"the marks of {name!r} appear {count} times in a page (expected: once)")
    return page


def main() -> None:
    """Write all parts again, and the drawing of the layers."""
    for path, parts in make_parts().items():
        path.write_text(replace_parts(path.read_text(), parts))
    layout_parts.DRAWING.write_text(layout_parts.drawing())


if __name__ == "__main__":
    main()
