"""The packages by layer, as a table and as a drawing, from the import contract; `make_pages` writes them."""

import ast
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "thresher"
DRAWING = ROOT / "docs" / "architecture.svg"
_WIDTH, _HEIGHT, _GAP, _EDGE = 880, 54, 12, 24
_STYLE = """
:root{--paper:#ffffff;--ink:#1b1f24;--muted:#5d666f;--line:#b9c2ca;--quiet:#f6f7f9;--for:#0b65a8;--tint:#e6f0f8}
@media (prefers-color-scheme:dark){
:root{--paper:#14171a;--ink:#e6e9ec;--muted:#a3adb7;--line:#4a545d;--quiet:#1c2126;--for:#62b3ef;--tint:#172a3a}
}
svg{background:var(--paper);font-family:system-ui,sans-serif}
.b{fill:var(--quiet);stroke:var(--line)} .k{fill:var(--tint);stroke:var(--for);stroke-width:1.5}
.t{font-size:14px;font-weight:600;fill:var(--ink);text-anchor:middle}
.s{font-size:11.5px;fill:var(--muted);text-anchor:middle}
.a{stroke:var(--muted);stroke-width:1.3} marker path{fill:var(--muted)}
"""
_SUBJECTS = {
    "cli": "one function per command",
    "web": "HTTP API and page",
    "cluster": "the same training on Dask",
    "report": "one HTML page",
    "sklearn": "estimators",
    "evaluation": "how well a model does",
    "audit": "label errors, duplicates",
    "journal": "corrections, undo, replay",
    "categorizer": "the one object that every shell uses",
    "model_file": "data, never code",
    "model": "training, scoring, learning from corrections, explanations",
    "metrics": "measures",
    "text": "texts to features",
    "learners": "weights, fit, score",
    "datasets": "files to documents",
    "rows": "documents as sparse rows",
    "kernels": "compiled loops over arrays: the same bits on every machine",
    "support": "files, threads, progress: nothing of text categorization",
    "errors": "the exceptions that the library raises",
}


def layers() -> list[list[str]]:
    """Return the packages by layer, from the top one down."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [[name.strip().removeprefix("thresher.") for name in layer.split("|")] for layer in contracts[0]["layers"]]


def _first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return docstring.partition("\n")[0].rstrip(".").replace("|", "\\|")


def layout() -> str:
    """Return the table of packages."""
    lines = ["| in `src/thresher/` | |", "|---|---|"]
    for name in (name for layer in layers() for name in layer):
        package = SOURCE / name
        if package.is_dir():
            lines.append(f"| `{name}/` | {_first_line(package / '__init__.py')} |")
        else:
            lines.append(f"| `{name}.py` | {_first_line(package.with_suffix('.py'))} |")
    return "\n".join(lines)


def drawing() -> str:
    """Return the layers as an SVG."""
    rows, step = layers(), _HEIGHT + 2 * _GAP
    height = len(rows) * step - 2 * _GAP + 2 * _EDGE
    parts = []
    for i, names in enumerate(rows):
        top, width = _EDGE + i * step, (_WIDTH - 2 * _EDGE - (len(names) - 1) * _GAP) / len(names)
        for j, name in enumerate(names):
            left = _EDGE + j * (width + _GAP)
            kind = "k" if name == "categorizer" else "b"
            shown = "Categorizer" if name == "categorizer" else name
            parts.append(f'<rect class="{kind}" x="{left:g}" y="{top}" width="{width:g}" height="{_HEIGHT}" rx="6"/>')
            parts.append(f'<text class="t" x="{left + width / 2:g}" y="{top + 23}">{shown}</text>')
            parts.append(f'<text class="s" x="{left + width / 2:g}" y="{top + 41}">{escape(_SUBJECTS[name])}</text>')
        if i:
            middle = _WIDTH / 2
            ends = f'x1="{middle:g}" y1="{top - 2 * _GAP + 2}" x2="{middle:g}" y2="{top - 3}"'
            parts.append(f'<line class="a" {ends} marker-end="url(#m)"/>')
    label = "The packages of Thresher in layers: each imports only from the layers below it"
    marker = (
        '<defs><marker id="m" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{label}">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", marker, *parts, "</svg>", ""])
