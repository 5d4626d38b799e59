"""`thresher serve`: run the HTTP API and the web page for a model and its journal."""

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.loading import import_numba
from thresher.cli.option_values import integer
from thresher.cli.options import JournalAnywayOption, NewJournalOption, Read, read_all_documents
from thresher.errors import DataError, JournalBusyError, MissingPackageError, TextError
from thresher.support.units import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from thresher.datasets.document import Document
    from thresher.journal.journaled_model import JournaledModel
    from thresher.web.guards import Rules
    from thresher.web.service import Service

PORT = 8765
_HERE = ("127.0.0.1", "localhost", "::1")


def serve(
    shell: Shell,
    given: Annotated[
        str | None, typer.Argument(metavar="MODEL|DATA", help="A model file; or documents.", show_default=False)
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the project's own corpus.")] = False,
    categories: Annotated[
        str | None, typer.Option(help="Start with these and no labels: a,b or a=seed words,b.", metavar="NAMES")
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="Column with the text.", metavar="COLUMN")] = None,
    format: Annotated[str | None, typer.Option(help="Format of the documents.", metavar="NAME")] = None,
    holdout: Annotated[str | None, typer.Option(help="Labelled documents to measure on.", metavar="DATA")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 for any free one.", metavar="N", parser=integer(0, 65535))
    ] = PORT,
    token: Annotated[str | None, typer.Option(envvar="THRESHER_TOKEN", help="Token that requests must send.")] = None,
    tokens: Annotated[
        Path | None, typer.Option(help="A TOML file with a token and role for each person.", readable=False)
    ] = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Require no token; only on this machine.")] = False,
    journal: Annotated[Path | None, typer.Option(help="Folder of the journal.", metavar="FOLDER")] = None,
    new_journal: NewJournalOption = False,
    journal_anyway: JournalAnywayOption = False,
    allow_host: Annotated[str, typer.Option(help="More hosts, with ports, that requests may name: a,b.")] = "",
    allow_origin: Annotated[str, typer.Option(help="Other origins whose pages may send requests: a,b.")] = "",
    rate_limit: Annotated[
        int | None,
        typer.Option(help="Requests a second for each token.", metavar="N", parser=integer(1)),
    ] = None,
) -> None:
    """Categorize over HTTP, learn from corrections, and show a page on which to make them.

    thresher serve desk.thresher
    """
    if (given is None) != demo:
        raise UsageError("serve takes a model, documents or --demo: one of these (thresher serve --demo)")
    if no_auth and host not in _HERE:
        raise UsageError(f"--no-auth with --host {host} would let everyone in (leave one of them out)")
    if no_auth and (token or tokens):
        raise UsageError("--no-auth needs no token (leave one of them out)")
    read = Read(format, text=text)
    model, folder = _choose_paths(given, journal)
    _check_free(folder)
    import_numba()
    try:
        from thresher.web import server
        from thresher.web.access_tokens import check_token, new_token
        from thresher.web.service import Service
    except ImportError as error:
        raise MissingPackageError(f"{error.name} is missing (pip install 'thresher-text[serve]')") from None
    shared = None if no_auth else check_token(token) if token else new_token()
    with server.bind_socket(host, port) as listening:
        bound = listening.getsockname()[1]
        rules = _rules(host, bound, allow_host, allow_origin, shared, tokens, rate_limit)
        first, held_out = _prepare(shell, read, given, model, categories, holdout)
        url = f"http://{'localhost' if host in ('0.0.0.0', '::') else f'[{host}]' if ':' in host else host}:{bound}"

        def open_model() -> "JournaledModel":
            return _open_model(model, folder, new_journal, journal_anyway, first)

        with ExitStack() as announced:

            def announce(service: "Service") -> None:
                for remark in service.served.journaled_model.remarks:
                    shell.remark(remark)
                announced.callback(server.announce(folder, url, shared).unlink, missing_ok=True)
                # With a file of tokens, the generated token is only for `journal backup`, and not shown.
                _announce(shell, url, None if tokens and not token else shared, service)

            server.serve(Service(open_model, holdout=held_out), rules, listening, announce)


def _announce(shell: Shell, url: str, token: str | None, service: "Service") -> None:
    journaled_model = service.served.journaled_model
    address = f"{url}/" + (f"#token={token}" if token else "")
    if shell.json:
        shell.emit({"url": url, "token": token, "pid": os.getpid(), "position": journaled_model.position})
        shell.flush()
        return
    shell.say(f"Open {address}")
    known = pluralize(len(journaled_model.model.categories), "category", "categories")
    known = f"{known}, {pluralize(journaled_model.position, 'record', 'records')} in {journaled_model.journal.folder}"
    shell.say(f"{journaled_model.path.name}: {known} (Ctrl-C ends it)", "dim")
    shell.flush()


def _choose_paths(given: str | None, journal: Path | None) -> tuple[Path, Path]:
    """Return the paths of the model, which may not exist yet, and of its journal."""
    from thresher.journal.journaled_model import journal_folder

    if given is None:
        if journal is not None:
            model = _sibling(journal, f"{journal.name}.demo.thresher")
        else:
            model = _data_folder() / "thresher" / "demo" / "desk.thresher"
    else:
        model = Path(given)
        if model.suffix != ".thresher":
            model = _sibling(model, f"{_stem(model.name)}.thresher")
    return model, journal or journal_folder(model)


def _sibling(path: Path, name: str) -> Path:
    """Return another name in the folder of a path; the path itself must have a name."""
    if not path.name:
        raise UsageError(f"{path} is not a name for the model (write the name of the folder)")
    return path.with_name(name)


def _data_folder() -> Path:
    given = os.environ.get("XDG_DATA_HOME")
    try:
        return Path(given) if given else Path.home() / ".local" / "share"
    except RuntimeError:
        raise UsageError("the demo has no home to be kept in (name one with --journal or XDG_DATA_HOME)") from None


def _stem(name: str) -> str:
    """Return the name of a source without the suffixes of its format: jan.2024 for jan.2024.csv.gz."""
    from thresher.datasets.compression import SUFFIXES
    from thresher.datasets.reader import is_data_suffix

    stem = Path(name.partition(":")[0] or name)
    for known in (SUFFIXES.__contains__, is_data_suffix):
        if known(stem.suffix.lower()):
            stem = stem.with_suffix("")
    return stem.name


def _check_free(folder: Path) -> None:
    """Raise an error early if another process has the journal; opening the journal decides races."""
    from thresher.journal.lock import owner_of

    owner = owner_of(folder)
    if owner is not None:
        raise JournalBusyError(f"{folder}: process {owner} has the journal (stop it first)")


def _prepare(
    shell: Shell, read: Read, given: str | None, model: Path, categories: str | None, holdout: str | None
) -> "tuple[Callable[[JournaledModel], None] | None, list[Document]]":
    """Create a model if there is none yet; return a first step for it, and held-out documents."""
    held_out = read_all_documents(shell, read(holdout, labelled=True)) if holdout else []
    if given is None:
        read = Read()
        others = read_all_documents(shell, read("sample:test"))
        held_out = held_out or others[1::2]  # reviewed documents are learned
        if not model.exists():
            model.parent.mkdir(parents=True, exist_ok=True)
            _train(shell, read_all_documents(shell, read("sample:train")), model)
        return _reviewing(others[::2]), held_out
    if Path(given) == model:
        if categories is not None:
            raise UsageError(f"--categories is for texts without a model, and {given} is one")
        return None, held_out
    if model.exists():
        shell.remark(f"{model} is there already, and is used (remove it to start again)")
    with _naming_train():
        if categories is not None:
            return _begin_with_names(read_all_documents(shell, read(given)), model, categories), held_out
        if not model.exists():
            _train(shell, read_all_documents(shell, read(given, labelled=True)), model)
    return None, held_out


@contextmanager
def _naming_train() -> "Iterator[None]":
    """Add to an error that names an option which `serve` lacks that `thresher train` has it."""
    try:
        yield
    except (DataError, TextError) as error:
        if not set(error.parameters()) <= {"text", "format"}:
            error.hint += "; that is for thresher train, which makes a model to serve"
        raise


def _train(shell: Shell, documents: "list[Document]", path: Path) -> None:
    from thresher.categorizer import Categorizer

    with shell.progress() as progress:
        model = Categorizer().fit([d.content for d in documents], [d.categories for d in documents], progress=progress)
    model.save(path)
    known = pluralize(len(model.categories), "category", "categories")
    shell.remark(f"learned {len(documents):,} documents in {known}, and wrote {path}")


def _begin_with_names(documents: "list[Document]", path: Path, categories: str) -> "Callable[[JournaledModel], None]":
    """Write a model that knows only the names of its categories; their seed words become the first corrections.

    A start that was interrupted is continued.
    """
    from thresher.categorizer import Categorizer

    model, seeds = Categorizer(), dict[str, str]()
    for entry in categories.split(","):
        name, _, words = entry.partition("=")
        model.add_category(name.strip())
        if words.strip() and not model.state.features.count_features(words).names:
            raise UsageError(f"--categories: there is nothing to learn in the seed words of {name.strip()}")
        seeds |= {name.strip(): words} if words.strip() else {}
    if not path.exists():
        model.save(path)
    review = _reviewing(documents)

    def first(journaled_model: "JournaledModel") -> None:
        for name, words in seeds.items():
            if journaled_model.journal.log.find(f"seed words of {name}") is None:
                journaled_model.correct(f"seed words of {name}", words, accept=[name], user="seed words")
        review(journaled_model)

    return first


def _reviewing(documents: "list[Document]") -> "Callable[[JournaledModel], None]":
    def add(journaled_model: "JournaledModel") -> None:
        from thresher.web.review_documents import ReviewDocuments

        pool = ReviewDocuments(journaled_model.journal.queue)
        pool.add((document.id or None, _plain_content(document.content)) for document in documents)

    return add


def _plain_content(content: Any) -> Any:
    return content if isinstance(content, str) else dict(content)


def _open_model(
    model: Path, folder: Path, new: bool, anyway: bool, first: "Callable[[JournaledModel], None] | None"
) -> "JournaledModel":
    """Return the model with its journal, after its first step if it has one."""
    from thresher.journal.journal import Journal
    from thresher.journal.journaled_model import JournaledModel

    if not Journal.is_in(folder):
        model.stat()  # otherwise a journal without a model would be left behind
    journaled_model = JournaledModel(model, folder, new=True if new else None, anyway=anyway)
    try:
        if first is not None:
            first(journaled_model)
    except BaseException:
        journaled_model.close()
        raise
    return journaled_model


def _rules(
    host: str, port: int, hosts: str, origins: str, shared: str | None, tokens: Path | None, rate: int | None
) -> "Rules":
    from thresher.web.access_tokens import Holder, Tokens, read_tokens
    from thresher.web.guards import Rules, hosts_of

    holders = ({} if shared is None else {shared: Holder("", "admin")}) | (read_tokens(tokens) if tokens else {})
    return Rules(
        hosts_of(host, port, _split_names(hosts)),
        Tokens(holders) if holders else None,
        frozenset(_split_names(origins)),
        float(rate or 0),
    )


def _split_names(given: str) -> list[str]:
    return [part.strip() for part in given.split(",") if part.strip()]
