"""Render the report as one self-contained HTML page; the command line writes it after an evaluation."""

from base64 import b64encode
from hashlib import sha256
from importlib import import_module, resources
from os import PathLike
from typing import Any

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import MissingPackageError, ParameterError
from thresher.evaluation import Evaluation, Prequential
from thresher.report.filters import FILTERS
from thresher.support.atomic_file import whole_file

# Control characters and lone surrogates, which HTML cannot represent.
_UNPRINTABLE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000)), "\ufffd")


def make_report(
    model: Categorizer,
    documents: list[Document],
    evaluation: Evaluation,
    *,
    title: str = "How the model does",
    prequential: Prequential | None = None,
) -> str:
    """Return an HTML page about a model and its evaluation on these documents.

    Parameters
    ----------
    model : Categorizer
    documents : list of Document
        The evaluated documents, in the same order.
    evaluation : Evaluation
        The result of `thresher.evaluation.evaluate` or `cross_validate`.
    title : str
    prequential : Prequential, optional
        The result of `thresher.evaluation.prequential`; it adds the mistakes over time.

    Notes
    -----
    The same input gives the same bytes. The page makes no network requests, and its Content-Security-Policy forbids
    them.

    Examples
    --------
    >>> from thresher.evaluation import evaluate
    >>> documents = [Document("crude oil", ("energy",)), Document("wheat harvest", ("grain",))] * 5
    >>> model = Categorizer().fit([d.text for d in documents], [d.categories for d in documents])
    >>> make_report(model, documents, evaluate(model, documents))[:15]
    '<!DOCTYPE html>'
    """
    documents = list(documents)
    if len(documents) != len(evaluation.truth):
        problem = f"{len(documents)} documents, and the evaluation is of {len(evaluation.truth)}"
        raise ParameterError(f"there are {problem}", hint="give the documents that were evaluated, in their order")
    if not documents:
        raise ParameterError("there are no documents to report on")
    check_packages()
    from thresher.report.sections import make_sections

    return _render({"title": title} | make_sections(model, documents, evaluation, prequential))


def check_packages() -> None:
    """Raise a MissingPackageError, which says what to install, if a package for reports is missing."""
    for name in ("matplotlib", "jinja2", "markupsafe"):
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            raise MissingPackageError(f"a report needs {name}", hint="pip install 'thresher-text[report]'") from error


def write_report(
    path: str | PathLike[str], model: Categorizer, documents: list[Document], evaluation: Evaluation, **how: Any
) -> None:
    """Write the page of `make_report` to the file `path`.

    `model`, `documents`, `evaluation` and the keyword arguments `how` are passed to `make_report`.
    """
    page = make_report(model, documents, evaluation, **how)
    with whole_file(path) as file:
        file.write(page.encode())


def _render(context: dict[str, Any]) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    script = _read_resource("report.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= FILTERS
    page = environment.from_string(_read_resource("report.html")).render(
        context | {"css": Markup(_read_resource("report.css")), "js": Markup(script), "policy": _make_policy(script)}
    )
    return page.translate(_UNPRINTABLE) + "\n"


def _read_resource(name: str) -> str:
    return resources.files("thresher.report").joinpath(name).read_text(encoding="utf-8")


def _make_policy(script: str) -> str:
    """Return a Content-Security-Policy that forbids network requests and all scripts but this one."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
