"""Every saved input is given to its target again, and each target would find a planted fault."""

import json
from contextlib import nullcontext
from typing import Any

import pytest

from fuzz.seeds import seeds
from fuzz.targets import CORPORA, PLACES, Target, inputs, name_of, target
from thresher.datasets import compression

MOST_BYTES = 200_000
# A fault for each target: what is put in place of a part of the program.
FAULTS: dict[str, tuple[str, Any]] = {
    "csv": ("thresher.datasets.formats.csv.unescape_formula", lambda cell: cell),
    "tsv": ("thresher.datasets.formats.csv.printable", lambda said: said),
    "jsonl": ("thresher.datasets.formats.jsonl._explain_error", lambda *_: "two\nlines"),
    "sgml": ("thresher.datasets.corpora.reuters_sgml._parse_attributes", lambda text: {"newid": text.split('"')[1]}),
    "lines": ("thresher.datasets.formats.fasttext.check_categories", tuple),
    "packed": ("thresher.datasets.compression._MAGIC", {b"\x1f\x8b": compression._new_gzip}),
    "parquet": ("thresher.datasets.formats.parquet.name_of", lambda path: "two\nlines"),
    "model": ("thresher.model_file.learner_packing._check_weights", lambda *_: None),
    "journal": ("thresher.journal.database.printable", str),
    "records": ("thresher.journal.record._name_damage", lambda *_: nullcontext()),
    "corrections": ("thresher.cli.learn._read_names", lambda cell, *_: list(cell)),
    "body": ("thresher.support.strict_json._make_decoder", lambda _: json.JSONDecoder()),
    "service": ("thresher.web.category_input.check_visible", lambda name: name.encode("ascii") and 1 / 0),
    "words": ("thresher.text.tokens.compose", lambda text: text),
}


def give_all(name: str, function: Target) -> None:
    """Give a target what fuzzers begin with, and what they have kept."""
    for number, data in enumerate(seeds(name)):
        give(function, data, f"seed {number} of {name}")
    for one in inputs(name):
        give(function, one.data, f"python tests/fuzz/run.py {name} --kept {one.name}")


def give(function: Target, data: bytes, what: str) -> None:
    try:
        function(data)
    except Exception as error:
        raise AssertionError(what) from error


@pytest.mark.parametrize("name", PLACES)
def test_saved_inputs_are_accepted_or_refused_as_promised(name: str) -> None:
    give_all(name, target(name))


@pytest.mark.parametrize("name", PLACES)
def test_a_fault_would_be_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = target(name)
    seeds(name)  # made before the fault is
    monkeypatch.setattr(*FAULTS[name])
    with pytest.raises(AssertionError, match=name):
        give_all(name, function)


@pytest.mark.parametrize("name", PLACES)
def test_each_target_has_enough_small_inputs(name: str) -> None:
    sizes = [len(one.data) for one in inputs(name)]
    assert sum(sizes) <= MOST_BYTES
    assert len(sizes) + len(seeds(name)) >= 12


def test_every_input_belongs_to_a_target() -> None:
    assert sorted(path.stem for path in CORPORA.iterdir()) == sorted(PLACES)


@pytest.mark.parametrize("name", PLACES)
def test_inputs_are_saved_under_their_names(name: str) -> None:
    assert all(one.name == name_of(one.data) for one in inputs(name))
