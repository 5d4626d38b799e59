"""`thresher explain`: show the words that decided."""

from typing import TYPE_CHECKING, Annotated

import typer

from thresher.cli.console import Shell, visible_text
from thresher.cli.exit_codes import UsageError
from thresher.cli.loading import load_model
from thresher.cli.options import ModelArgument, Read, is_path, read_all_documents

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.model.explanations import Explanation
    from thresher.text.analysers import Text

_SHOWN = 15


def explain(
    shell: Shell,
    read: Read,
    model: ModelArgument,
    given: Annotated[str, typer.Argument(metavar="TEXT|DATA", help="A text, or data as other verbs take them.")],
    category: Annotated[str | None, typer.Option(help="Explain this category, not the accepted ones.")] = None,
) -> None:
    """Show which words made the scores of a text, and where they are.

    thresher explain desk.thresher "The lamp outside my house is dark again"
    """

    categorizer = load_model(model)
    for name, content in _read_texts(shell, read, given):
        if name and not shell.json:
            shell.say(f"\n{name}", "dim")
        plain = content if isinstance(content, str) else "\n".join(content.values())
        for chosen in [category] if category is not None else _choose_categories(categorizer, content):
            explanation = categorizer.explain(content, chosen)
            if shell.json:
                shell.emit({"id": name} | as_json(explanation))
            else:
                show_explanation(shell, explanation, plain)


def _read_texts(shell: Shell, read: Read, text: str) -> "list[tuple[str, Text]]":
    """Return the documents that an argument names, or the argument itself as a text."""
    from thresher.datasets.reader import CORPORA

    if not text.strip():
        raise UsageError('there is nothing to explain (thresher explain MODEL "a text")')
    if text != "-" and text.partition(":")[0] not in CORPORA and not is_path(text):
        return [("", text)]
    documents = read_all_documents(shell, read(text))
    return [(document.id, document.content) for document in documents]


def _choose_categories(model: "Categorizer", content: "Text") -> "list[str | None]":
    """Return the accepted categories of a text, or None for the best one if none is accepted."""
    prediction = next(model.categorize([content]))
    return [name for name, _, _ in prediction.categories] or [None]


def as_json(explanation: "Explanation") -> dict[str, object]:
    """Return an explanation as a JSON object."""
    names = ("contribution", "strength", "weight", "positions")
    words = [{"word": word.name} | {name: getattr(word, name) for name in names} for word in explanation.words]
    return explanation.verdict() | {"words": words}


def show_explanation(shell: Shell, explanation: "Explanation", text: str, shown: int = _SHOWN) -> None:
    """Write the verdict, the text with its words highlighted, and the words with bars."""
    verdict = "yes" if explanation.accepted else "no"
    if not explanation.words:
        shell.say("no word of this text is known to the model", "bold")
        return
    shell.say(
        f"{explanation.category}: {verdict}, score {explanation.score:.2f}, probability {explanation.probability:.2f}",
        "bold",
    )
    marked = visible_text(text)
    words = explanation.whole_words(text)
    for word in words[:shown]:
        for start, end in word.positions if word.contribution else ():
            marked.stylize("green" if word.contribution > 0 else "magenta", start, end)
    shell.out.print(marked)
    most = max((abs(word.contribution) for word in words), default=0.0) or 1.0
    weighed = [word for word in words if word.contribution]
    rows = [[word.name, f"{word.contribution:+.3f}", _signs(word.contribution / most)] for word in weighed[:shown]]
    if rest := weighed[shown:]:
        rows.append([f"({len(rest):,} more)", f"{sum(word.contribution for word in rest):+.3f}", ""])
    shell.table("", ["word", " contribution", ""], rows)
    shell.say(f"score = 1 + sum {explanation.raw:.3f} - threshold {explanation.threshold:.3f}", "dim")


def _signs(share: float) -> str:
    return ("+" if share > 0 else "-") * max(1, round(abs(share) * 20))
