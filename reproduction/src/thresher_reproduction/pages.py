"""The sections of a reproduction as Markdown and as one HTML page, for `thresher reproduce`."""

import html
import platform
import re
from importlib import metadata, resources

from thresher import __version__
from thresher_reproduction.sections import Section

_STYLE = """
table { border-collapse: collapse; }
th, td { padding: .3rem .8rem; text-align: left; vertical-align: top; }
th { white-space: nowrap; }
th.num, td.num { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tbody tr { border-top: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
section p { margin: .4rem 0; }
figure.plot { max-width: 38rem; }
"""
_PACKAGES = ("numpy", "numba", "scikit-learn", "scipy", "lemminflect", "textblob")


def describe_run(date: str, seconds: float, command: str) -> str:
    """Return a sentence on when, how long and with which versions the experiments ran."""
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in _PACKAGES)
    machine = f"Python {platform.python_version()}, {packages}"
    return f"Made by `{command}` on {date} in {seconds / 60:.1f} minutes, with thresher {__version__}, {machine}."


def render_markdown(title: str, lead: list[str], sections: list[Section]) -> str:
    """Return the sections as Markdown, without plots."""
    parts = [f"# {title}", *lead]
    for section in sections:
        parts += [f"## {section.title}", *section.text]
        if section.rows:
            heads = "| " + " | ".join(_escape_pipes(name.strip()) for name in section.columns) + " |"
            rule = "|" + "|".join("---:" if name.startswith(" ") else "---" for name in section.columns) + "|"
            rows = ["| " + " | ".join(_escape_pipes(cell) for cell in row) + " |" for row in section.rows]
            parts.append("\n".join([heads, rule, *rows]))
    return "\n\n".join(parts) + "\n"


def _escape_pipes(cell: str) -> str:
    return cell.replace("|", "\\|")


def render_html(title: str, lead: list[str], sections: list[Section]) -> str:
    """Return the sections as a self-contained HTML page."""
    style = resources.files("thresher.report").joinpath("report.css").read_text("utf-8") + _STYLE
    links = " ".join(f'<a href="#s{i}">{html.escape(section.title)}</a>' for i, section in enumerate(sections))
    body = "\n".join(_render_section(i, section) for i, section in enumerate(sections))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n"
        f'</head>\n<body>\n<header class="top"><h1>{html.escape(title)}</h1>\n'
        f'{"".join(_render_paragraph(text) for text in lead)}<nav aria-label="Sections">{links}</nav></header>\n'
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _render_section(number: int, section: Section) -> str:
    heads = "".join(_render_cell("th", name.strip(), name.startswith(" ")) for name in section.columns)
    rows = "\n".join(
        "<tr>"
        + "".join(
            _render_cell("td", cell, name.startswith(" ")) for name, cell in zip(section.columns, row, strict=True)
        )
        + "</tr>"
        for row in section.rows
    )
    table = f'<div class="scroll"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'
    plot = f'<figure class="plot">{section.plot}</figure>' if section.plot else ""
    text = "".join(_render_paragraph(part) for part in section.text)
    content = table if section.rows else ""
    heading = f'<h2 id="h{number}">{html.escape(section.title)}</h2>'
    return f'<section id="s{number}" aria-labelledby="h{number}">{heading}{text}{plot}{content}</section>'


def _render_cell(tag: str, cell: str, number: bool) -> str:
    kind = ' class="num"' if number else ""
    return f"<{tag}{kind}>{html.escape(cell)}</{tag}>"


def _render_paragraph(text: str) -> str:
    """Return an HTML paragraph; of Markdown, only code and bold are rendered."""
    safe = html.escape(text)
    return (
        "<p>" + re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", re.sub(r"`(.+?)`", r"<code>\1</code>", safe)) + "</p>"
    )
