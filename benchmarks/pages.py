"""Write the tables of a benchmark into a page of the docs, between two marks."""

from pathlib import Path


def write_between(path: Path, name: str, text: str) -> None:
    """Write text between the marks of that name in a page, or a page with nothing else where there is none yet."""
    start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
    page = path.read_text("utf-8") if path.exists() else f"# {name.capitalize()}\n\n{start}\n{end}\n"
    if page.count(start) != 1 or page.count(end) != 1 or page.index(start) > page.index(end):
        raise SystemExit(
            f"{path}: there are no lines {start} and {end} to write between (add them, or name a new file)"
        )
    before, after = page.split(start)[0], page.split(end)[1]
    path.write_text(f"{before}{start}\n{text}{end}{after}", encoding="utf-8")
