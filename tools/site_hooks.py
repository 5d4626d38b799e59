"""What the site has beyond Markdown, as hooks of MkDocs: equations as MathML, and the pages above docs/.

MathML is drawn by browsers themselves, so that equations need no script and no network; a forge draws the same source.
"""

import re
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
ABOVE = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}  # on the site, and in the repository
_CELL = re.compile(r"<td.*?</td>", re.DOTALL)
_EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages above docs/, with links that are correct from within."""
    for name, above in ABOVE.items():
        text = (ROOT / above).read_text().replace("](docs/", "](")
        for here, other in ABOVE.items():
            text = text.replace(f"]({other}", f"]({here}")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Turn equations into MathML, and take away the backslashes that only a forge needs for a bar within a cell."""
    return _CELL.sub(lambda cell: cell[0].replace("\\|", "|"), _EQUATION.sub(_as_mathml, html))


def _as_mathml(match: re.Match[str]) -> str:
    tex = unescape(match[3]).strip()
    if match[2] == "(":
        return str(convert(tex))
    return f'<div class="equation">{convert(tex, display="block")}</div>'
