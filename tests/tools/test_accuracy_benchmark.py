"""The accuracy benchmark on a toy collection: every system in the same way, unknown categories missed by all."""

import argparse
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.corpora import made_up
from support.paths import ROOT
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.model.policies import choose_policy
from thresher.model.presets import PRESETS
from thresher.model.scoring import strengthen_rows

sys.path.append(str(ROOT / "benchmarks"))  # its modules import each other by name
import accuracy
import pages
import peers
from peers import PEERS, Collection

NEEDED = {"fasttext": "fasttext", "fasttext-pairs": "fasttext", "vw": "vowpalwabbit"}  # not installed for the tests
INSTALLED = [name for name in PEERS if name not in NEEDED or find_spec(NEEDED[name])]


@pytest.fixture(autouse=True)
def small_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "N_JOBS", 1)
    monkeypatch.setitem(peers.FASTTEXT, "bucket", 2000)


def toy(n_train: int = 180, n_test: int = 60) -> Collection:
    corpus = made_up(n_train + n_test)
    documents = [Document(text, tuple(names)) for text, names in zip(*corpus, strict=True)]
    return accuracy.collection_of("toy", documents[:n_train], documents[n_train:])


def options(*given: str) -> argparse.Namespace:
    return accuracy.parse_arguments(list(given))


@pytest.fixture
def files(tmp_path: Path) -> str:
    for name, documents in zip(("train", "test"), toy()[1:3], strict=True):
        lines = (json.dumps({"text": document.text, "labels": document.categories}) for document in documents)
        tmp_path.joinpath(f"{name}.jsonl").write_text("\n".join(lines))
    return f"toy={tmp_path / 'train.jsonl'},{tmp_path / 'test.jsonl'}"


@pytest.mark.parametrize("system", [*PRESETS, *INSTALLED])
def test_every_system_learns_a_separable_collection(system: str) -> None:
    collection = toy()
    outcome = accuracy.run_system(system, collection)
    assert outcome.scores.shape == outcome.accepted.shape == (60, 6)
    assert accuracy.compute_figures(accuracy.judge(outcome, collection))["pooled break-even"] > 0.6
    assert sorted(outcome.seconds) == sorted(accuracy.TIMES)


@pytest.mark.parametrize("system", INSTALLED)
def test_a_category_without_a_training_document_ranks_below_all_others(system: str) -> None:
    collection = toy()
    truth = np.insert(collection.truth, 2, False, axis=1)
    rows, read = PEERS[system].read(collection.train, truth)
    scores = PEERS[system].train(rows, truth)(read(collection.test))
    assert scores[:, 2].max() < np.delete(scores, 2, axis=1).min()


def test_more_categories_than_a_byte_counts_keep_their_columns() -> None:
    documents = [Document(f"word{i} other{i} third{i}", (f"c{i:03}",)) for i in range(150)] * 2
    collection = accuracy.collection_of("many", documents, documents)
    rows, read = PEERS["linearsvc"].read(collection.train, collection.truth)
    scores = PEERS["linearsvc"].train(rows, collection.truth)(read(collection.test))
    assert (scores.argmax(axis=1) == collection.truth.argmax(axis=1)).all()


def test_our_features_are_the_rows_that_the_default_preset_learns_from() -> None:
    collection = toy()
    model = Categorizer().fit(
        [document.content for document in collection.train], [document.categories for document in collection.train]
    )
    rows, read = PEERS["linearsvc-ours"].read(collection.train, collection.truth)
    for documents, found in ((collection.train, rows), (collection.test, read(collection.test))):
        own = strengthen_rows(model.state, model.state.features.rows([document.content for document in documents]))
        assert np.array_equal(found.toarray(), peers.as_csr(own).toarray())


def test_peers_take_the_policy_that_the_presets_take() -> None:
    collection = toy()
    rows, _ = PEERS["linearsvc"].read(collection.train, collection.truth)
    decisions = peers.tune(PEERS["linearsvc"].train, rows, collection.truth)
    assert decisions.policy == choose_policy([len(document.categories) for document in collection.train])


def test_a_category_that_only_test_documents_have_is_missed_by_all_systems() -> None:
    known = toy()
    collection = known._replace(test=[document._replace(categories=("new",)) for document in known.test])
    for system in ("paper", "linearsvc"):
        found = accuracy.judge(accuracy.run_system(system, collection), collection)
        assert found.truth[:, 6].all()
        assert not found.accepted[:, 6].any()
        assert accuracy.compute_figures(found)["micro F1"] == 0


def test_validation_holds_out_a_fifth_and_reads_no_test_document(files: str) -> None:
    Path(files.split(",")[1]).unlink()
    collection = accuracy.read_collection(files, options(files, "--validation"))
    assert (len(collection.train), len(collection.test)) == (144, 36)
    texts = [document.text for document in collection.train + collection.test]
    assert sorted(texts) == sorted(document.text for document in toy().train)


def test_one_text_joins_the_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"title": "oil", "body": "rose", "labels": ["energy"]}\n' * 10)
    source = f"a={path},{path}"
    whole, plain = (accuracy.read_collection(source, options(source, *more)) for more in ((), ("--one-text",)))
    assert isinstance(whole.train[0].content, dict)
    assert plain.train[0].content == whole.train[0].text


def test_the_interval_is_zero_for_equal_systems_and_above_zero_for_a_better_one() -> None:
    truth = toy().truth
    assert accuracy.difference_interval(truth, truth, truth) == (0.0, 0.0)
    worse = truth & (np.arange(len(truth)) % 2 == 0)[:, np.newaxis]
    assert accuracy.difference_interval(truth, truth, worse).low > 0.1


def test_every_row_is_printed_as_json_and_the_page_keeps_other_text(
    files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "accuracy.md"
    page.write_text("# Mine\n\nbefore\n<!-- accuracy: start -->\nold\n<!-- accuracy: end -->\nafter\n")
    accuracy.main([files, "--validation", "--systems", "paper,linearsvc", "--json", "--markdown", str(page)])
    rows: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row.get("system", row.get("preset")) for row in rows] == [None, "paper", "linearsvc", "paper"]
    text = page.read_text()
    assert text.startswith("# Mine\n\nbefore\n<!-- accuracy: start -->\nMade by")
    assert text.endswith("<!-- accuracy: end -->\nafter\n")
    assert "| LinearSVC |" in text
    assert "old" not in text.split()


def test_a_page_without_marks_is_not_changed(tmp_path: Path) -> None:
    page = tmp_path / "accuracy.md"
    page.write_text("mine\n")
    with pytest.raises(SystemExit, match="no lines"):
        pages.write_between(page, "accuracy", "tables\n")
    assert page.read_text() == "mine\n"


def test_writing_a_new_page_twice_gives_the_same_page(tmp_path: Path) -> None:
    page = tmp_path / "accuracy.md"
    pages.write_between(page, "accuracy", "tables\n")
    first = page.read_text()
    pages.write_between(page, "accuracy", "tables\n")
    assert page.read_text() == first
    assert "\ntables\n" in first


@pytest.mark.parametrize("given", [["--collections", "nowhere"], ["--systems", "paper,nobody"]])
def test_an_unknown_name_is_refused_with_the_known_ones(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options(*given)
    assert "is unknown (allowed: " in capsys.readouterr().err


def test_timing_names_every_run_next_to_plain_linear_svc(capsys: pytest.CaptureFixture[str]) -> None:
    accuracy.timing(toy(60, 10), 1)
    printed = capsys.readouterr().out
    assert printed.count("\nLinearSVC  ") == 3
    for name in ("default ", "default, tuned", "LinearSVC, tuned", "default, as it comes"):
        assert f"\n{name}" in printed
