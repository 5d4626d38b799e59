"""Every input that is kept is given to its target again; and each target would find a fault that is planted."""

import json
from contextlib import nullcontext
from typing import Any

import pytest

from fuzz.seeds import seeds
from fuzz.targets import CORPORA, PLACES, Target, inputs, target
from thresher.datasets import decompression

MOST_BYTES = 200_000
# A fault for each target: what is put in place of a part of the program.
FAULTS: dict[str, tuple[str, Any]] = {
    "csv": ("thresher.datasets.delimited.restored", lambda cell: cell),
    "tsv": ("thresher.datasets.delimited.printable", lambda said: said),
    "jsonl": ("thresher.datasets.jsonl._not_json", lambda *_: "two\nlines"),
    "sgml": ("thresher.datasets.sgml._attributes", lambda text: {"newid": text.split('"')[1]}),
    "lines": ("thresher.datasets.svmlight.isfinite", lambda number: True),
    "packed": ("thresher.datasets.decompression._MAGIC", {b"\x1f\x8b": decompression._new_gzip}),
    "parquet": ("thresher.datasets.parquet.name_of", lambda path: "two\nlines"),
    "model": ("thresher.learner_contents._check_weights", lambda *_: None),
    "journal": ("thresher.journal.printable", str),
    "records": ("thresher.journal_record._damage_of", lambda *_: nullcontext()),
    "corrections": ("thresher.cli.learn._names", lambda cell, *_: list(cell)),
    "body": ("thresher.web.bodies._DECODER", json.JSONDecoder()),
    "service": ("thresher.web.naming.check_visible", lambda name: name.encode("ascii") and 1 / 0),
    "words": ("thresher.text.tokens.composed", lambda text: text),
}


def give_all(name: str, function: Target) -> None:
    """Give a target what fuzzers begin with, and what they have kept."""
    for number, data in enumerate(seeds(name)):
        give(function, data, f"seed {number} of {name}")
    for path in inputs(name):
        give(function, path.read_bytes(), f"python tests/fuzz/run.py {name} --input {path}")


def give(function: Target, data: bytes, what: str) -> None:
    try:
        function(data)
    except Exception as error:
        raise AssertionError(what) from error


@pytest.mark.parametrize("name", PLACES)
def test_what_was_found_before_is_taken_or_refused_as_promised(name: str) -> None:
    give_all(name, target(name))


@pytest.mark.parametrize("name", PLACES)
def test_a_fault_would_be_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = target(name)
    seeds(name)  # made before the fault is
    monkeypatch.setattr(*FAULTS[name])
    with pytest.raises(AssertionError, match=name):
        give_all(name, function)


@pytest.mark.parametrize("name", PLACES)
def test_the_inputs_of_a_target_are_small_and_not_few(name: str) -> None:
    sizes = [path.stat().st_size for path in inputs(name)]
    assert sum(sizes) <= MOST_BYTES
    assert len(sizes) + len(seeds(name)) >= 12


def test_there_are_inputs_of_targets_alone() -> None:
    assert sorted(path.name for path in CORPORA.iterdir()) == sorted(PLACES)
