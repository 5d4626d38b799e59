"""The layout of the source, a line each, made of the modules' own first lines; `make_pages` puts it into a page."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "thresher"


def _first_line(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text())) or ""
    return said.partition("\n")[0].rstrip(".").replace("|", "\\|")


def _package(folder: Path) -> str:
    inside = sorted(path.stem for path in folder.glob("*.py") if path.name != "__init__.py")
    inside += sorted(f"{path.parent.name}/" for path in folder.glob("*/__init__.py"))
    named = ", ".join(f"`{name}`" for name in inside)
    return f"| `{folder.name}/` | {_first_line(folder / '__init__.py')}. {named} |"


def layout() -> str:
    """Return the table of packages, with the names of their modules, and then that of the modules beside them."""
    packages = [_package(path.parent) for path in sorted(SOURCE.glob("*/__init__.py"))]
    modules = [
        f"| `{path.name}` | {_first_line(path)} |" for path in sorted(SOURCE.glob("*.py")) if path.name != "__init__.py"
    ]
    head = f"| `__init__.py` | {_first_line(SOURCE / '__init__.py')} |"
    return "\n".join(["| in `src/thresher/` | |", "|---|---|", head, *packages, *modules])
