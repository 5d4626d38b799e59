"""The reference names all that is exported or shown in the documents, and explains every parameter."""

import inspect
import re
from importlib import import_module
from typing import Any

import pytest

from support.paths import ROOT

DOCS = ROOT / "docs"
PAGES = sorted((DOCS / "reference").glob("*.md"))
NAMES = [name for page in PAGES for name in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE)]
EXPORTING = ("thresher", "thresher.learners", "thresher.report", "thresher.sklearn")


def named(path: str) -> Any:
    """Return the object with a name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def is_own(thing: Any) -> bool:
    """Return whether an object is defined in the project, and not in scikit-learn."""
    return str(getattr(thing, "__module__", "")).startswith("thresher")


def documented(path: str) -> list[tuple[str, Any]]:
    """Return a function, or a class with its public methods."""
    thing = named(path)
    found = [(path, thing)]
    if inspect.isclass(thing):
        for name, method in inspect.getmembers(thing):
            plain = getattr(inspect.getattr_static(thing, name), "__func__", method)
            if not name.startswith("_") and inspect.isfunction(plain) and is_own(plain):
                found.append((f"{path}.{name}", plain))
    return found


def parameters(thing: Any) -> list[str]:
    """Return the names of the parameters of a function or a class."""
    try:
        taken = inspect.signature(thing).parameters
    except ValueError:  # an exception takes what it is given
        return []
    return [name for name in taken if name not in ("self", "cls", "args", "kwargs")]


def explains(docstring: str, name: str) -> bool:
    """Return whether a docstring has a parameter in its list, or names it in its text."""
    listed = rf"^(?:\**\w+, )*\**{name}(?:, \**\w+)*(?: : .*)?$"
    return bool(re.search(listed, docstring, re.MULTILINE)) or f"`{name}`" in docstring


def explanation(thing: Any) -> str:
    """Return a docstring; for a class, with those of the classes whose parameters it inherits."""
    if not inspect.isclass(thing) or "__init__" in vars(thing):
        return inspect.getdoc(thing) or ""
    return "\n".join(inspect.getdoc(base) or "" for base in thing.__mro__ if base.__module__.startswith("thresher"))


@pytest.mark.parametrize("path", NAMES)
def test_every_name_in_the_reference_and_its_parameters_are_explained(path: str) -> None:
    unexplained = {}
    for name, thing in documented(path):
        docstring = explanation(thing)
        unexplained[name] = [one for one in parameters(thing) if not explains(docstring, one)] if docstring else ["it"]
    assert {name: missing for name, missing in unexplained.items() if missing} == {}


def test_no_name_is_twice_in_the_reference() -> None:
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("module", EXPORTING)
def test_every_exported_name_is_in_the_reference(module: str) -> None:
    known = {id(named(name)) for name in NAMES}
    for name in import_module(module).__all__:
        assert name == "__version__" or id(named(f"{module}.{name}")) in known, name


def test_every_error_is_in_the_reference() -> None:
    errors = import_module("thresher.errors")
    classes = {name for name, thing in vars(errors).items() if inspect.isclass(thing)}
    own = {f"thresher.errors.{name}" for name in classes if vars(errors)[name].__module__ == "thresher.errors"}
    assert own <= set(NAMES)


def test_names_that_the_documents_import_are_in_the_reference() -> None:
    known = {id(named(name)) for name in NAMES}
    pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    blocks = [block for page in pages for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)]
    imported = {
        f"{module}.{name.strip()}"
        for block in blocks
        for module, names in re.findall(r"^from (thresher\S*) import ([^(#\n]+)", block, re.MULTILINE)
        for name in names.split(",")
    }
    assert imported
    assert [name for name in sorted(imported) if id(named(name)) not in known] == []
