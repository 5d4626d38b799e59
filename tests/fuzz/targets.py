"""What is fuzzed: by name, a function of bytes that may refuse them only as its callers are told, or does as promised.

A target is imported when it is asked for, so that who fuzzes one of them may look into its modules and no others.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

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
    "records": "journals:records",  # what stands in it
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


def inputs(name: str) -> list[Path]:
    """Return the inputs of a target that are kept: each was once the first to reach something."""
    return sorted((CORPORA / name).iterdir())
