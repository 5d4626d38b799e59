"""Shows in the reference what `setting(...)` declares: the parameters of a class, and their defaults."""

import inspect
from importlib import import_module
from typing import Any

import griffe

REFERENCE = "Its parameters are those of"


class InheritedParameters(griffe.Extension):
    """Takes the docstring that a class has when it is imported, where the source only refers to another's."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Look at one class."""
        if cls.docstring is not None and REFERENCE in cls.docstring.value:
            cls.docstring.value = inspect.getdoc(getattr(import_module(cls.module.path), cls.name)) or ""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Show the default of a setting, instead of its declaration."""
        if isinstance(attr.value, griffe.ExprCall) and str(attr.value.function) == "setting":
            attr.value = attr.value.arguments[0]
