"""`thresher demo`: train, measure and explain on two corpora, with a line on each thing that it shows."""

import os
import sys
import time
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from thresher.cli.console import Shell
from thresher.cli.explain import show_explanation
from thresher.cli.options import ForceOption
from thresher.cli.output_files import check_output, output_file

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document

# Published break-even points, in %: the paper's Table 2 (Reuters-22173, Apte's split), and for ModApte of
# Reuters-21578 the range in Sebastiani's survey (2002).
PUBLISHED = (
    ("BalancedWinnow+, the paper (1997)", "83.3"),
    ("Ripper, the paper's table", "79.6"),
    ("SWAP-1, the paper's table", "78.9"),
    ("neural network, the paper's table", "77.5"),
    ("Rocchio, the paper's table", "74.5"),
    ("support vector machines, later", "84.1 to 87.0"),
    ("nearest neighbours, later", "82.0 to 85.6"),
    ("boosted trees, later", "87.8"),
)


class _Corpus(NamedTuple):
    """A corpus of the demo: its parts, the name of its files, what it is, and how many examples are shown."""

    source: str
    name: str
    about: str
    examples: int

    @property
    def test_part(self) -> str:
        return f"{self.source}:test"


_SAMPLE = _Corpus("sample", "desk", "messages to a city's service desk, which come with Thresher", 1)
_REUTERS = _Corpus("reuters21578:modapte", "news", "Reuters-21578, news stories that much research has used", 2)


def demo(
    shell: Shell,
    folder: Annotated[Path, typer.Option(help="Where to write models and reports.")] = Path(),
    force: ForceOption = False,
) -> None:
    """Show what Thresher does, from documents to a report, in half a minute."""
    from thresher.model.compile_ahead import start_compiling

    for corpus in (_SAMPLE, _REUTERS):
        for suffix in ("thresher", "html"):
            check_output(folder / f"{corpus.name}.{suffix}", force)
    start_compiling()
    _show_corpus(shell, _SAMPLE, folder)
    last = _SAMPLE
    if _fetch_reuters(shell):
        last = _REUTERS
        _show_corpus(shell, _REUTERS, folder)
    _show_next_steps(shell, last, folder)


def _fetch_reuters(shell: Shell) -> bool:
    """Return whether Reuters-21578 is available, after trying to get it."""
    from thresher.datasets.corpora.download import fetch
    from thresher.datasets.corpora.reuters21578 import find_collection
    from thresher.errors import ThresherError

    if find_collection() is None:
        shell.remark("getting Reuters-21578, which takes up to half a minute ...")
    try:
        fetch("reuters21578")
    except (ThresherError, OSError):
        shell.remark("Reuters-21578 is not available here (thresher fetch reuters21578 says why)")
        return False
    return True


def _show_corpus(shell: Shell, corpus: _Corpus, folder: Path) -> None:
    """Train on a corpus, measure, and explain decisions on documents that the model has not seen."""
    training, test = _read_documents(f"{corpus.source}:train"), _read_documents(corpus.test_part)
    shell.say(f"\n{corpus.about[0].upper()}{corpus.about[1:]}", "bold")
    model = _train(shell, training, folder / f"{corpus.name}.thresher")
    _evaluate(shell, model, test, corpus, folder / f"{corpus.name}.html")
    for document in _choose_documents(model, test, corpus.examples):
        _show_document(shell, model, document)


def _read_documents(name: str) -> "list[Document]":
    from thresher.datasets.reader import read_documents

    return list(read_documents(name))


def _train(shell: Shell, documents: "list[Document]", path: Path) -> "Categorizer":
    from thresher.categorizer import Categorizer

    start = time.perf_counter()
    with shell.progress() as progress:
        model = Categorizer().fit([d.content for d in documents], [d.categories for d in documents], progress=progress)
    seconds = time.perf_counter() - start
    model.save(path)
    shell.say(f"Learned {len(model.categories)} categories from {len(documents):,} documents in {seconds:.1f} s.")
    return model


def _evaluate(shell: Shell, model: "Categorizer", test: "list[Document]", corpus: _Corpus, path: Path) -> None:
    from thresher.evaluation import evaluate

    evaluation = evaluate(model, test)
    precision, recall, f1 = (f"{100 * evaluation.summary()['micro'][of]:.0f} %" for of in ("precision", "recall", "f1"))
    shell.say(f"On {len(test):,} unseen documents, {precision} of the categories that it assigns are right,")
    shell.say(f"and it finds {recall} of the right ones (F1 {f1}).")
    if corpus is _REUTERS:
        rows = [["Thresher, now", f"{100 * evaluation.pooled_break_even:.1f}"], *map(list, PUBLISHED)]
        shell.table("\nWhere precision and recall are equal, in %, compared with published figures", ["", " "], rows)
        shell.say("(All categories of the split. The paper's own collection is lost; this is its cleaned successor.)")
    try:
        from thresher.report import make_report

        page = make_report(model, test, evaluation, title=f"What the demo learned: {corpus.name}")
    except ImportError as error:
        shell.remark(f"no report: {error}")
        return
    with output_file(path) as file:
        file.write(page.encode())


def _choose_documents(model: "Categorizer", test: "list[Document]", count: int) -> "list[Document]":
    """Return a few short documents with one or two categories each, all different."""
    chosen: list[Document] = []
    seen: set[str] = set()
    for document in test:
        names = model.predict([document.content])[0] if 80 <= len(document.text) <= 600 else []
        if 1 <= len(names) <= 2 and not seen & set(names) and set(names) <= set(document.categories):
            chosen.append(document)
            seen |= set(names)
        if len(chosen) == count:
            break
    return chosen


def _show_document(shell: Shell, model: "Categorizer", document: "Document") -> None:
    content = document.content
    plain = content if isinstance(content, str) else "\n".join(content.values())
    shell.say("\nOne of them, and the words that decided (a category is assigned if its score is above 1):", "dim")
    for name in model.predict([content])[0]:
        show_explanation(shell, model.explain(content, name), plain, shown=5)


def _show_next_steps(shell: Shell, corpus: _Corpus, folder: Path) -> None:
    command = "thresher" if which("thresher") else os.path.relpath(sys.argv[0])
    report = folder / f"{corpus.name}.html"
    shell.say("\nThree things to try next:", "bold")
    shell.say(f"  {command} serve --demo    # opens the page on which people correct, at the address that it prints")
    shell.say(f'  {command} explain {folder / "desk.thresher"} "a message of your own"')
    shell.say(f"  {command} train your.csv -o your.thresher")
    if report.exists():
        shell.say(f"The report on the last model is {report}.")
