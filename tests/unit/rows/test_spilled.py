"""Rows and texts that outgrow memory move to temporary files, and give the same bits."""

import errno
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.corpora import made_up
from thresher import Categorizer
from thresher.errors import ParameterError, SpillError, TextError
from thresher.kernels.csr import Rows
from thresher.learners import training
from thresher.learners.training import Orders
from thresher.rows.spilled import SpillingArray, SpillingTexts, is_spilled, iterate_parts, join_rows, release

TEXTS, CATEGORIES = made_up(400, seed=3)


@given(st.lists(st.lists(st.integers(-(2**40), 2**40), max_size=20), max_size=10), st.integers(0, 200))
def test_an_array_holds_its_pieces_in_memory_or_in_a_file(pieces: list[list[int]], limit: int) -> None:
    growing = SpillingArray(np.int64, limit)
    for piece in pieces:
        growing.append(np.array(piece, dtype=np.int64))
    flat = [number for piece in pieces for number in piece]
    found = growing.array()
    assert found.tolist() == flat
    assert is_spilled(found) == (8 * len(flat) > limit)
    release(found[len(flat) // 2 :])
    assert found.tolist() == flat
    if len(flat):
        found[0] = 7
        release(found)
        assert found[0] == 7


def test_an_array_outlives_its_maker() -> None:
    growing = SpillingArray(np.int32, 0)
    growing.append(np.arange(10_000, dtype=np.int32))
    found = growing.array()[5000:]
    del growing
    assert found.tolist() == list(range(5000, 10_000))


@given(st.lists(st.text() | st.dictionaries(st.text(), st.text()), max_size=20), st.integers(0, 100))
def test_texts_are_returned_unchanged(texts: list[Any], limit: int) -> None:
    kept = SpillingTexts(texts, limit)
    assert list(kept) == [kept[i] for i in range(len(kept))] == kept[:] == texts
    kept.append("one more")
    assert kept[-1] == "one more"
    assert len(kept) == len(texts) + 1


@pytest.mark.parametrize("text", [3, None, b"bytes", {"title": 3}, {3: "title"}])
def test_values_that_are_not_texts_are_refused(text: Any) -> None:
    with pytest.raises(TextError, match="a text must be str or fields of str"):
        SpillingTexts([text])


def test_lone_surrogates_are_stored_and_refused_by_the_tokenizer() -> None:
    assert SpillingTexts(["\ud800"], limit=0)[0] == "\ud800"
    with pytest.raises(TextError, match="lone surrogate"):
        Categorizer(memory=1).fit((text for text in ["\ud800"] * 200), ["a", "b"] * 100)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"preset": "paper"},
        {"preset": "fast", "shuffle": False},
        {"strength": "tfidf"},
        {"learner": "balanced-winnow"},
        {"learner": "positive-winnow"},
    ],
    ids=str,
)
def test_a_corpus_in_temporary_files_gives_the_same_model(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "STRETCH", 64)
    monkeypatch.setattr("thresher.rows.spilled.ROWS_AT_ONCE", 300)
    monkeypatch.setattr("thresher.text.vectorizer.FIT_TEXTS", 30)
    monkeypatch.setattr("thresher.learners.chunks.CHUNK_WORK", 2**12)
    usual = Categorizer(**settings).fit(TEXTS, CATEGORIES)
    spilled = Categorizer(memory=1, **settings).fit(iter(TEXTS), iter(CATEGORIES))
    assert spilled.digest() == usual.digest()


@given(st.integers(0, 300), st.integers(0, 2**40))
def test_every_pass_sees_every_row_once(n_rows: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "STRETCH", 50)
        orders, again = Orders(n_rows, seed), Orders(n_rows, seed)
        for _ in range(3):
            order = orders.next().tolist()
            assert sorted(order) == list(range(n_rows))
            assert order == again.next().tolist()
            assert sum(one // 50 != other // 50 for one, other in pairwise(order)) <= n_rows // 50
    assert Orders(n_rows, None).next().tolist() == list(range(n_rows))


def test_a_full_disk_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Path("/dev/full").open("wb", 0))  # noqa: SIM115
    growing = SpillingArray(np.int64, 0)
    with pytest.raises(SpillError, match="No space left on device"):
        growing.append(np.arange(10))


def test_a_missing_folder_for_temporary_files_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    with pytest.raises(SpillError, match="with TMPDIR"):
        SpillingArray(np.int64, 0).append(np.arange(10))


def test_parts_of_rows_join_to_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.rows.spilled.ROWS_AT_ONCE", 5)
    ends = np.array([0, 3, 3, 9, 21, 22])
    rows = Rows(ends, np.arange(22, dtype=np.int32), np.ones(22, dtype=np.float32), 22)
    spilled = join_rows(iter([rows]), 22, limit=0)
    assert is_spilled(spilled.indices)
    parts = list(iterate_parts(spilled))
    assert len(parts) > 2
    again = join_rows(iter(parts), 22, limit=10**6)
    assert [array.tolist() for array in again[:3]] == [array.tolist() for array in rows[:3]]


@pytest.mark.parametrize("memory", ["much", 0, -1, "0MB", True])
def test_an_invalid_memory_size_is_refused(memory: Any) -> None:
    with pytest.raises(ParameterError, match="invalid memory: "):
        Categorizer(memory=memory)


def test_memory_is_a_size_and_not_part_of_the_model() -> None:
    assert Categorizer(memory="1GB").settings["memory"] == 10**9
    assert Categorizer(memory="1GB").fit(TEXTS, CATEGORIES).digest() == Categorizer().fit(TEXTS, CATEGORIES).digest()


def test_texts_may_be_added_while_they_are_read() -> None:
    texts = SpillingTexts(["a", "b", "c"], limit=20)
    reading = iter(texts)
    assert next(reading) == "a"
    for number in range(30):
        texts.append(f"text {number}")
    assert list(reading)[:4] == ["b", "c", "text 0", "text 1"]


def test_numpy_numbers_are_valid_sizes() -> None:
    assert Categorizer(memory=np.int64(10**8)).settings["memory"] == 10**8
