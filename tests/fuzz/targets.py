"""The targets of fuzzing by name: functions of bytes, which may only raise documented errors.

A target is imported when it is asked for, so that who fuzzes one of them may look into its modules and no others.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

Target = Callable[[bytes], None]

CORPORA = Path(__file__).parent / "corpus"
PLACES = {
    "csv": "readers:csv",
    "tsv": "readers:tsv",
    "jsonl": "readers:jsonl",
    "sgml": "readers:sgml",
    "lines": "readers:lines",  # the other formats of lines, all encodings and options
    "packed": "readers:packed",
    "parquet": "readers:parquet",
    "model": "models:model",
    "journal": "journals:journal",  # the file, as bytes
    "records": "journals:records",  # its contents
    "corrections": "journals:corrections",  # as `thresher learn` imports them
    "body": "requests:body",
    "service": "requests:service",
    "words": "texts:words_of",
}


def target(name: str) -> Target:
    """Return a target by its name."""
    module, _, function = PLACES[name].partition(":")
    found: Target = getattr(import_module(f"fuzz.{module}"), function)
    return found


class Input(NamedTuple):
    """An input that is kept: it was once the first to reach something, or a `regression`, with what went wrong."""

    name: str
    data: bytes
    regression: str = ""


def inputs(name: str) -> list[Input]:
    """Return the inputs of a target that are kept."""
    found = map(json.loads, (CORPORA / f"{name}.jsonl").read_text().splitlines())
    return [Input(one["name"], b64decode(one["data"]), one.get("regression", "")) for one in found]


def keep_inputs(name: str, kept: Iterable[Input]) -> None:
    """Write the inputs of a target, regressions first and then by size."""
    lines = []
    for one in sorted(kept, key=lambda one: (not one.regression, len(one.data), one.name)):
        reason = {"regression": one.regression} if one.regression else {}
        lines.append(json.dumps({"name": one.name} | reason | {"data": b64encode(one.data).decode()}))
    (CORPORA / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def name_of(data: bytes) -> str:
    """Return the name that an input is kept by."""
    return hashlib.sha1(data).hexdigest()[:12]
